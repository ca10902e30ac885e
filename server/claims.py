"""What a web process needs for itself before it serves: its address, without Redis its data."""

import errno
import fcntl
import json
import os
import socket
from pathlib import Path
from typing import IO, Any

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

_held: list[IO[str]] = []  # open, and so locked, for as long as the process lives


class CannotServe(Exception):
    """The message says what stands in the way and what to do."""


def find_origin(host: str, port: int) -> str:
    """By which people reach a site that listens there, as `https://chat.example.org`."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL.origin)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def check_address(host: str, port: int) -> None:
    """Raises CannotServe where nothing can listen there."""
    if not 1 <= port <= 65535:
        raise CannotServe(f"PORT is “{port}”; it can be a whole number, from 1 to 65535.")
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError, ValueError) as error:
        raise CannotServe(_explain(host, port, error)) from None


def _explain(host: str, port: int, error: Exception) -> str:
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            return f"Port {port} of {host} is taken. Set PORT to another one."
        case errno.EACCES | errno.EPERM:
            return f"This user may not listen on port {port}. Set PORT to one from 1024 to 65535."
    return (
        f"HOST is “{host}”, which is no address of this machine ({error}); it can be 127.0.0.1 "
        "(only this machine), 0.0.0.0 (all its networks), or one of its own addresses or names."
    )


def claim_data(address: str) -> None:
    """Keep other web processes away from a database that is one process's, as long as this one
    lives; the system takes the lock from a process that was killed. `address` tells people where
    it serves. Raises CannotServe."""
    for path, variable in _locks():
        try:
            file = path.open("a")  # what another process wrote stays until the lock is ours
        except OSError as error:
            raise CannotServe(f"{path} cannot be written ({error.strerror}).") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise CannotServe(_describe_holder(path, variable)) from None
        except OSError as error:  # a file system without locks
            file.close()
            log.warning(
                "not locked: a second process on the same data would not be noticed",
                path=str(path),
                reason=str(error),
            )
        else:
            file.truncate(0)
            file.write(json.dumps({"process": os.getpid(), "address": address}))
            file.flush()
            _held.append(file)


def _locks() -> list[tuple[Path, str]]:
    """Files to lock, each with the variable that chooses another one. With Redis many processes
    share DATA_DIR; a database of SQLite is never shared."""
    data = settings.DATA_DIR / "serve.lock"
    locks = [] if settings.SCALED else [(data, "DATA_DIR")]
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3") and database["NAME"] != ":memory:":
        file = Path(database["NAME"]).resolve()
        if settings.SCALED or file.parent != settings.DATA_DIR:
            locks.append((file.with_name(f"{file.name}.lock"), "DATABASE_URL"))
    return locks


def _describe_holder(path: Path, variable: str) -> str:
    try:
        holder: dict[str, Any] = json.loads(path.read_text())
        who = f"process {holder['process']}, {holder['address']}"
        stop = f"Stop it (kill {holder['process']})"
    except (OSError, ValueError, KeyError, TypeError):  # it is just beginning to write
        who, stop = "its process is just starting", "Stop it"
    return (
        f"Another Everlong already serves {path.parent} ({who}). {stop}, or give this one data of "
        f"its own: set {variable}, and PORT."
    )
