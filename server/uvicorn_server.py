"""uvicorn's server with our protocols: what `SERVER=uvicorn` runs."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any

import uvicorn
from django.conf import settings
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from server.limits import load_limits
from server.refusals import LINGER
from server.uvicorn_http import LimitedHttp, Shared
from server.writing import WRITE, make_text_frame

BACKLOG = 511
PING_SECONDS, PONG_SECONDS = 20.0, 30.0  # as daphne's
CLOSE_SECONDS = 5.0  # within which a client must answer a close frame
END_SECONDS = 5  # for what still runs when the server stops


class Socket(WebSocketsSansIOProtocol):
    """A websocket, which is one of the server's connections to its end."""

    shared: Shared
    _failed = False  # whatever arrives now is ignored

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.close_timeout = CLOSE_SECONDS

    def handle_connect(self, event: Any) -> None:
        Context().run(super().handle_connect, event)  # not that of a request before it
        if not self.close_sent:  # the application runs, but has not begun
            self.scope["extensions"][WRITE] = self.write_text  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if not self._failed:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        """A frame is too large or no frame. uvicorn would close at once, and a client that is still
        sending would never read why."""
        self._failed = self.close_sent = True
        reason = self.conn.close_sent
        code = reason.code if reason else 1006
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.write_eof()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(LINGER, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.shared.connections.leave(self)
        super().connection_lost(exc)

    def write_text(self, payload: bytes) -> bool:
        """What `WRITE` promises."""
        is_open = self.handshake_complete and not (self.close_sent or self.disconnected)
        if not is_open or self.transport.is_closing() or not self.writable.is_set():
            return False
        self.transport.write(make_text_frame(payload))
        return True

    async def send(self, message: Any) -> None:
        """What comes too late is dropped, as daphne does: the application has yet to hear that the
        socket is closed."""
        if self.close_sent and self.handshake_complete:
            return
        with suppress(ClientDisconnected):
            await super().send(message)


class Server(uvicorn.Server):
    """Serves until `stop`. `ready` is called in the loop, once connections are accepted."""

    def __init__(self, application: Any, host: str, port: int, ready: Callable[[], None]) -> None:
        self._address = host, port
        self._ready = ready
        shared = Shared(load_limits())
        super().__init__(
            uvicorn.Config(
                application,
                http=type("Http", (LimitedHttp,), {"shared": shared}),
                ws=type("Socket", (Socket,), {"shared": shared}),
                ws_max_size=settings.MAX_TEXT_BYTES,
                ws_ping_interval=PING_SECONDS,
                ws_ping_timeout=PONG_SECONDS,
                ws_per_message_deflate=False,
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                reset_contextvars=True,
                proxy_headers=False,
                server_header=False,
                headers=[("server", "everlong")],
                backlog=BACKLOG,
                timeout_keep_alive=settings.IDLE_SECONDS,  # type: ignore[arg-type]
                timeout_graceful_shutdown=END_SECONDS,
            )
        )

    def serve_forever(self) -> bool:
        """False where the port is taken."""
        try:
            listening = socket.create_server(
                self._address,
                family=socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET,
                backlog=BACKLOG,
            )
        except OSError:
            return False
        self.run(sockets=[listening])
        return True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """`manage.py serve` has the signals."""
        yield

    def stop(self) -> None:
        self.should_exit = True
