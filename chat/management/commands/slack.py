"""`manage.py slack`: the connection to Slack in a process of its own, beside web processes."""

import asyncio
import signal
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chat.db.private_files import keep_private
from chat.engine import model_server
from chat.live.runner import runner
from chat.management.schema_check import require_schema
from chat.sources.slack.extra import CannotOpen, make_door


class Command(BaseCommand):
    help = (
        "Answer Slack in a process of its own. Of all such processes, and of web processes that "
        "have the tokens too, one is connected, and another takes over when it stops."
    )

    def handle(self, **options: Any) -> None:
        if not settings.SLACK:
            raise CommandError(
                "Set SLACK_BOT_TOKEN and SLACK_APP_TOKEN: docs/slack.md says where they come from."
            )
        if not settings.SCALED:
            raise CommandError(
                "`slack` needs REDIS_URL: without it, `serve` alone can reach the open pages, and "
                "is connected to Slack itself."
            )
        keep_private()
        require_schema()
        try:
            self._door = make_door()
        except CannotOpen as error:
            raise CommandError(str(error)) from error
        self.stdout.write("Everlong answers Slack. Ctrl-C ends it.")
        self.stdout.flush()
        asyncio.run(self._run())
        self.stdout.write("Stopped.")

    async def _run(self) -> None:
        """Until somebody stops it. An edit in Slack is answered in this process, which therefore
        drains as a web process does."""
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        get_channel_layer().bind()
        self._door.start(loop)
        await stopped.wait()
        await runner.drain()
        await self._door.close()
        await model_server.close_clients()
