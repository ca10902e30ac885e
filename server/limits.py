"""How much a client may send, and over how many connections."""

import resource
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

SMALL_BODY = 100_000  # bytes: any form but a long text
MULTIPART = 100_000  # bytes around an uploaded file
# Files of the process itself: the database, models' servers, Redis, what it serves.
RESERVED_FILES = 256


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """What one request may send. `signed_in`: only a person whose session is still good."""

    size: int  # bytes
    signed_in: bool = False


@dataclass(frozen=True, slots=True)
class Uploads:
    """Where files are sent, and below which path pieces of larger ones: only people may do so who
    are signed in."""

    path: str
    size: int  # bytes of a file, at most
    pieces: str
    piece_size: int  # bytes of a piece, at most
    # The id of the user whom a session signs in, by its key; None where it signs in nobody.
    find_user: Callable[[str], Awaitable[int | None]]

    def limit_body(self, path: str, *, session: bool) -> BodyLimit:
        """The limit of a request for a path. `session`: whether it brings a session's cookie, good
        or not."""
        # A proxy may have taken the site's own path away.
        taken = settings.BASE_PATH[:-1]
        if path in (self.path, self.path.removeprefix(taken)):
            return BodyLimit(self.size + MULTIPART, signed_in=True)
        if path.startswith((self.pieces, self.pieces.removeprefix(taken))):
            return BodyLimit(self.piece_size, signed_in=True)
        return BodyLimit(settings.MAX_TEXT_BYTES if session else SMALL_BODY)


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
