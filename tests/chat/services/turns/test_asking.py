"""Who may ask a model: every way to a call asks whether the model may answer, and what a user
causes is counted for them."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.test import Client

from accounts.models import GroupPolicy, User
from agent.compaction.chapters.gaps import GAP
from agent.compaction.policy import Origin, Trigger
from chat import tasks
from chat.db.threads import in_db
from chat.engine.rights import NOT_OFFERED, SWITCHED_OFF
from chat.engine.state import load_state
from chat.errors import Refused
from chat.live import enqueuing
from chat.models import Compaction, Conversation, Message, ModelProfile, Turn
from chat.services.summary import gaps, preparations, rewrites, summaries
from chat.services.turns import branches
from chat.tools import memory
from config.celery import app
from demo.api.protocol import tool_use
from demo.api.server import DemoServer
from tests.chat.factories import (
    HOLDER,
    MODEL,
    make_compaction,
    make_conversation,
    make_profile,
    set_policy,
    work,
)
from tests.chat.sockets import MAX_OUTPUT, PLAIN, SUMMARY, WINDOW, Chat, long_text

pytestmark = pytest.mark.on_both

ROOM = site.BASE_DIR / "chat"
# Who asks a server of models, and who hands out work that does; each asks there, or lists
# models, which costs nothing. Another module belongs here with the test that it asks too.
CLIENTS = {
    "jobs/summary.py",
    "jobs/title.py",
    "live/answer.py",
    "engine/model_server.py",
    "services/site/model_profiles.py",
    "services/site/providers.py",
}
QUEUES = {
    "admin/actions.py",
    "api/imports.py",  # a process that stores
    "live/budget_news.py",  # mail
    "live/enqueuing.py",
    "live/follow_up.py",
    "live/sweeping.py",  # scheduled prompts go into a conversation's queue, whose turn asks
    "live/waiting.py",
    "tasks.py",
    "web/imports.py",
}


def switch_off() -> None:
    ModelProfile.objects.update(enabled=False)


def take_away() -> None:
    for user in User.objects.all():
        set_policy(user, model_names=["another"])


def give_back() -> None:
    ModelProfile.objects.update(enabled=True)
    for policy in GroupPolicy.objects.all():
        policy.delete()


# How a model comes not to answer any more, and what is said then.
BARS = {"switched off": (switch_off, SWITCHED_OFF), "not theirs": (take_away, NOT_OFFERED)}
of_both = pytest.mark.parametrize(("bar", "words"), BARS.values(), ids=BARS)


@pytest.fixture
def talk(user: User) -> Conversation:
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT)
    return make_conversation(
        owner=user,
        messages=[long_text(number) for number in range(1, 9)],
        compaction_settings={**PLAIN, "idle_ratio": 0.1},
        title_edited=False,
    )


def compact(talk: Conversation) -> Callable[[], Any]:
    version = make_compaction(talk, through=4)
    Turn.objects.all().delete()
    pk = rewrites.begin_rewrite(version.pk)
    return lambda: tasks.compact(pk)


def use_pause(talk: Conversation) -> Callable[[], Any]:
    head = talk.messages.order_by("-number")[0].number
    return lambda: tasks.use_pause(str(talk.pk), head)


def rebuild(talk: Conversation) -> Callable[[], Any]:
    make_compaction(talk, through=4)
    Turn.objects.all().delete()
    branches.delete_message(talk.owner, talk.pk, talk.messages.get(number=2).pk)
    return lambda: tasks.rebuild(str(talk.pk))


def suggest_title(talk: Conversation) -> Callable[[], Any]:
    return lambda: tasks.suggest_title(str(talk.pk))


ASKING = {each.__name__: each for each in (compact, use_pause, rebuild, suggest_title)}
NOT_ASKING = {"mail_schedule", "send_scheduled", "mail_budget", "push_end", "run_imports"}


def test_every_task_is_tried_here() -> None:
    ours = {name.removeprefix("chat.tasks.") for name in app.tasks if name.startswith("chat.")}
    assert ours - NOT_ASKING == ASKING.keys()


@of_both
@pytest.mark.parametrize("name", ASKING)
def test_a_task_asks_no_model_that_is_barred(
    talk: Conversation, model_server: DemoServer, name: str, bar: Callable[[], None], words: str
) -> None:
    model_server.script.reply(SUMMARY, always=True)
    run = ASKING[name](talk)
    bar()
    run()
    assert model_server.script.requests == []
    give_back()
    if name == "compact":  # what has failed stays so
        assert Compaction.objects.latest("pk").error
        run = lambda: work(rewrites.begin_rewrite(talk.compactions.first().pk))  # noqa: E731
    run()
    assert model_server.script.requests != [], "it would have asked"


def calls(path: Path) -> Iterator[str]:
    """The names of the functions that a module calls."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).rpartition(".")[2]


def test_no_other_module_asks_a_model_or_has_one_asked() -> None:
    clients, queues = set(), set()
    for path in ROOM.rglob("*.py"):
        called = {*calls(path)}
        if called & {"new_client", "find_client", "get_client", "Client"}:
            clients.add(str(path.relative_to(ROOM)))
        if called & {"put_in_queue", "enqueue", "delay", "apply_async", "delay_on_commit"}:
            queues.add(str(path.relative_to(ROOM)))
    assert (clients, queues) == (CLIENTS, QUEUES)


# --- A model that may not answer ------------------------------------------------------------------


@of_both
async def test_a_model_that_is_barred_takes_no_message_and_the_page_says_what_to_do(
    chat: Chat, bar: Callable[[], None], words: str
) -> None:
    await chat.start(4)
    tab = await chat.open()
    await in_db(make_profile)
    await in_db(make_profile, "another")
    await in_db(bar)
    await in_db(ModelProfile.objects.filter(name="another").update, enabled=True)
    head = (await chat.last()).number
    tab.say("Still there?")
    refused = await tab.next("error")
    assert (refused["code"], refused["message"]) == ("model_off", words)
    messages = Message.objects.filter(conversation=chat.conversation).order_by("number")
    first, answer = await in_db(lambda: list(messages[:2]))
    for address in (f"{first.pk}/edit", f"{answer.pk}/regenerate"):
        response = await chat.http.post(
            f"/c/{chat.conversation.pk}/messages/{address}/", {"text": "Anew"}
        )
        assert (response.status_code, response.content.decode()) == (422, words)
    await in_db(messages.filter(number=head).update, status=Message.Status.INTERRUPTED)
    response = await chat.http.post(f"/c/{chat.conversation.pk}/retry/")
    assert (response.status_code, response.content.decode()) == (409, words)
    assert (await chat.last()).number == head
    page = (await chat.http.get(chat.conversation.get_absolute_url())).content.decode()
    assert re.search(r'id="model-off"[^>]*>' + re.escape(words), page)
    assert chat.script.requests == []
    response = await chat.http.post(f"/c/{chat.conversation.pk}/model/", {"model": "another"})
    assert response.status_code == 204
    page = (await chat.http.get(chat.conversation.get_absolute_url())).content.decode()
    assert 'id="model-off"' not in page


@of_both
async def test_a_model_that_is_barred_within_a_turn_gets_no_further_round(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, bar: Callable[[], None], words: str
) -> None:
    await chat.start(2)
    await in_db(make_profile)
    chat.script.reply([tool_use("recall", {}, "toolu_1")])

    def recall(*_: Any) -> list[Any]:
        bar()
        return []

    monkeypatch.setattr(memory, "_recall", recall)
    tab = await chat.open()
    tab.say("What do you know?")
    finished = await tab.next("turn.finished", status="failed")
    error = finished["error"]
    assert (error["code"], error["message"]) == ("unknown_model", words)
    assert len(chat.script.requests) == 1


@of_both
def test_no_summary_is_asked_of_a_model_that_is_barred(
    talk: Conversation, bar: Callable[[], None], words: str
) -> None:
    version = make_compaction(talk, through=2)
    Turn.objects.all().delete()
    bar()
    for ask in (
        lambda: summaries.open_compaction_turn(talk.owner, talk.pk, focus="", holder=HOLDER),
        lambda: rewrites.begin_rewrite(version.pk),
    ):
        with pytest.raises(Refused) as refused:
            ask()
        assert (refused.value.code, refused.value.message) == ("model_off", words)
    assert preparations._begin(load_state(talk.pk), Trigger.PREPARED) is None


def test_a_window_that_is_too_small_to_be_offered_is_no_switch(user: User) -> None:
    profile = make_profile(context_window=8_000, enabled=False)  # as a refresh leaves it
    assert not profile.is_switched_off
    profile.edited = True
    assert profile.is_switched_off


def test_the_way_out_of_a_model_that_is_switched_off_is_open(user: User) -> None:
    make_profile("large", context_window=200_000, max_output=MAX_OUTPUT, enabled=False)
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT)
    messages = [long_text(number) for number in range(1, 13)]
    talk = make_conversation(owner=user, model="large", messages=messages)
    begun = summaries.switch_model(talk, MODEL, holder=HOLDER)
    assert begun is not None
    assert Compaction.objects.get(pk=begun.compaction_id).model == MODEL


# --- Rebuilds -------------------------------------------------------------------------------------


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is handed to the workers, and not done."""
    handed: list[Any] = []

    def put(task: Any, *args: Any, countdown: float | None = None) -> bool:
        handed.append(task.name)
        return True

    monkeypatch.setattr(enqueuing, "put_in_queue", put)
    return handed


def leave_out(talk: Conversation, change: str = "leave-out") -> Any:
    client = Client()
    client.force_login(talk.owner)
    message = talk.messages.get(number=2).pk
    url = f"/c/{talk.pk}/messages/{message}/leave-out/"
    response = client.post(url, {"change": change})
    assert response.status_code == 204
    return response


def test_quick_changes_are_one_rebuild_that_begins_after_the_last(
    talk: Conversation,
    queued: list[Any],
    model_server: DemoServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model_server.script.reply(SUMMARY, always=True)
    make_compaction(talk, through=4)
    Turn.objects.all().delete()
    for change in ("leave-out", "put-back") * 5:
        leave_out(talk, change)
    assert queued == ["chat.tasks.rebuild"]
    tasks.rebuild(str(talk.pk))
    assert model_server.script.requests == [], "the last change was just now"
    leave_out(talk)
    assert len(queued) == 1
    monkeypatch.setattr(gaps, "REBUILD_DELAY", -1.0)  # and some time passes
    tasks.rebuild(str(talk.pk))
    assert talk.compactions.filter(origin=Origin.REBUILT).count() == 1
    leave_out(talk, "put-back")
    assert len(queued) == 2


def test_above_the_limit_a_change_is_made_and_paid_for_after_the_next_turn(
    talk: Conversation, queued: list[Any], model_server: DemoServer, settings: Any
) -> None:
    make_compaction(talk, through=4)
    Turn.objects.all().delete()
    settings.MESSAGES_PER_MINUTE = 0
    response = leave_out(talk)
    assert "after your next message" in response["HX-Trigger"]
    assert talk.messages.filter(left_out=True).count() == 1
    assert queued == []
    tasks.rebuild(str(talk.pk))  # asked for before the limit was reached
    talk.refresh_from_db()
    assert GAP in talk.compressed_context
    assert model_server.script.requests == []
    assert gaps.has_gap(load_state(talk.pk)), "so the end of the next turn asks again"


@pytest.mark.usefixtures("endless_minute")
def test_a_rebuild_counts_for_its_user_like_an_answer(
    talk: Conversation, model_server: DemoServer, settings: Any
) -> None:
    settings.MESSAGES_PER_MINUTE = 1
    model_server.script.reply(SUMMARY, always=True)
    make_compaction(talk, through=2)
    make_compaction(talk, through=4)
    Turn.objects.all().delete()
    for number in (1, 3):
        branches.delete_message(talk.owner, talk.pk, talk.messages.get(number=number).pk)
    tasks.rebuild(str(talk.pk))
    rebuilt = talk.compactions.filter(origin=Origin.REBUILT)
    assert rebuilt.count() == 1, "of two"
