"""The socket over which Slack says what happens (Socket Mode), with Bolt: an event is acknowledged
when it is stored, so that Slack sends it again if this process dies before."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from slack_bolt.adapter.socket_mode.async_internals import (
    run_async_bolt_app,
    send_async_response,
)
from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from chat.sources.slack.client import (
    LIBRARY_LOG,
    TOKEN_ERRORS,
    find_proxy,
    is_slack_address,
    make_web_client,
)

log = structlog.get_logger(__name__)

# Bolt finds SLACK_BOT_TOKEN in the environment, and warns that it is not used.
APP_LOG = LIBRARY_LOG.getChild("app")
APP_LOG.setLevel(logging.ERROR)
PING_SECONDS = 10.0
_ANY = re.compile("")

Happening = dict[str, Any]
Take = Callable[[Happening], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the bot is, by `auth.test`."""

    team: str
    team_name: str
    user: str
    bot: str


class SlackSocket:
    """`take_event` and `take_command` store what came; `greeted` is set at each new connection, as
    something may have been missed; `refused` when the app's token counts no more."""

    def __init__(self, identity: Identity, take_event: Take, take_command: Take) -> None:
        self.greeted = asyncio.Event()
        self.refused = ""
        self._app = _make_app(identity, take_event, take_command)
        self._client = _SocketClient(
            settings.SLACK_APP_TOKEN,
            logger=LIBRARY_LOG,
            web_client=make_web_client(),
            ping_interval=PING_SECONDS,
        )
        self._client.proxy = find_proxy(settings.SLACK_API_URL)
        self._client.message_listeners.append(self._look)
        self._client.socket_mode_request_listeners.append(self._handle)
        self._client.on_refusal = self._note_refusal

    async def connect(self) -> None:
        """Connect, and stay so: the library connects again whenever the line drops."""
        await self._client.connect()

    async def close(self) -> None:
        await self._client.close()

    def _note_refusal(self, code: str) -> None:
        self.refused = code
        self.greeted.set()

    async def _look(
        self, client: AsyncBaseSocketModeClient, message: Happening, raw: str | None
    ) -> None:
        if message.get("type") == "hello":
            self.greeted.set()

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        begun = asyncio.get_running_loop().time()
        response = await run_async_bolt_app(self._app, request)
        await send_async_response(client, request, response, begun)


class _SocketClient(SocketModeClient):
    """The library's, which connects to Slack only and gives up where the token is refused."""

    on_refusal: Callable[[str], None]

    async def issue_new_wss_url(self) -> str:
        try:
            address: str = await super().issue_new_wss_url()
        except SlackApiError as error:
            if (code := str(error.response.get("error", ""))) in TOKEN_ERRORS:
                self.closed = True
                self.on_refusal(code)
            raise
        if not is_slack_address(address):
            raise ValueError("the address of the socket is not Slack's")
        return address


def _make_app(identity: Identity, take_event: Take, take_command: Take) -> AsyncApp:
    async def authorize(**_: Any) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team,
            bot_user_id=identity.user,
            bot_id=identity.bot,
            bot_token=settings.SLACK_BOT_TOKEN,
        )

    app = AsyncApp(
        client=make_web_client(),
        authorize=authorize,
        process_before_response=True,  # acknowledged after the listener, not before
        request_verification_enabled=False,  # the socket is ours already
        logger=APP_LOG,
    )

    @app.event(_ANY)
    async def on_event(body: Happening) -> None:
        await take_event(body)

    @app.command(_ANY)
    async def on_command(ack: AsyncAck, command: Happening) -> None:
        await take_command(command)
        await ack()

    return app
