"""What a person's groups take away ends soon, also where it has begun.

`tests/chat/services/turns/test_asking.py` has all ways to a model; this file has the tools, what
streams or is written just then, and what was chosen before.
"""

import asyncio
from functools import partial
from typing import Any

import pytest

from accounts import policies
from accounts.models import GroupPolicy, User
from chat.db.threads import in_db
from chat.engine.rights import NOT_OFFERED
from chat.errors import Refused
from chat.models import Compaction, Conversation, Message, ModelProfile
from chat.services.library import projects
from chat.services.library.conversations import create_conversation
from chat.services.summary import compaction_jobs, summaries
from chat.services.turns import requests
from chat.tools import memory
from demo.api.protocol import tool_use
from tests.chat.factories import (
    HOLDER,
    MODEL,
    change_messages,
    make_conversation,
    make_profile,
    set_policy,
    work,
)
from tests.chat.sockets import MAX_OUTPUT, PLAIN, SUMMARY, WINDOW, Chat, long_text

pytestmark = pytest.mark.on_both


def take_away_elsewhere(user: User, **policy: Any) -> None:
    """As another process does: this one hears nothing of it, and its two seconds are over."""
    set_policy(user)
    GroupPolicy.objects.update(**policy)
    policies._kept.forget(user.pk)


# --- Models ---------------------------------------------------------------------------------------


async def test_an_answer_that_streams_stops_when_its_model_is_taken_away(chat: Chat) -> None:
    chat.script.stall("What I had said so far")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.delta")
    await in_db(take_away_elsewhere, chat.user, model_names=[])
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)
    await tab.next("turn.finished", status="cancelled")
    assert (await chat.last()).text == "What I had said so far"


async def test_what_another_process_took_away_stops_the_next_round(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recall(*_: Any) -> list[Any]:
        take_away_elsewhere(chat.user, model_names=["another"])
        return []

    monkeypatch.setattr(memory, "_recall", recall)
    chat.script.reply([tool_use("recall", {}, "toolu_1")])
    tab = await chat.open()
    tab.say("What do you know?")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["message"] == NOT_OFFERED
    assert len(chat.script.requests) == 1


async def test_the_model_of_a_single_turn_is_asked_about_too(chat: Chat) -> None:
    await in_db(make_profile, "other")
    answer = await chat.last()
    address = f"/c/{chat.conversation.pk}/messages/{answer.pk}/regenerate/"
    await in_db(set_policy, chat.user, model_names=[MODEL])
    assert (await chat.http.post(address, {"model": "other"})).status_code == 422
    await in_db(set_policy, chat.user, model_names=["other"])
    assert (await chat.http.post(address)).status_code == 422
    chat.script.reply("The other one.")
    tab = await chat.open()
    assert (await chat.http.post(address, {"model": "other"})).status_code == 204
    await tab.next("turn.finished", status="completed")
    await in_db(set_policy, chat.user, model_names=[MODEL])
    last = Message.objects.filter(pk=(await chat.last()).pk)
    await in_db(change_messages, last, status=Message.Status.INTERRUPTED)
    with pytest.raises(Refused, match="may not use"):  # again, by the model of that turn
        await in_db(requests.retry, chat.conversation, holder=HOLDER)


async def test_a_summary_that_is_being_written_ends_when_the_model_is_taken_away(
    chat: Chat,
) -> None:
    await chat.start([long_text(number) for number in range(1, 9)])
    begun = await in_db(
        summaries.open_compaction_turn, chat.user, chat.conversation.pk, focus="", holder=HOLDER
    )
    assert await in_db(compaction_jobs.claim, begun.compaction_id, 1)
    await in_db(take_away_elsewhere, chat.user, model_names=[])
    assert not await in_db(compaction_jobs.is_wanted, begun.compaction_id)
    ended = await in_db(Compaction.objects.get, pk=begun.compaction_id)
    assert ended.status == Compaction.Status.CANCELLED


@pytest.fixture
def long_talk(user: User) -> Conversation:
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT)
    messages = [long_text(number) for number in range(1, 9)]
    return make_conversation(owner=user, messages=messages, compaction_settings=PLAIN)


def test_nobody_needs_a_right_for_the_model_that_writes_the_sites_summaries(
    long_talk: Conversation, model_server: Any, settings: Any
) -> None:
    settings.SUMMARY_MODEL = "for-summaries"
    compact = partial(summaries.open_compaction_turn, long_talk.owner, long_talk.pk)
    set_policy(long_talk.owner, model_names=["for-summaries"])
    with pytest.raises(Refused, match="may not use"):  # the conversation's own does need one
        compact(focus="", holder=HOLDER)
    set_policy(long_talk.owner, model_names=[MODEL])
    model_server.script.reply(SUMMARY, always=True)
    begun = compact(focus="", holder=HOLDER)
    work(begun.compaction_id)
    written = Compaction.objects.get(pk=begun.compaction_id)
    assert (written.status, written.model) == (Compaction.Status.COMPLETED, "for-summaries")


def test_a_switch_of_models_compacts_with_the_new_one_where_the_old_one_was_taken_away(
    user: User,
) -> None:
    make_profile("large", context_window=200_000, max_output=MAX_OUTPUT)
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT)
    messages = [long_text(number) for number in range(1, 13)]
    talk = make_conversation(owner=user, model="large", messages=messages)
    set_policy(user, model_names=[MODEL])
    begun = summaries.switch_model(talk, MODEL, holder=HOLDER)
    assert begun is not None
    assert Compaction.objects.get(pk=begun.compaction_id).model == MODEL


def test_a_projects_model_that_is_not_ones_own_to_use_is_no_default(
    user: User, settings: Any
) -> None:
    settings.DEFAULT_MODEL = "of-site"
    for name in ("of-site", "of-project", "posted"):
        make_profile(name)
    project = projects.create_project(user, "Garden")
    projects.change_project(project, {"model": "of-project"})
    assert create_conversation(user, project=project).model == "of-project"
    set_policy(user, model_names=["of-site"])
    assert create_conversation(user, project=project).model == "of-site"
    assert create_conversation(user, "posted", project=project).model == "of-site"


# --- Tools ----------------------------------------------------------------------------------------


def names(chat: Chat, request: int) -> set[str]:
    return {tool["name"] for tool in chat.script.requests[request].body.get("tools", ())}


async def test_a_request_declares_the_tools_of_ones_groups_alone(chat: Chat) -> None:
    await in_db(Conversation.objects.update, tool_settings={"web": True})
    await in_db(ModelProfile.objects.update, web_tools=True)
    tab = await chat.open()
    for allowed in (None, ["history"], ["web"], []):
        await in_db(set_policy, chat.user, tool_groups=allowed)
        chat.script.reply("Hello.")
        tab.say("Hello")
        await tab.next("turn.finished", status="completed")
    compact = {"compact_context"}  # is no group's: without it a long turn could not go on
    of_history, of_web = {"search_history", "read_messages"}, {"web_search", "web_fetch"}
    assert names(chat, 0) == compact | of_history | of_web | {"remember", "recall", "forget"}
    assert names(chat, 1) == compact | of_history
    assert names(chat, 2) == compact | of_web
    assert names(chat, 3) == compact


async def test_a_call_of_a_tool_that_was_taken_away_meanwhile_is_an_error(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recall(*_: Any) -> list[Any]:
        take_away_elsewhere(chat.user, tool_groups=["history"])
        return []

    monkeypatch.setattr(memory, "_recall", recall)
    chat.script.reply([tool_use("recall", {}, "toolu_1")])
    chat.script.reply([tool_use("recall", {}, "toolu_2")]).reply("Then not.")
    tab = await chat.open()
    tab.say("What do you know?")
    await tab.next("turn.finished", status="completed")
    assert "recall" in names(chat, 0)
    assert "recall" not in names(chat, 1)
    result = str(chat.script.requests[2].messages[-1])  # as text: the tool is not declared any more
    assert "There is no tool 'recall'" in result


async def test_the_panel_offers_the_tools_of_ones_groups_and_leaves_the_others_as_they_are(
    chat: Chat,
) -> None:
    stored = {"off": ["history"], "mcp": ["library"]}
    await in_db(Conversation.objects.update, tool_settings=stored)
    await in_db(set_policy, chat.user, tool_groups=["memory"], mcp_servers=[])
    address = f"/c/{chat.conversation.pk}/tools/"
    page = (await chat.http.get(address)).content.decode()
    assert 'value="memory"' in page
    assert 'value="history"' not in page
    assert (await chat.http.post(address, {"tools": ""})).status_code == 204
    row = await in_db(Conversation.objects.get, pk=chat.conversation.pk)
    assert row.tool_settings == {"off": ["history", "memory"], "mcp": ["library"]}
