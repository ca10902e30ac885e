"""Which proxy a server is asked through: what `HTTPS_PROXY` and its like say.

The variables are read once, by whoever starts the program, and handed on: a library that reads the
environment by itself would send what is meant for this machine to a proxy.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

SUPPORTED = ("http", "https")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy and the variable that names it. Its `url` may hold a password: only `variable` and
    `fault` are for people. `fault`: why it cannot be used, or ""."""

    variable: str
    url: str = field(repr=False)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies of an environment, by scheme: "http", "https", or "all" for both."""

    by_scheme: Mapping[str, Proxy] = field(default_factory=dict)
    exceptions: tuple[str, ...] = ()  # the entries of NO_PROXY

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> "Proxies":
        """From the variables of a process. The small name wins over the large one."""
        by_scheme = {}
        for scheme in (*SUPPORTED, "all"):
            named = _find(variables, f"{scheme}_proxy")
            if named and (url := variables[named].strip()):
                by_scheme[scheme] = _read(named, url)
        without = _find(variables, "no_proxy")
        entries = variables[without].split(",") if without else []
        return cls(by_scheme, tuple(filter(None, (each.strip().lower() for each in entries))))

    def find(self, url: str) -> Proxy | None:
        """The proxy for an address; None where it is asked directly, as this machine always is."""
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").rstrip("."), _port(parts)
        except ValueError:  # the request says what is wrong with it
            return None
        if is_loopback(host) or any(_covers(each, host, port) for each in self.exceptions):
            return None
        return self.by_scheme.get(parts.scheme) or self.by_scheme.get("all")


NONE = Proxies()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, however it is written."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    # What is connected to 0.0.0.0 comes to this machine too.
    return address is not None and (address.is_loopback or address.is_unspecified)


def _find(variables: Mapping[str, str], name: str) -> str:
    """The name under which a variable is set, or ""."""
    return next((each for each in (name, name.upper()) if variables.get(each, "").strip()), "")


def _read(variable: str, url: str) -> Proxy:
    url = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and _port(parts) > 0 and url.isprintable()
    except ValueError:
        valid = False
    scheme = url.partition("://")[0].lower()
    if scheme not in SUPPORTED:
        return Proxy(variable, url, f"{variable} names a proxy of the kind {scheme[:20]}://")
    return Proxy(variable, url, "" if valid else f"{variable} is not the address of a proxy")


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:  # "127.1" and "2130706433" are addresses too
        return IPv4Address(socket.inet_aton(host)) if host[:1].isdigit() else None
    except (OSError, UnicodeError):
        return None


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY is about a host: "*", a name and what ends in it, an address, a
    network; a name or an address may have a port."""
    if entry == "*":
        return True
    address = _address(host)
    try:
        if address and "/" in entry:
            return address in ip_network(entry, strict=False)
        named = urlsplit(f"//{entry}" if entry.count(":") < 2 or "[" in entry else f"//[{entry}]")
        name, wanted = (named.hostname or "").removeprefix("*").strip("."), named.port
    except ValueError:
        return False
    if wanted not in (None, port) or not name:
        return False
    if address:
        return address == _address(name)
    return host == name or host.endswith(f".{name}")
