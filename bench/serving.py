"""Everlong in a process of its own, on data that only the benchmark uses."""

import gc
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.processes import ROOT
from bench.talkers import MODEL

# Settings without the limits that would get in a benchmark's way.
ENVIRONMENT = {
    "REDIS_URL": "",
    "ANTHROPIC_API_KEY": "bench",
    "DEFAULT_MODEL": MODEL,
    "MESSAGES_PER_MINUTE": "1000000",
    "TURNS_AT_ONCE": "1000000",
    "SECRET_KEY": "only-for-benchmarks",
    "LOG_LEVEL": "WARNING",
    "MALLOC_ARENA_MAX": "2",  # as the Makefile and the Dockerfile have it
}


def start_postgresql(stack: ExitStack) -> str:
    """The URL of a new server's database, which ends with the stack."""
    from tests.support.services import start_own_postgres

    server = start_own_postgres()
    stack.callback(server.stop)
    return server.url


@contextmanager
def load_django_site(database_url: str = "") -> Iterator[Path]:
    """A data directory with Django loaded on it in this process, and a migrated database: a new
    SQLite one, or an empty one of that URL. Once per process: Django reads its settings once."""
    with TemporaryDirectory(prefix="everlong-bench-") as name:
        directory = Path(name)
        os.environ.update(ENVIRONMENT)
        os.environ["DATA_DIR"] = name
        default = f"sqlite:///{directory / 'everlong.sqlite3'}"
        os.environ["DATABASE_URL"] = database_url or default
        os.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"  # nobody asks from here
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        vocabulary = ROOT / "var" / "tiktoken"
        if vocabulary.exists():
            shutil.copytree(vocabulary, directory / "tiktoken")
        import django
        from django.core.management import call_command
        from django.db import connections

        django.setup()
        call_command("migrate", verbosity=0)
        gc.set_threshold(50_000, 20, 20)  # as manage.py does, and below as `serve`
        gc.collect()
        gc.freeze()
        yield directory
        connections.close_all()


def collect_static() -> None:
    """What a server needs beside the database; compressing takes seconds."""
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0)


@contextmanager
def serve_site(directory: Path, provider_url: str) -> Iterator[Any]:
    """The server on that data, which asks that provider; gives the process (`url`, `pid`), and in
    `start_s` the seconds until it answered."""
    from tests.support.server import EverlongProcess

    environment = ENVIRONMENT | {
        "DATA_DIR": os.environ["DATA_DIR"],
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "ANTHROPIC_BASE_URL": provider_url,
    }
    server: Any = EverlongProcess(directory, directory, **environment)
    began = time.monotonic()
    server.start()
    server.start_s = time.monotonic() - began
    try:
        yield server
    finally:
        server.stop()


def make_chats(number: int, *, begun: bool) -> list[tuple[str, str]]:
    """Conversations of as many users: id and session key each. `begun`: with an exchange, so
    that no title is asked for."""
    from django.test import Client

    from accounts.models import User
    from chat.models import Conversation, Message

    chats = []
    for index in range(number):
        user = User.objects.create(username=f"bench{User.objects.count()}-{index}")
        conversation = Conversation.objects.create(owner=user, model=MODEL)
        if begun:
            Message.objects.bulk_create(_exchange(conversation))
            Conversation.objects.filter(pk=conversation.pk).update(next_number=3, title="Begun")
        client = Client()
        client.force_login(user)
        chats.append((str(conversation.pk), str(client.session.session_key)))
    return chats


def _exchange(conversation: Any) -> list[Any]:
    from chat.models import Message

    texts = {"user": "Why is the sky blue?", "assistant": "Air scatters short waves most."}
    return [
        Message(
            conversation=conversation,
            number=position + 1,
            position=position,
            role=role,
            blocks=[{"type": "text", "text": text}],
            text=text,
            tokens=12,
        )
        for position, (role, text) in enumerate(texts.items())
    ]


def list_addresses(server: Any, chats: Sequence[tuple[str, str]]) -> list[list[str]]:
    """What the web talker connects to: [websocket URL, origin, cookie] each."""
    socket = server.url.replace("http", "ws", 1)
    return [
        [f"{socket}/ws/conversations/{pk}/", server.url, f"{server.cookie('session')}={key}"]
        for pk, key in chats
    ]
