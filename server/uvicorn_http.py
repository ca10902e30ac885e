"""HTTP as uvicorn serves it, with the limits that `channel` gives daphne.

uvicorn hands a request on when its header is there; the body follows. So a body's size and pace
are watched while Django reads it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import Any

import h11
import structlog
from django.conf import settings
from django.urls import reverse
from uvicorn.protocols.http.h11_impl import H11Protocol

from accounts.sessions import find_user_id
from chat.db.threads import UNAVAILABLE, in_db
from server.connections import Connections, Places, Refusals
from server.limits import SMALL_BODY, BodyLimit, ServerLimits
from server.refusals import LINGER, make_refusal

log = structlog.get_logger(__name__)

MAX_HEADER = 16_384  # bytes, as Twisted's


class Shared:
    """What the connections of one server have in common."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self.connections = Connections(limits)
        self.large_bodies = Places(limits.large_bodies)
        self.refusals = Refusals()


class _Watched(h11.Connection):
    """h11's parser, which shows each event to `accepts` before uvicorn acts on it."""

    def __init__(self, accepts: Callable[[Any], bool]) -> None:
        super().__init__(h11.SERVER, MAX_HEADER)
        self._accepts = accepts

    def next_event(self) -> Any:
        event = super().next_event()
        if not self._accepts(event):
            raise h11.RemoteProtocolError("refused")  # uvicorn reads no further
        return event


class LimitedHttp(H11Protocol):
    """One connection. Every wait has its end: for a header, a body, the next request."""

    shared: Shared  # set by `uvicorn_server`
    over = False  # whatever arrives now is ignored
    _alarm: asyncio.TimerHandle | None = None
    _idle = False
    _received = 0  # bytes of this request's body
    _limit = BodyLimit(0)
    _session_key = ""
    _has_body = False
    _body_began = 0.0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.conn = _Watched(self._accepts)
        self._application = self.app
        self.app = self._answer_request

    @property
    def _limits(self) -> ServerLimits:
        return self.shared.limits

    # --- A connection's life ---

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self.shared.connections.admit(self):
            self.shared.connections.mark_waiting(self)
            self._expect(self._limits.header_seconds, self._header_late)
        else:
            self.shared.refusals.note(self.client)
            self.over = True
            transport.write(
                make_refusal(503, "Too many connections are open. Try again in a moment.")
            )
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.over = True
        self._expect(None)
        self.shared.connections.leave(self)
        super().connection_lost(exc)

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    def cut_off(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.over:
            return
        if self._idle:
            self._idle = False
            self._expect(self._limits.header_seconds, self._header_late)
        super().data_received(data)

    def on_response_complete(self) -> None:
        if not self.over:
            self._idle = True
            self.shared.connections.mark_waiting(self)
            self._expect(None)
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect(LINGER, self.cut_off)  # where the last answer is not read

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect(self._limits.idle_seconds, self.cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._expect(None)

    def shutdown(self) -> None:
        if self.over:
            self.cut_off()
        else:
            super().shutdown()

    # --- One request ---

    def _accepts(self, event: Any) -> bool:
        """Whether a request stays within the limits; where it does not, it is answered."""
        if isinstance(event, h11.Request):
            self._begin_request(event)
        elif isinstance(event, h11.Data):
            self._received += len(event.data)
            if self._received > self._limit.size:
                self._refuse_size()
        elif isinstance(event, h11.EndOfMessage):
            self._expect(None)
        return not self.over

    def _begin_request(self, request: h11.Request) -> None:
        self._idle = False
        self._expect(None)
        self.shared.connections.mark_working(self)
        headers = dict(request.headers)
        self._session_key = _read_session_key(headers.get(b"cookie", b""))
        path = request.target.partition(b"?")[0]
        self._limit = self._limits.body(path, session=bool(self._session_key))
        self._received = 0
        length = int(headers.get(b"content-length", b"0"))
        self._has_body = length > 0 or b"transfer-encoding" in headers
        if not self._has_body:
            return
        if b"upgrade" in headers:
            self._refuse(400, "A request for a websocket must not have a body.")
        elif length > self._limit.size:
            self._refuse_size()
        elif self._limit.signed_in and not self._session_key:
            self._refuse_stranger()
        else:
            self._body_began = self.loop.time()
            self._expect(self._limits.body_grace, self._check_body)

    async def _answer_request(self, scope: Any, receive: Any, send: Any) -> None:
        """Django's answer, once it is known that the sender may upload."""
        if self._limit.signed_in and self._has_body and not await self._is_signed_in():
            return
        cycle = self.cycle
        try:
            await self._application(scope, partial(self._receive_in_turn, cycle, receive), send)
        finally:
            self.shared.large_bodies.leave(cycle)

    async def _is_signed_in(self) -> bool:
        """Whether the database knows the session; where it does not, the request is refused."""
        try:
            if await in_db(find_user_id, self._session_key) is not None:
                return True
        except UNAVAILABLE as error:
            log.exception("session not checked", error=str(error))
            self._refuse(503, "The server cannot look up your session. Try again in a moment.")
        else:
            self._refuse_stranger()
        return False

    async def _receive_in_turn(self, cycle: Any, receive: Any) -> Any:
        """A piece of the body; the last of a large one when there is a place for it, since Django
        goes on to read the whole into memory."""
        message = await receive()
        whole = message["type"] == "http.request" and not message.get("more_body")
        if whole and self._received > SMALL_BODY:
            place = asyncio.Event()
            self.shared.large_bodies.take(cycle, place.set)
            await place.wait()
        return message

    # --- Waits that have an end ---

    def _expect(self, seconds: float | None, otherwise: Callable[[], object] | None = None) -> None:
        """Call `otherwise` unless something else is expected within so many seconds."""
        if self._alarm:
            self._alarm.cancel()
        self._alarm = None
        if seconds is not None and otherwise:
            self._alarm = self.loop.call_later(seconds, otherwise)

    def _header_late(self) -> None:
        self._refuse(408, "The request did not come in time.")

    def _check_body(self) -> None:
        """A body may take a while, and then as long as its bytes need at the least rate."""
        allowed = self._limits.body_grace + self._received / self._limits.least_rate
        left = self._body_began + allowed - self.loop.time()
        if left > 0:
            self._expect(left, self._check_body)
        else:
            self._refuse(408, "The request came too slowly.")

    # --- Refusals ---

    def _refuse_size(self) -> None:
        self._refuse(
            413, f"This is too large: at most {self._limit.size:,} bytes may be sent here."
        )

    def _refuse_stranger(self) -> None:
        """To the sign-in page, where Django would send them after the whole body."""
        self._refuse(302, "Sign in first.", ("Location", reverse(settings.LOGIN_URL)))

    def _refuse(self, status: int, words: str, *headers: tuple[str, str]) -> None:
        """Answer, read nothing more, and close; the client has a moment to notice."""
        if self.over or self.transport.is_closing():
            return
        self.over = True
        self.shared.connections.mark_working(self)
        if self.cycle and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(make_refusal(status, words, *headers))
        self.transport.write_eof()
        self.flow.resume_reading()
        self._expect(LINGER, self.cut_off)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "The request is not valid HTTP, or its header is too long.")


def _read_session_key(cookies: bytes) -> str:
    """The session's cookie, good or not."""
    try:
        found = SimpleCookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return ""
    return found.value if found else ""
