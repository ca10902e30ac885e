"""How much a client may send, and over how many connections."""

import resource
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

SMALL_BODY = 100_000  # bytes: any form but a long text
MULTIPART = 100_000  # bytes around an uploaded file
# Files of the process itself: the database, models' servers, Redis, what it serves.
RESERVED_FILES = 256


# The id of the user whom a session's key or an access token lets in; None where it is nobody.
FindUser = Callable[[str], Awaitable[int | None]]


class Pass(Enum):
    """By what a request shows whose it is."""

    SESSION = auto()  # of a person's browser
    TOKEN = auto()  # of a person's program


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """What one request may send. `needs`: only with one of these that is still good."""

    size: int  # bytes
    needs: Pass | None = None


@dataclass(frozen=True, slots=True)
class Uploads:
    """Where files are sent, by their paths, and below which paths pieces of larger ones: only
    people may do so who are signed in, and their programs."""

    paths: Mapping[str, Pass]
    size: int  # bytes of a file, at most
    pieces: Mapping[str, Pass]
    piece_size: int  # bytes of a piece, at most
    find_user: Mapping[Pass, FindUser]
    api: str = "/api/"  # below which a refusal is JSON

    def limit_body(self, path: str, *, known: bool) -> BodyLimit:
        """The limit of a request for a path. `known`: whether it brings a session's cookie or an
        access token, good or not."""
        whole = settings.BASE_PATH[:-1] + path  # a proxy may have taken the site's own path away
        if needs := self.paths.get(path) or self.paths.get(whole):
            return BodyLimit(self.size + MULTIPART, needs)
        for start, needs in self.pieces.items():
            if path.startswith(start) or whole.startswith(start):
                return BodyLimit(self.piece_size, needs)
        return BodyLimit(settings.MAX_TEXT_BYTES if known else SMALL_BODY)

    def is_of_api(self, path: str) -> bool:
        """Whether a program asks for a path."""
        return path.startswith((self.api, settings.BASE_PATH[:-1] + self.api))


def find_most_connections() -> int:
    """MAX_CONNECTIONS, or as many as there are file descriptors for. Each may need two, as a body
    above 100 kB waits in a temporary file."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most == resource.RLIM_INFINITY:
        return settings.MAX_CONNECTIONS
    affordable = max(1, (most - RESERVED_FILES) // 2)
    if affordable < settings.MAX_CONNECTIONS:
        log.warning(
            "fewer connections than MAX_CONNECTIONS: raise the limit of open files (ulimit -n)",
            connections=affordable,
            open_files=most,
        )
    return min(settings.MAX_CONNECTIONS, affordable)
