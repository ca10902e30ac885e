"""One limit for all that asks a model: no entry goes around it, and a refusal changes nothing."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from inspect import iscoroutinefunction
from typing import Any, get_args

import pytest
from django.conf import settings
from django.db import connection
from django.test import AsyncClient, Client
from django.urls import resolve

from accounts.models import User
from agent.compaction.policy import Origin
from chat.db.threads import in_db
from chat.errors import Refused
from chat.models import Message, Turn
from chat.protocol.frames import Frame, parse_frame
from chat.services.people import rate_limit
from chat.services.summary import rewrites
from tests.chat.addresses import templates
from tests.chat.factories import (
    HOLDER,
    change_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
)
from tests.chat.sockets import PLAIN, Chat, long_text, sign_in

SMALL = "small-model"
# Every address that begins a turn. A new one belongs here, and is counted by `begin_turn`.
STARTS = {
    "conversation_create",
    "conversation_retry",
    "conversation_model",
    "message_edit",
    "message_regenerate",
    "admin:chat_compaction_changelist",
}
# What is queued is counted when it goes out: `chat.services.turns.queue_sending.begin_queued`.
FRAMES: dict[str, dict[str, Any]] = {
    "SendMessage": {"type": "message.send", "client_id": "a", "text": "Hello"},
    "Compact": {"type": "compact"},
    "StopTurn": {"type": "turn.stop"},
    "CancelCompaction": {"type": "compact.cancel"},
    "DecideCall": {"type": "tool.decide", "turn_id": 1, "id": "toolu_1", "decision": "deny"},
    "AddToQueue": {"type": "queue.add", "client_id": "q", "text": "And then?"},
    "EditQueued": {"type": "queue.edit", "id": 1, "text": "And now?"},
    "RemoveQueued": {"type": "queue.remove", "id": 1},
    "SendQueuedNow": {"type": "queue.now", "id": 1},
    "ResumeQueue": {"type": "queue.resume"},
    "Sync": {"type": "sync"},
    "Ping": {"type": "ping"},
}


def all_rows() -> list[list[tuple[Any, ...]]]:
    """What is stored, table by table."""
    with connection.cursor() as cursor:
        rows = []
        for table in sorted(connection.introspection.table_names()):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows.append(cursor.fetchall())
    return rows


class Site:
    """What every entry needs to begin a turn: an administrator's long conversation whose summary
    can be written again, whose last answer can be retried, and that a smaller model cannot take."""

    def __init__(self) -> None:
        self.user = make_user(admin=True)
        self.cookie = sign_in(self.user)
        make_profile(SMALL, context_window=16_000, max_output=1_024)
        make_profile("large-model", context_window=200_000)
        self.talk = make_conversation(
            owner=self.user,
            model="large-model",
            messages=[long_text(number) for number in range(1, 15)],
            compaction_settings=PLAIN | {"keep_recent_messages": 2},
        )
        self.version = make_compaction(self.talk, through=2)
        Turn.objects.all().update(status=Turn.Status.COMPLETED)
        last = self.talk.messages.order_by("-position")[:1].get()
        change_messages(Message.objects.filter(pk=last.pk), status=Message.Status.INTERRUPTED)
        self.messages = list(self.talk.messages.order_by("position")[4:6])
        self._rows = all_rows()

    def path(self, template: str, message: int) -> str:
        """An address with what it names; the message is the person's (0) or the model's (1)."""
        named = {
            "uuid": self.talk.pk,
            "int:message": self.messages[message].pk,
            "int:version": self.version.pk,
            "path:object_id": self.version.pk,
        }
        return re.sub(
            "<((.+?):.+?)>", lambda each: str(named.get(each[1]) or named.get(each[2], 1)), template
        )

    def has_begun(self) -> bool:
        """Whether anything was begun that asks a model, since it was made."""
        turns = Turn.objects.filter(conversation__owner=self.user).exclude(holder=HOLDER)
        again = self.talk.compactions.filter(origin=Origin.REWRITE)
        return turns.exists() or again.exists()

    def has_changed(self) -> bool:
        """Whether anything at all is stored in another way since it was made."""
        return all_rows() != self._rows

    @property
    def form(self) -> dict[str, Any]:
        chosen = {"action": "rerun", "_selected_action": str(self.version.pk), "confirmed": "1"}
        return chosen | {"model": SMALL, "text": "Hello"}


async def ask(site: Site, method: str, path: str) -> Any:
    """The answer to a request. Views that are no coroutines are asked in a thread: through the
    asynchronous client each middleware waits for one, 5 ms in all."""
    kind = AsyncClient if iscoroutinefunction(resolve(path).func) else Client
    client = kind(raise_request_exception=False)
    client.cookies[settings.SESSION_COOKIE_NAME] = site.cookie
    request = getattr(client, method)
    return await (
        request(path, site.form) if kind is AsyncClient else in_db(request, path, site.form)
    )


@contextmanager
def commits() -> Iterator[Callable[[], Any]]:
    """What is another value whenever something was stored, as SQLite tells other connections."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        yield lambda: other.execute("PRAGMA data_version").fetchone()


async def starting(chat: Chat) -> tuple[set[str], set[str]]:
    """The names of the pages' addresses that begin a turn when they are asked for everything, and
    of those that answer with a limit. The API's are in tests/chat/api."""
    begun, limited = set(), set()
    site = await in_db(Site)
    with commits() as stored:
        seen = stored()
        pages = [each for each in templates() if not each[0].startswith("api:")]
        for name, template in pages:
            both = [("get", 0), ("post", 0), ("post", 1)]
            for method, message in both if "<int:message>" in template else both[:2]:
                response = await ask(site, method, site.path(template, message))
                if response.status_code == 429:
                    assert int(response["Retry-After"]) > 0
                    limited.add(name)
                if stored() == seen:
                    continue
                seen = stored()
                if await in_db(site.has_begun):
                    begun.add(name)
                succeeded = method == "post" and response.status_code < 400
                if succeeded and await in_db(site.has_changed):
                    site = await in_db(Site)
                    seen = stored()
    return begun, limited


async def test_no_address_asks_a_model_without_being_counted(chat: Chat, settings: Any) -> None:
    settings.MESSAGES_PER_MINUTE = 0
    begun, limited = await starting(chat)
    assert begun == set()
    assert limited == STARTS - {"admin:chat_compaction_changelist"}  # which tells in its list
    assert chat.script.requests == []


async def test_the_walk_finds_every_address_that_asks_a_model(chat: Chat, worker: Any) -> None:
    chat.script.error(529, always=True)
    begun, limited = await starting(chat)
    assert (begun, limited) == (STARTS, set())


@pytest.mark.on_both
async def test_no_frame_asks_a_model_without_being_counted(chat: Chat, settings: Any) -> None:
    assert {type(parse_frame(json.dumps(frame))).__name__ for frame in FRAMES.values()} == {
        kind.__name__ for kind in get_args(Frame)
    }
    settings.MESSAGES_PER_MINUTE = 0
    await chat.start([long_text(number) for number in range(1, 9)])
    tab = await chat.open()
    refusals = {}
    for name, frame in FRAMES.items():
        tab.send_raw(json.dumps(frame))
        if name in ("SendMessage", "Compact"):
            refusals[name] = await tab.next("error")
    tab.send_raw(json.dumps(FRAMES["SendMessage"] | {"as_branch": True, "expected_head": 8}))
    refusals["as_branch"] = await tab.next("error", code="rate_limited")
    assert {each["code"] for each in refusals.values()} == {"rate_limited"}
    assert all(0 < each["retry_after"] <= 60 and each["retryable"] for each in refusals.values())
    assert (await tab.sync())["head"] == 8
    assert not await in_db(Turn.objects.exists)
    assert chat.script.requests == []


@pytest.mark.on_both
async def test_retries_and_messages_share_one_count(chat: Chat, settings: Any) -> None:
    settings.MESSAGES_PER_MINUTE = 2
    chat.script.error(529, always=True)
    tab = await chat.open()
    statuses = []
    tab.say("Hello")
    await tab.next("turn.finished")
    for _ in range(4):  # a minute may begin in between
        response = await chat.http.post(f"/c/{chat.conversation.pk}/retry/")
        statuses.append(response.status_code)
        if response.status_code == 204:
            await tab.next("turn.finished")
    assert 429 in statuses
    assert "try again in" in response.content.decode() or statuses[-1] == 204


@pytest.mark.on_both
async def test_a_refused_switch_of_models_leaves_the_model(chat: Chat, settings: Any) -> None:
    settings.MESSAGES_PER_MINUTE = 0
    site = await in_db(Site)
    client = AsyncClient()
    client.cookies[settings.SESSION_COOKIE_NAME] = site.cookie
    response = await client.post(f"/c/{site.talk.pk}/model/", {"model": SMALL})
    assert response.status_code == 429
    await in_db(site.talk.refresh_from_db)
    assert site.talk.model == "large-model"


@pytest.mark.on_both
@pytest.mark.django_db(transaction=True)
def test_only_so_many_answers_are_written_at_once(user: User, settings: Any) -> None:
    settings.TURNS_AT_ONCE = 2
    for _ in range(2):
        rate_limit.count_turn(user.pk)
        make_turn(make_conversation(owner=user))
    with pytest.raises(Refused) as refused:
        rate_limit.count_turn(user.pk)
    assert (refused.value.code, refused.value.retry_after) == ("rate_limited", 10)
    assert "2 answers" in refused.value.message
    rate_limit.count_turn(make_user().pk)


@pytest.mark.on_both
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("endless_minute")
def test_an_administrator_is_counted_for_what_they_have_written_again(
    user: User, settings: Any
) -> None:
    settings.MESSAGES_PER_MINUTE = 1
    talk = make_conversation(owner=user, messages=8)
    version = make_compaction(talk)
    Turn.objects.all().delete()
    administrator = make_user(admin=True)
    rate_limit.count_turn(administrator.pk)
    with pytest.raises(Refused):
        rewrites.begin_rewrite(version.pk, by=administrator.pk)
    assert rewrites.begin_rewrite(version.pk)
