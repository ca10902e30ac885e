"""HTTP as daphne serves it, with limits: of a body before it is stored, and of every wait."""

import asyncio
import json
from collections.abc import Callable
from contextvars import Context
from functools import partial
from http import HTTPStatus
from typing import Any

import structlog
from daphne.http_protocol import WebRequest
from django.conf import settings
from django.urls import reverse
from twisted.internet.protocol import connectionDone
from twisted.web import http

from server.connections import Connections, Places
from server.limits import SMALL_BODY, BodyLimit, Pass, Uploads, find_most_connections

log = structlog.get_logger(__name__)

# How long (s) a refused client is listened to, so that it can read the answer: if the connection
# were closed while it still sends, the kernel would throw the answer away.
LINGER = 5.0
MOST_UNSENT = 256_000  # bytes of an answer that wait for its client
ROOM_SECONDS = 0.05  # between two looks whether it has read
# What the API calls refusals (`chat.api.errors`), by status.
CODES = {
    400: "bad_request",
    401: "bad_token",
    408: "too_slow",
    413: "too_large",
    431: "too_large",
    503: "unavailable",
}


class Answering:
    """A protocol of daphne's that answers outside the context of its request: an answer's end makes
    the connection read on and set its clocks, and callbacks keep the context they come from."""

    def handle_reply(self, message: dict[str, Any]) -> None:
        Context().run(super().handle_reply, message)  # type: ignore[misc]


class LimitedRequest(Answering, WebRequest):
    """A request whose body is counted as it comes, and handed on when there is a place."""

    limit = BodyLimit(0)
    received = 0  # bytes of the body

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Twisted would parse the whole form, and Django would do it again: ten times its size
        # in memory.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)

    def handleContentChunk(self, data: bytes) -> None:
        if self.channel.over:
            return
        self.received += len(data)
        if self.received > self.limit.size:
            self.channel.refuse_size(self.limit)
        else:
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        start = partial(super().requestReceived, command, path, version)
        if self.received > SMALL_BODY:
            # Until now the body was in a file; daphne reads the whole of it into memory.
            self.channel.factory.large_bodies.take(self, start)
        else:
            start()

    def finish(self) -> None:
        places = self.channel.factory.large_bodies
        super().finish()
        places.leave(self)

    def connectionLost(self, reason: Any) -> None:
        places = self.channel.factory.large_bodies
        super().connectionLost(reason)
        places.leave(self)

    def read(self, kind: Pass) -> str:
        """What the request shows of a kind, good or not; "" for nothing."""
        if kind is Pass.SESSION:
            cookie = self.received_cookies.get(settings.SESSION_COOKIE_NAME.encode(), b"")
            return str(cookie, "latin1")
        values = self.requestHeaders.getRawHeaders(b"Authorization", [b""])
        scheme, _, token = str(values[0], "latin1").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @property
    def is_upgrade(self) -> bool:
        values = self.requestHeaders.getRawHeaders(b"Upgrade", [])
        return bool(values) and values[0].lower() == b"websocket"


class Channel(http.HTTPChannel):
    """One connection. Every wait has its end: for a header, a body, the next request."""

    requestFactory = LimitedRequest
    transport: Any  # Twisted's interfaces tell mypy nothing of their methods
    _networkProducer: Any
    _path: Any
    over = False  # whatever arrives now is ignored
    _alarm: Any = None
    _idle = False
    _is_of_api = False  # what was asked for last
    _body_began = 0.0
    _unsent_before = 0

    @property
    def _connections(self) -> Connections:
        return self.factory.connections

    @property
    def address(self) -> str:
        return str(getattr(self.transport.getPeer(), "host", ""))

    def cut_off(self) -> None:
        self.transport.abortConnection()

    # --- A connection's life ---

    def connectionMade(self) -> None:
        super().connectionMade()
        if self._connections.admit(self):
            self._connections.mark_waiting(self)
            self._expect(settings.HEADER_SECONDS, self._header_late)
        else:
            self._connections.log_refusal(self.address)
            self.over = True
            words = "Too many connections are open. Try again in a moment."
            self.transport.write(make_refusal(503, words))
            self.loseConnection()

    def connectionLost(self, reason: Any = connectionDone) -> None:
        self.over = True
        self._expect(None)
        self._connections.leave(self)
        super().connectionLost(reason)

    def dataReceived(self, data: bytes) -> None:
        if self.over:
            return
        if self._idle:
            self._idle = False
            self._expect(settings.HEADER_SECONDS, self._header_late)
        super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:
        if not self.over:
            super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        self.refuse(431, "The address or a header is too long.")

    def _respondToBadRequestAndDisconnect(self) -> None:
        self.refuse(400, "The request is not valid HTTP, or its header is too long.")

    def allHeadersReceived(self) -> None:
        self._expect(None)
        self._connections.mark_working(self)
        request = self.requests[-1]
        request.parseCookies()
        uploads: Uploads = self.factory.uploads
        path = str(self._path.split(b"?")[0], "latin1")
        self._is_of_api = uploads.is_of_api(path)
        request.limit = uploads.limit_body(path, known=any(map(request.read, Pass)))
        if self.length == 0:
            super().allHeadersReceived()
        elif request.is_upgrade:
            self.refuse(400, "A request for a websocket must not have a body.")
        elif (self.length or 0) > request.limit.size:
            self.refuse_size(request.limit)
        elif request.limit.needs and not request.read(request.limit.needs):
            self._refuse_stranger()
        else:
            super().allHeadersReceived()
            self._body_began = self.factory.reactor.seconds()
            self._expect(settings.BODY_GRACE_SECONDS, self._check_body)
            if request.limit.needs:
                self._check_pass(request, request.limit.needs)

    def rawDataReceived(self, data: bytes) -> None:
        if not self.over:
            super().rawDataReceived(data)

    def allContentReceived(self) -> None:
        if not self.over:
            self._expect(None)
            super().allContentReceived()

    def requestDone(self, request: LimitedRequest) -> None:
        self._idle = True
        self._connections.mark_waiting(self)
        self._unsent_before = count_unsent(self.transport)
        self._expect(settings.IDLE_SECONDS, self._idle_over)
        super().requestDone(request)  # which goes on with what was sent ahead

    # --- Waits that have an end ---

    def _expect(self, seconds: float | None, otherwise: Callable[[], None] | None = None) -> None:
        """Call `otherwise` unless something else is expected within so many seconds."""
        if self._alarm and self._alarm.active():
            self._alarm.cancel()
        self._alarm = self.factory.reactor.callLater(seconds, otherwise) if otherwise else None

    def _header_late(self) -> None:
        self.refuse(408, "The request did not come in time.")

    def _check_body(self) -> None:
        """A body may take a while, and then as long as its bytes need at the least rate."""
        needed = self.requests[-1].received / settings.BODY_BYTES_PER_SECOND
        allowed = settings.BODY_GRACE_SECONDS + needed
        left = self._body_began + allowed - self.factory.reactor.seconds()
        if left > 0:
            self._expect(left, self._check_body)
        else:
            self.refuse(408, "The request came too slowly.")

    def _idle_over(self) -> None:
        """No further request came. A client that is still reading the last answer is given time."""
        unsent = count_unsent(self.transport)
        read = self._unsent_before - unsent
        if unsent and read >= settings.BODY_BYTES_PER_SECOND * settings.IDLE_SECONDS:
            self._unsent_before = unsent
            self._expect(settings.IDLE_SECONDS, self._idle_over)
        else:
            self.transport.abortConnection()

    async def wait_for_room(self) -> None:
        """Wait while the client has much to read; one that reads nothing for long is given up."""
        unsent = count_unsent(self.transport)
        read_at = self.factory.reactor.seconds()
        while not self.over and unsent > MOST_UNSENT:
            await asyncio.sleep(ROOM_SECONDS)
            before, unsent = unsent, count_unsent(self.transport)
            if unsent < before:
                read_at = self.factory.reactor.seconds()
            elif self.factory.reactor.seconds() - read_at > settings.IDLE_SECONDS:
                self.cut_off()

    # --- Who may upload ---

    def _check_pass(self, request: LimitedRequest, needs: Pass) -> None:
        """Read on only if the database knows the session, or the token. The reactor does not wait
        for the answer."""
        self._networkProducer.pauseProducing()
        find_user = self.factory.uploads.find_user[needs]
        task = asyncio.ensure_future(find_user(request.read(needs)))
        task.add_done_callback(partial(self._pass_checked, request))

    def _pass_checked(self, request: LimitedRequest, task: "asyncio.Task[int | None]") -> None:
        # A small body may have come in one piece with its header: then Django looks itself.
        if self.over or self._handlingRequest or request not in self.requests:
            return
        if error := task.exception():
            log.error("session or token not checked", exc_info=error)
            self.refuse(503, "The server cannot look up who you are. Try again in a moment.")
        elif task.result() is not None:
            self._networkProducer.resumeProducing()
        else:
            self._refuse_stranger()

    def _refuse_stranger(self) -> None:
        """To the sign-in page, where Django would send them after the whole body; a program is told
        which token it needs."""
        if self.requests[-1].limit.needs is Pass.TOKEN:
            words = "This needs an access token in the header Authorization (Bearer ev_…)."
            self.refuse(401, words, ("WWW-Authenticate", 'Bearer realm="Everlong"'))
        else:
            self.refuse(302, "Sign in first.", ("Location", reverse(settings.LOGIN_URL)))

    # --- Refusals ---

    def refuse_size(self, limit: BodyLimit) -> None:
        self.refuse(413, f"This is too large: at most {limit.size:,} bytes may be sent here.")

    def refuse(self, status: int, words: str, *headers: tuple[str, str]) -> None:
        """Answer, read nothing more, and close; the client has a moment to notice."""
        if self.over:
            return
        self.over = True
        self._connections.mark_working(self)
        make = make_refusal_of_api if self._is_of_api else make_refusal
        self.transport.write(make(status, words, *headers))
        self._networkProducer.resumeProducing()
        self._networkProducer.unregisterProducer()
        self.transport.loseWriteConnection()
        self._expect(LINGER, self.transport.abortConnection)


def make_refusal_of_api(status: int, words: str, *headers: tuple[str, str]) -> bytes:
    """The same in the form of the API's errors."""
    body = json.dumps({"error": {"code": CODES.get(status, CODES[400]), "message": words}})
    return make_refusal(status, body, ("Content-Type", "application/json"), *headers)


def make_refusal(status: int, words: str, *headers: tuple[str, str]) -> bytes:
    """A whole response, after which the connection is closed."""
    fields = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(words.encode())),
        "Connection": "close",
        **dict(headers),
    }
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", words]).encode()


def count_unsent(transport: Any) -> int:
    """Bytes that the client has not taken."""
    return len(transport.dataBuffer) - transport.offset + int(transport._tempDataLen)


class Factory(http.HTTPFactory):
    """Makes the channels of one daphne server, and holds what they share."""

    protocol = Channel  # type: ignore[assignment]  # without its proxy for HTTP/2
    reactor: Any

    def __init__(self, server: Any, uploads: Uploads) -> None:
        super().__init__()
        self.timeOut = None  # the channel's own timeouts replace it
        self.server = server
        self.uploads = uploads
        # Behind proxies all connections are theirs.
        per_address = 0 if settings.TRUSTED_PROXIES else settings.CONNECTIONS_PER_ADDRESS
        self.connections = Connections(find_most_connections(), per_address)
        self.large_bodies = Places(settings.LARGE_BODIES)
