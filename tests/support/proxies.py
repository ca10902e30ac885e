"""The examples for nginx and Caddy as they run: found or installed, on ports of their own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.chromium import run
from tests.support.patience import PATIENCE
from tests.support.server import ROOT, LoggedProcess, ProcessFailed
from tests.support.services import ServiceUnavailable, free_port

EXAMPLES = ROOT / "examples"
# What each program's examples are called, and the site in them: alone on a host, below a path.
FILES = {
    "nginx": ("nginx.conf", "nginx-below-a-path.conf"),
    "caddy": ("Caddyfile", "Caddyfile-below-a-path"),
}
NAMES = ("chat.example.org", "example.org")
SYSTEM = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def find_proxy(name: str) -> str:
    """The program, in PATH, or after apt has installed it as root. Raises ServiceUnavailable."""
    reasons = []
    if not shutil.which(name, path=SYSTEM) and os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", name]
        reasons.append(run("apt-get update", ["apt-get", "update", "-q"]))
        reasons.append(run("apt-get install", install))
    if found := shutil.which(name, path=SYSTEM):
        return found
    tried = "; ".join(filter(None, reasons)) or "not as root with apt-get"
    raise ServiceUnavailable(
        f"{name} is missing and could not be installed ({tried}). Install it (Debian: apt install "
        f"{name})."
    )


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    made, key = directory / "proxy.crt", directory / "proxy.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


class Proxy(LoggedProcess):
    """One of them before `upstream`, a port of this machine; `url` is the address of the site.
    `path`: "" or "/chat", the site's; `changed`: texts of the example and what to put there."""

    def __init__(
        self,
        name: str,
        directory: Path,
        upstream: int,
        port: int,
        path: str = "",
        changed: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.url, self._port = f"https://127.0.0.1:{port}{path}", port
        example = (EXAMPLES / FILES[name][bool(path)]).read_text()
        for theirs, ours in (changed or {}).items():
            assert theirs in example
            example = example.replace(theirs, ours)
        write = {"nginx": _nginx, "caddy": _caddy}[name]
        made = write(example, NAMES[bool(path)], directory, upstream, port)
        super().__init__(
            [find_proxy(name), *made],
            directory,
            {"XDG_DATA_HOME": str(directory), "XDG_CONFIG_HOME": str(directory)},
        )

    def start(self) -> Self:
        """Returns when it takes connections. Raises ProcessFailed."""
        super().start()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                if not self.running or time.monotonic() > deadline:
                    raise ProcessFailed(f"{self.name}:\n{self.log[-4000:]}") from None
                time.sleep(0.05)
            else:
                return self


def _nginx(example: str, name: str, directory: Path, upstream: int, port: int) -> list[str]:
    made, key = certificate(directory)
    example = example.replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    for theirs, ours in {
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        f"/etc/ssl/{name}.crt": str(made),
        f"/etc/ssl/{name}.key": str(key),
    }.items():
        assert theirs in example
        example = example.replace(theirs, ours)
    (directory / "everlong.conf").write_text(example)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {directory}/{kind};\n" for kind in kinds)
    main = directory / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""
    main.write_text(
        f"{user}daemon off;\npid {directory}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}include {directory}/everlong.conf;\n}}\n"
    )
    return ["-p", str(directory), "-c", str(main)]


def _caddy(example: str, name: str, directory: Path, upstream: int, port: int) -> list[str]:
    made, key = certificate(directory)
    site = f"https://127.0.0.1:{port} {{\n\ttls {made} {key}"
    for theirs, ours in {
        "reverse_proxy 127.0.0.1:8000": f"reverse_proxy 127.0.0.1:{upstream}",
        f"\n{name} {{": f"\n{site}",
    }.items():
        example = example.replace(theirs, ours)
    assert f"\n{name} {{" not in example
    assert "127.0.0.1:8000" not in example
    options = "{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\tauto_https disable_redirects\n}\n"
    (directory / "Caddyfile").write_text(options + example)
    return ["run", "--config", str(directory / "Caddyfile"), "--adapter", "caddyfile"]
