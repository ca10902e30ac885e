"""The address at which people reach the site: `PUBLIC_URL`, which may have a path."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from config.variables import wrong

PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
# The first parts of the site's own addresses. Below such a path one could not tell whether a proxy
# has taken the path away: /admin/admin/ and /admin/ would be the same page.
OWN = {
    *("account", "admin", "announcement", "api", "attachments", "c", "healthz", "imports"),
    *("invitation", "manifest.webmanifest", "memories", "metrics", "models", "palette", "projects"),
    *("readyz", "s", "service-worker.js", "session", "settings", "setup", "share-target"),
    *("sidebar", "static", "tools", "usage", "ws"),
}


@dataclass(frozen=True)
class PublicUrl:
    """`origin` as browsers write it, `https://chat.example.org`; `path` from "/" to "/", as
    "/chat/"."""

    origin: str
    host: str
    port: int
    path: str

    @property
    def is_https(self) -> bool:
        return self.origin.startswith("https:")


def read_public_url(value: str) -> PublicUrl | None:
    """None where the variable is not set. Raises ImproperlyConfigured for an address that nobody
    could open, or below which the site could not be served."""
    if not value:
        return None
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:  # a port that is no number, a bracket that does not close
        url, port = urlsplit(""), 0
    host = url.netloc.removesuffix(f":{port}").lower()
    path = url.path.rstrip("/")
    # Put together again: what is left over (a query, a name, a blank) was not understood.
    again = f"{url.scheme}://{host}{'' if port is None else f':{port}'}{url.path}"
    if (
        url.scheme not in PORTS
        or not HOST.fullmatch(host)
        or port == 0
        or not PATH.fullmatch(path)
        or again.lower() != value.lower()
    ):
        raise wrong(
            "PUBLIC_URL",
            "an address such as https://chat.example.org, http://10.0.0.5:8000 or "
            "https://example.org/chat, without a query, a fragment, a name or a password",
        )
    if path and path.split("/")[1] in OWN:
        raise wrong("PUBLIC_URL", f"below another path: /{path.split('/')[1]} is the site's own")
    usual = port in (None, PORTS[url.scheme])
    return PublicUrl(
        origin=f"{url.scheme}://{host}" + ("" if usual else f":{port}"),
        host=host,
        port=port or PORTS[url.scheme],
        path=f"{path}/",
    )


def tell_apart(public: PublicUrl | None, database: Mapping[str, Any], port: int | None) -> str:
    """What the names of cookies end with. Browsers send a cookie to all ports of a host, so two
    sites on one host need different names: they differ in port or path, or else in their database.
    All processes of a site have the same. `port`: where the one process of a site listens."""
    if public:
        site = f"{public.port}{public.path}"
    else:
        site = " ".join(str(database.get(key, "")) for key in ("HOST", "PORT", "NAME"))
        site += f" {port or ''}"
    return hashlib.sha256(site.encode()).hexdigest()[:8]
