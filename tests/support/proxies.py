"""The examples for nginx and Caddy as they run: found or installed, on ports of their own."""

import os
import socket
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.support.patience import PATIENCE
from tests.support.programs import require
from tests.support.server import ROOT, LoggedProcess, ProcessFailed
from tests.support.services import free_port

EXAMPLES = ROOT / "examples"
# What each program's examples are called, and the site in them: alone on a host, below a path.
FILES = {
    "nginx": ("nginx.conf", "nginx-below-a-path.conf"),
    "caddy": ("Caddyfile", "Caddyfile-below-a-path"),
}
NAMES = ("chat.example.org", "example.org")


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    made, key = directory / "proxy.crt", directory / "proxy.key"
    made.write_bytes(signed.public_bytes(Encoding.PEM))
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
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
            [str(require(name)), *made],
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
