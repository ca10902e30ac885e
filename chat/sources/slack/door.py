"""The door to Slack: of all processes that could, one is connected; it answers and posts."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import structlog
from django.utils.translation import gettext_noop

from chat.db.outages import SLACK
from chat.db.threads import UNAVAILABLE, in_db
from chat.services.slack import connection, inbox
from chat.sources.slack.catching_up import catch_up
from chat.sources.slack.client import SlackClient, SlackFault, TokenRefused
from chat.sources.slack.handling import Handler
from chat.sources.slack.mirror import Mirror
from chat.sources.slack.pace import Pace
from chat.sources.slack.socket import Identity, SlackSocket
from chat.sources.slack.taking import Taker

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
EXTEND_SECONDS = 3.0
GREETING_SECONDS = 30.0  # until the socket should be connected
FORGET_SECONDS = 3_600.0
AGAIN_SECONDS = 10.0  # after a fault
REFUSED_AGAIN_SECONDS = 60.0  # after tokens were refused
CLOSE_SECONDS = 5.0
# Less than the lease: by then this process does not post any more.
OVER_AFTER = 0.7 * connection.LEASE / timedelta(seconds=1)

REFUSED = gettext_noop(
    "Slack refuses the tokens: {code}. Install the app to the workspace again, put the new tokens "
    "into SLACK_BOT_TOKEN and SLACK_APP_TOKEN, and restart. What is to be posted waits."
)
AWAY = gettext_noop("Slack cannot be reached. What is to be posted waits, and is posted later.")


class SlackDoor:
    """Keeps a connection to Slack for this process, the `holder`, if no other one does."""

    def __init__(self, holder: str, pace: Pace | None = None) -> None:
        self._holder = holder
        self._pace = pace or Pace()
        self._task: asyncio.Task[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin when the loop runs."""
        self._task = loop.create_task(self._run())

    async def close(self) -> None:
        """Let another process take over."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)

    async def _run(self) -> None:
        try:
            while True:
                wait = LOOK_SECONDS
                try:
                    if await in_db(connection.take_lease, self._holder):
                        wait = await self._serve()
                except UNAVAILABLE as error:
                    log.info("slack waits for the database", reason=str(error))
                except Exception:
                    log.exception("the connection to slack failed")
                    wait = AGAIN_SECONDS
                await asyncio.sleep(wait)
        finally:
            with suppress(*UNAVAILABLE):
                await in_db(connection.give_up_lease, self._holder)

    async def _serve(self) -> float:
        """Be connected until another process is, or something is wrong; how long to wait then."""
        client = SlackClient()
        try:
            identity = await _introduce(client)
            session = _Session(self._holder, client, identity, self._pace)
            try:
                return await session.run()
            finally:
                await session.close()
        except TokenRefused as refusal:
            SLACK.note_failure(refusal)
            await in_db(connection.note_problem, REFUSED.format(code=refusal))
            return REFUSED_AGAIN_SECONDS
        except SlackFault:
            await in_db(connection.note_problem, AWAY)
            return AGAIN_SECONDS


class _Session:
    """One time of being connected."""

    def __init__(self, holder: str, client: SlackClient, identity: Identity, pace: Pace) -> None:
        self._holder = holder
        self._client = client
        self._taker = Taker(identity)
        self._socket = SlackSocket(identity, self._taker.take_event, self._taker.take_command)
        self._handler = Handler(client, identity)
        self._mirror = Mirror(client, pace)
        self._tasks: list[asyncio.Task[None]] = []
        self._catching_up: asyncio.Task[None] | None = None
        self._problem: str | None = None  # as it is noted; None: not known

    async def run(self) -> float:
        """Look each second at what came and at what is to be posted. Raises TokenRefused."""
        loop = asyncio.get_running_loop()
        self._tasks.append(asyncio.create_task(self._socket.connect()))
        begun = extended = loop.time()
        forget_at = 0.0
        while True:
            if loop.time() - extended >= EXTEND_SECONDS:
                if not await self._extend(loop.time() - extended):
                    return LOOK_SECONDS
                extended = loop.time()
            if refused := self._socket.refused or self._mirror.refused:
                raise TokenRefused(refused)
            if self._socket.greeted.is_set():
                self._socket.greeted.clear()
                self._catch_up()
            await self._note_problem(loop.time() - begun)
            if loop.time() >= forget_at:
                forget_at = loop.time() + FORGET_SECONDS
                await in_db(inbox.forget_old)
            await self._handler.look()
            await self._mirror.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _extend(self, since: float) -> bool:
        """Whether this process stays the one that is connected, `since` seconds after it was."""
        return since < OVER_AFTER and await in_db(connection.take_lease, self._holder)

    async def _note_problem(self, since: float) -> None:
        """Whether Slack answers, as the last call has shown, and the socket, which was begun with
        `since` seconds ago: what was noted before stays until it has had time."""
        if self._catching_up is None and since < GREETING_SECONDS:
            return
        problem = AWAY if SLACK.is_ongoing or self._catching_up is None else ""
        if problem != self._problem:
            await in_db(connection.note_problem, problem)
            self._problem = problem

    def _catch_up(self) -> None:
        """The socket is connected, perhaps again."""
        if self._catching_up:
            self._catching_up.cancel()
        self._catching_up = asyncio.create_task(catch_up(self._client, self._taker))
        self._tasks.append(self._catching_up)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._handler.close()
        await self._mirror.close()
        await self._socket.close()


async def _introduce(client: SlackClient) -> Identity:
    """Who the bot is. Raises SlackFault."""
    about = await client.call("auth.test")
    identity = Identity(
        str(about["team_id"]),
        str(about.get("team") or ""),
        str(about["user_id"]),
        str(about.get("bot_id") or ""),
    )
    await in_db(connection.note_team, identity.team, identity.team_name)
    return identity
