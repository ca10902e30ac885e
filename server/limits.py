"""How much a client may send, how slowly, and over how many connections."""

import resource
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.urls import reverse

from chat.services.library.files import MAX_BYTES

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
class ServerLimits:
    """See docs/operations.md. Seconds, bytes, and numbers of connections."""

    connections: int
    per_address: int
    header_seconds: float
    idle_seconds: float
    body_grace: float
    least_rate: float
    large_bodies: int
    text_body: int
    uploads: dict[bytes, int]

    def body(self, path: bytes, *, session: bool) -> BodyLimit:
        """`session`: whether the request brings a session's cookie, good or not."""
        if upload := self.uploads.get(path):
            return BodyLimit(upload, signed_in=True)
        return BodyLimit(self.text_body if session else SMALL_BODY)

    def counts(self, address: str) -> bool:
        """Whether an address is one person's: not a proxy's, nor the machine's own."""
        return bool(self.per_address) and address not in ("127.0.0.1", "::1")


def load_limits() -> ServerLimits:
    """The limits of this process."""
    upload = reverse("attachment_create")
    return ServerLimits(
        connections=_affordable(settings.MAX_CONNECTIONS),
        # Behind proxies all connections are theirs.
        per_address=0 if settings.TRUSTED_PROXIES else settings.CONNECTIONS_PER_ADDRESS,
        header_seconds=settings.HEADER_SECONDS,
        idle_seconds=settings.IDLE_SECONDS,
        body_grace=settings.BODY_GRACE_SECONDS,
        least_rate=settings.BODY_BYTES_PER_SECOND,
        large_bodies=settings.LARGE_BODIES,
        text_body=settings.MAX_TEXT_BYTES,
        # With the site's path and, where a proxy takes that away, without.
        uploads=dict.fromkeys(
            (upload.encode(), upload.removeprefix(settings.BASE_PATH[:-1]).encode()),
            MAX_BYTES + MULTIPART,
        ),
    )


def _affordable(connections: int) -> int:
    """So many connections as there are file descriptors for; each may need two, as a body above
    100 kB waits in a temporary file."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most == resource.RLIM_INFINITY:
        return connections
    affordable = max(1, (most - RESERVED_FILES) // 2)
    if affordable < connections:
        log.warning(
            "fewer connections than MAX_CONNECTIONS: raise the limit of open files (ulimit -n)",
            connections=affordable,
            open_files=most,
        )
    return min(connections, affordable)
