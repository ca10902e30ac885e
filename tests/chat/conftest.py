"""What the tests of the chat share: a person, a conversation, ears for the events, the application
with a scripted model, and a worker.

The models are imported inside: pytest may load this file before Django is set up.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from channels.layers import get_channel_layer
from django.core.cache import cache

from tests.support.server import CeleryProcess
from tests.support.services import free_port

if TYPE_CHECKING:
    from accounts.models import User
    from chat.models import Announcement, Conversation
    from demo.api.server import DemoServer
    from tests.chat.listening import Listener
    from tests.chat.sockets import Chat


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    """Rendered messages are cached by their ids, which every test may give anew; budgets, and
    who is told by push, are kept for two seconds."""
    from accounts.push import forget_tellable
    from chat.html.budget_line import forget_budget_lines
    from spending.limits import forget_budgets

    cache.clear()
    forget_budgets()
    forget_budget_lines()
    forget_tellable()


@pytest.fixture(autouse=True)
def nothing_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test announces something: no page takes a statement, at whatever time, to ask."""
    from accounts.kept import Kept

    kept: Kept[str, list[Announcement]] = Kept()
    kept.keep("all", [])
    monkeypatch.setattr("chat.queries.announcements._kept", kept)


@pytest.fixture(autouse=True)
def what_was_read_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until something changes it: how many statements are counted does not hang on how long a
    test takes."""
    monkeypatch.setattr("accounts.kept.KEPT_SECONDS", 3600.0)


@pytest.fixture(autouse=True)
def nobody_works(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker lives on after the test that asked for it: what the others give away goes to a queue
    that no worker reads, whatever ran before them."""
    if "worker" in request.fixturenames:
        return
    from config.celery import app

    for name, task in app.tasks.items():
        if name.startswith("chat."):
            monkeypatch.setattr(task, "queue", "nobody", raising=False)
            monkeypatch.setattr(task, "_exec_options", None)


@pytest.fixture(autouse=True)
def what_is_kept_of_conversations_is_true(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whoever writes messages moves their conversation's version. Whatever a test has done, what
    this process keeps under a current version is what the database holds."""
    if "transactional_db" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")  # so that it goes after this
    from chat.engine.recent_messages import COLUMNS, RecentMessages, kept, read_recent_messages
    from chat.models import Conversation

    def columns(recent: RecentMessages) -> list[list[object]]:
        return [[getattr(row, name) for name in COLUMNS] for row in recent.rows]

    kept.__init__()  # as a new process: those of earlier tests took 3 ms of each
    yield
    by_id = dict(kept)
    for conversation in Conversation.objects.filter(pk__in=by_id):
        recent = by_id[conversation.pk]
        if (conversation.history_version, conversation.compressed_through_id) == (
            recent.history_version,
            recent.through_id,
        ):
            stored = read_recent_messages([conversation])[conversation.pk]
            assert recent == stored
            assert columns(recent) == columns(stored)


@pytest.fixture
def endless_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted in one minute stays in it, however late the test gets to it."""
    monkeypatch.setattr("chat.services.people.rate_limit.MINUTE", 10**11)


@pytest.fixture
def user(transactional_db: None) -> "User":
    from tests.chat.factories import make_user

    return make_user("ada")


@pytest.fixture
def conversation(user: "User") -> "Conversation":
    """Four short messages: two exchanges."""
    from tests.chat.factories import make_conversation

    return make_conversation(owner=user, messages=4)


@pytest.fixture
def listen() -> "Iterator[Callable[[Conversation], Listener]]":
    """`listen(conversation)`: what goes out to its tabs, and to those of its owner, from now on."""
    from chat.protocol.broadcast import conversation_group, user_group
    from tests.chat.listening import Listener

    listeners: list[Listener] = []

    def start(conversation: "Conversation") -> Listener:
        groups = conversation_group(conversation.pk), user_group(conversation.owner_id)
        listeners.append(Listener(*groups))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.close()


# --- The application with a scripted model --------------------------------------------------------


@pytest.fixture(scope="session")
def model_port() -> int:
    """Where the scripted model server of every test listens: all that a worker process knows."""
    return free_port()


@pytest.fixture
def model_server(model_port: int, settings: Any) -> "Iterator[DemoServer]":
    """A running scripted server, which the site is pointed at. In the end its script has to be
    done: nothing unused, nothing unexpected, no rule of the API broken."""
    from demo.api.server import DemoServer
    from tests.chat.sockets import MODELS

    settings.MODEL_RETRIES = 0
    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{model_port}"
    with DemoServer(models=MODELS, port=model_port) as server:
        yield server
    server.script.assert_done()


@pytest.fixture
def signed_in(user: "User", settings: Any, model_port: int) -> tuple["Conversation", str]:
    """A conversation of four short messages, and its owner's session cookie."""
    from tests.chat.factories import make_conversation, make_profile
    from tests.chat.sockets import MAX_OUTPUT, PLAIN, WINDOW, sign_in

    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{model_port}"
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT)
    # Named by its owner, so no title is asked for.
    conversation = make_conversation(
        owner=user, messages=4, title_edited=True, compaction_settings=PLAIN
    )
    return conversation, sign_in(user)


@pytest.fixture
def worker_done(transactional_db: None, request: pytest.FixtureRequest) -> Iterator[None]:
    """In the end the worker process, where there is one, has done what it was given: a transaction
    of it would be in the way of emptying PostgreSQL's tables."""
    from celery.signals import after_task_publish

    given: list[str] = []

    def note(headers: dict[str, Any], **_: object) -> None:
        if headers["eta"] is None:
            given.append(headers["id"])

    after_task_publish.connect(note)
    yield
    after_task_publish.disconnect(note)
    worker = request.getfixturevalue("worker") if "worker" in request.fixturenames else None
    if isinstance(worker, CeleryProcess):
        for task in given:
            worker.wait_for_log(rf"{task}\] (succeeded|raised)")


@pytest.fixture
async def chat(
    model_server: "DemoServer", signed_in: tuple["Conversation", str], worker_done: None
) -> "AsyncIterator[Chat]":
    """The site in the test's loop, with a person who is signed in and has a conversation."""
    from chat.db.threads import THREADS, in_db
    from chat.engine import model_server as llm
    from chat.live.runner import runner
    from tests.chat.sockets import Chat

    conversation, cookie = signed_in
    made = Chat(conversation.owner, conversation, model_server, cookie)
    yield made
    try:
        for tab in made.tabs:
            await tab.close()
    finally:
        await runner.queue.close()
        tasks = [live.task for live in runner._live.values()]
        tasks += [runner._watching, runner._listening]
        for task in filter(None, tasks):
            task.cancel()
        await asyncio.gather(*filter(None, tasks), return_exceptions=True)
        # A cancelled task leaves its thread at work, which sends its events through this loop.
        all_there = threading.Barrier(THREADS)
        await asyncio.gather(*(in_db(all_there.wait) for _ in range(THREADS)))
        runner.__init__()  # type: ignore[misc]  # as a new process
        await llm.close_clients()
        if "flush" in get_channel_layer().extensions:
            await get_channel_layer().flush()


@pytest.fixture(scope="session")
def worker(
    django_db_setup: None,
    model_port: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """A Celery worker: as `manage.py serve` embeds it, or a process of its own where there is
    Redis."""
    from django.conf import settings

    if not settings.SCALED:
        from chat.live.embedded_worker import EmbeddedWorker

        embedded = EmbeddedWorker()
        embedded.start()
        yield embedded
        embedded.stop()
        return
    process = CeleryProcess(
        tmp_path_factory.mktemp("worker"),
        DATABASE_URL=url_of_test_database(),
        ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model_port}",
        MODEL_RETRIES="0",
    ).start()
    yield process
    process.stop()


def url_of_test_database() -> str:
    """The URL of the database that the tests of this run use."""
    from urllib.parse import urlsplit

    from django.db import connection

    name = connection.settings_dict["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
