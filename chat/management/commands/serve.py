"""`manage.py serve`: the web process, with the embedded worker where there is no Redis."""

import asyncio
import gc
import logging
import os
from argparse import ArgumentParser
from functools import partial
from typing import Any

import structlog
from channels.layers import get_channel_layer
from channels.routing import get_default_application
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from django.utils.module_loading import import_string

from accounts.services import issue_setup_link
from accounts.sessions import find_user_id
from accounts.tokens import find_user_id_by_token
from agent.vocabulary import FILE_NAME
from chat.db.private_files import keep_private
from chat.db.threads import in_db
from chat.engine import model_server
from chat.live.leaving import watch_signals
from chat.live.runner import runner
from chat.live.sweeping import sweep_forever
from chat.management.schema_check import require_schema
from chat.services.library.file_types import MAX_FILE_BYTES
from chat.services.library.import_jobs import PIECE_BYTES
from chat.services.site import model_profiles
from chat.sources.slack.extra import CannotOpen, make_door
from server.claims import CannotServe, check_address, claim_data, find_origin
from server.daphne import Server
from server.limits import Pass, Uploads

log = structlog.get_logger(__name__)

ENDED = "Stopped. Every answer is stored."
UNSTORED = (
    "Stopped. Answers that could not be stored because the database was not available: {count}. "
    "They are kept up to their last checkpoint; the log names them."
)
UNKNOWN = "Stopped at once. Answers that were being written are kept up to their last checkpoint."


class Command(BaseCommand):
    help = "Serve Everlong: pages, websockets and answers, and without REDIS_URL the worker too."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.HOST)
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--no-worker",
            action="store_true",
            help="Leave compactions and titles to `celery -A config worker` (needs REDIS_URL).",
        )

    def handle(self, *, host: str, port: int, no_worker: bool, **options: Any) -> None:
        if no_worker and not settings.SCALED:
            raise CommandError(
                "--no-worker needs REDIS_URL: without it, no worker could run the tasks."
            )
        keep_private()
        try:
            claim_data(find_origin(host, port))
            check_address(host, port)
        except CannotServe as error:
            raise CommandError(str(error)) from None
        require_schema()
        try:
            self._slack = make_door() if settings.SLACK else None
        except CannotOpen as error:
            raise CommandError(str(error)) from error
        self._tasks: list[asyncio.Task[Any]] = []
        self._stopping = False
        self._unstored: int | None = None  # answers, after the time to wait for them
        self._demo = self._start_demo_server() if settings.DEMO else None
        self._embedded = None
        if not settings.SCALED:
            from chat.live.embedded_worker import EmbeddedWorker

            self._embedded = EmbeddedWorker()
            self._embedded.start()
        uploads = Uploads(
            paths={
                reverse("attachment_create"): Pass.SESSION,
                reverse("api:upload_file"): Pass.TOKEN,
            },
            size=MAX_FILE_BYTES,
            pieces={
                f"{reverse('imports')}pieces/": Pass.SESSION,
                f"{reverse('api:list_imports')}/pieces/": Pass.TOKEN,
            },
            piece_size=PIECE_BYTES,
            find_user={
                Pass.SESSION: lambda session: in_db(find_user_id, session),
                Pass.TOKEN: lambda token: in_db(find_user_id_by_token, token),
            },
        )
        self._server = Server(get_default_application(), host, port, uploads, self._ready)
        self._announce(host, port)
        if not self._server.serve_forever():
            raise CommandError(f"Port {port} of {host} is taken. Set PORT to another one.")
        self.stdout.write(self._last_words())
        self._leave()

    def _leave(self) -> None:
        """End the process at once: Python would wait for its threads, which may be in a request
        that waits for the loop, or in a task of the worker's while a model is slow. The sweep of
        the next start ends those."""
        self.stdout.flush()
        logging.shutdown()
        os._exit(0)

    def _last_words(self) -> str:
        if self._unstored is None:
            return UNKNOWN
        return UNSTORED.format(count=self._unstored) if self._unstored else ENDED

    def _start_demo_server(self) -> Any:
        start = import_string(settings.DEMO_SERVER)
        server = start(tokens_per_s=settings.DEMO_TOKENS_PER_SECOND)
        model_server.use_demo_server(server.base_url)
        return server

    def _announce(self, host: str, port: int) -> None:
        origin = find_origin(host, port)
        address = f"{origin}{settings.BASE_PATH.removesuffix('/')}"
        self.stdout.write(f"Everlong {settings.VERSION}: {address}")
        if settings.DEMO:
            self.stdout.write(
                "No ANTHROPIC_API_KEY: the demo server answers, not an AI (README: “Use a model”)."
            )
        if not (settings.DATA_DIR / "tiktoken" / FILE_NAME).exists():
            self.stdout.write(
                "The token vocabulary is missing: counts are estimated. `make setup` fetches it."
            )
        if token := issue_setup_link():
            self.stdout.write(f"Create the administrator: {origin}{reverse('setup', args=[token])}")
        self.stdout.flush()

    def _ready(self) -> None:
        """Called with the loop set and not yet running."""
        loop = asyncio.get_event_loop()
        watch_signals(partial(loop.call_soon_threadsafe, self._stop, loop))
        work = sweep_forever(), runner.queue.watch(), self._warm()
        self._tasks = [loop.create_task(each) for each in work]
        if self._slack:
            self._slack.start(loop)

    async def _warm(self) -> None:
        """Load what the first message would otherwise wait for, while pages are served already."""
        get_channel_layer().bind()
        await asyncio.to_thread(model_server.load_ahead)
        await model_profiles.refresh_profiles()
        gc.collect()
        gc.freeze()  # the modules: no later search for cycles walks them again

    def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._stopping:  # a second Ctrl-C
            self._server.stop()
            return
        self._stopping = True
        self._tasks.append(loop.create_task(self._drain()))

    async def _drain(self) -> None:
        """Whatever fails on the way, the server stops."""
        try:
            self._unstored = await runner.drain()
            if self._slack:
                await self._slack.close()
            for task in self._tasks:
                if task is not asyncio.current_task():
                    task.cancel()
            await model_server.close_clients()
            if self._embedded:
                self._embedded.stop()
            if self._demo:
                self._demo.stop()
        except Exception:
            log.exception("the end was not in order")
        finally:
            self._server.stop()
