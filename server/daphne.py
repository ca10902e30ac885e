"""Daphne's server with our protocols."""

# Daphne installs Twisted's asyncio reactor when it is imported, which must come first.
from daphne.server import Server as DaphneServer  # isort: skip

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from django.conf import settings
from twisted.internet import reactor as installed
from twisted.internet.defer import DeferredList
from twisted.internet.endpoints import serverFromString
from twisted.internet.task import deferLater
from twisted.logger import globalLogBeginner

from server.http import Answering, Factory, count_unsent
from server.limits import Uploads
from server.writing import WRITE, make_text_frame

reactor: Any = installed  # its interfaces tell mypy nothing
# Within these a client must answer a close frame; until then what it sends is dropped.
CLOSE_SECONDS = 5
KILL_SECONDS = 0.3  # in which requests notice that the server stops


class Socket(Answering, WebSocketProtocol):
    """A websocket, which is one of the server's connections to its end."""

    def connectionLost(self, reason: Any) -> None:
        self.factory.server_class.http_factory.connections.leave(self)
        super().connectionLost(reason)

    def write_text(self, payload: bytes) -> bool:
        """What `WRITE` promises. Twisted would wait for its poll, and tell it twice to look."""
        if self.state != self.STATE_OPEN:
            return False
        frame = make_text_frame(payload)
        sent = 0 if count_unsent(self.transport) else self.transport.writeSomeData(frame)
        if not isinstance(sent, int):  # the connection is lost, as the reactor will notice too
            return False
        if sent < len(frame):
            Context().run(self.transport.write, frame[sent:])  # who waits for room has no context
        return True


class Sockets(WebSocketFactory):
    protocol = Socket


class Server(DaphneServer):
    """Daphne's, except for what `run` sets up: daphne names its protocols in there. `ready` is
    called with the loop set and not yet running."""

    def __init__(
        self, application: Any, host: str, port: int, uploads: Uploads, ready: Callable[[], None]
    ) -> None:
        super().__init__(
            application=application,
            endpoints=[f"tcp:port={port}:interface={host.replace(':', chr(92) + ':')}:backlog=511"],
            signal_handlers=False,
            ready_callable=ready,
            http_timeout=None,
            request_buffer_size=64_000,
            websocket_max_message_size=settings.MAX_TEXT_BYTES,
            server_name="everlong",
        )
        self._uploads = uploads

    def serve_forever(self) -> bool:
        """False where the port is taken."""
        self.run()
        return bool(self.listening_addresses) and not self.abort_start

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """In a context of its own: what lets a request begin may be the end of another one, of the
        same connection or of one that it had to wait for."""
        if isinstance(protocol, Socket):
            scope["extensions"] = {WRITE: protocol.write_text}
        return Context().run(super().create_application, protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Daphne's; and the next part of an answer waits until its client has taken most of the
        last ones. Daphne would keep all that a slow reader leaves in memory."""
        await super().handle_reply(protocol, message)
        if message.get("more_body") and (channel := protocol.channel):
            await channel.wait_for_room()

    def run(self) -> None:
        self.connections: dict[Any, dict[str, Any]] = {}
        self.http_factory = Factory(self, self._uploads)
        self.ws_factory = Sockets(self, server=self.server_name)
        self.ws_factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            closeHandshakeTimeout=CLOSE_SECONDS,
            maxMessagePayloadSize=self.websocket_max_message_size,
            maxFramePayloadSize=self.websocket_max_message_size,
            failByDrop=False,  # a frame that is too large is answered with code 1009
        )
        nowhere: list[Any] = [lambda _: None]
        globalLogBeginner.beginLoggingTo(nowhere, redirectStandardIO=False, discardBuffer=True)
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        for description in self.endpoints:
            listening = serverFromString(reactor, description).listen(self.http_factory)
            listening.addCallback(self.listen_success)
            listening.addErrback(self.listen_error)
            self.listeners.append(listening)
        asyncio.set_event_loop(reactor._asyncioEventloop)
        reactor.addSystemEventTrigger("before", "shutdown", self.kill_all_applications)
        if not self.abort_start:
            self.ready_callable()
            reactor.run(installSignalHandlers=self.signal_handlers)

    def kill_all_applications(self) -> Any:
        # Daphne would stumble over a request that is still being received.
        begun = {
            key: each for key, each in self.connections.items() if "application_instance" in each
        }
        self.connections = begun
        # One that waits for its thread ends with that, which may be never.
        ends = [super().kill_all_applications(), deferLater(reactor, KILL_SECONDS)]
        return DeferredList(ends, fireOnOneCallback=True)
