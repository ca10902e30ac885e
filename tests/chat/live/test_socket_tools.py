"""Turns that use tools, as their tabs see them: what is sent, stored and shown."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pytest_django import Settings

from agent.errors import ToolError
from agent.loop import CALLS_AT_ONCE, RunnableTool, run_calls
from agent.search.lexical import parse_query
from agent.tools import Tool
from chat import metrics
from chat.db.threads import TOOL_THREADS, in_db, in_tool_db
from chat.engine import tools
from chat.html.message import render_message
from chat.live.runner import runner
from chat.live.waiting import wait_for_compaction
from chat.models import Conversation, Memory, Message, ModelProfile, SearchEntry, Turn
from chat.queries.search import find_messages
from chat.tools import registry
from chat.tools.scope import Scope
from demo.api.protocol import ScriptedReply, refusal, text, thinking, tool_use
from demo.api.script import is_chat, is_summary
from spending.totals import load_total
from tests.agent.conversations import flat
from tests.chat.counts import read_count
from tests.chat.factories import add_messages
from tests.chat.sockets import MAX_OUTPUT, PLAIN, SUMMARY, WINDOW, Chat, long_text
from tests.support.job_board import CRITERIA, offer, offers
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


@dataclass
class Lookup:
    """A tool that answers from a table; a missing key waits for its gate."""

    table: dict[str, str] = field(default_factory=lambda: {"a": "Value of a", "b": "Value of b"})
    scopes: list[Scope] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, input: dict[str, Any]) -> str:
        self.scopes.append(scope)
        key = input["key"]
        if key == "wait":
            self.waiting.set()
            await self.gate.wait()
            return "Late"
        if key not in self.table:
            raise ToolError(f"There is no {key}.")
        return self.table[key]


@pytest.fixture
def lookup(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lookup]:
    """The tool `lookup`, beside the built-in ones."""
    tool, made = Tool("lookup", "Looks a key up.", SCHEMA), Lookup()
    monkeypatch.setattr(tools, "OWN_TOOLS", (*tools.OWN_TOOLS, tool))
    monkeypatch.setattr(registry, "HANDLERS", (*registry.HANDLERS, (tool, made)))
    yield made
    made.gate.set()


def look(key: str, block_id: str | None = None) -> dict[str, Any]:
    return tool_use("lookup", {"key": key}, block_id or f"toolu_{key}")


def outcome_of(request: Any) -> list[Any]:
    """The results that a request ends with, as (id, content, failed)."""
    return [
        (block["tool_use_id"], block["content"], block.get("is_error", False))
        for block in request.messages[-1]["content"]
        if block["type"] == "tool_result"
    ]


async def shown(chat: Chat) -> str:
    """The whole page."""
    response = await chat.http.get(chat.conversation.get_absolute_url())
    return response.content.decode()


async def rows(chat: Chat, after: int = 4) -> list[Message]:
    messages = Message.objects.filter(conversation=chat.conversation, number__gt=after)
    return await in_db(lambda: list(messages.order_by("number").select_related("turn")))


# --- The loop -------------------------------------------------------------------------------------


async def test_a_turn_calls_tools_and_answers(chat: Chat, lookup: Lookup) -> None:
    chat.script.reply([thinking("Two keys."), text("I look."), look("a"), look("b")])
    chat.script.reply("Both found.")
    tab = await chat.open()
    tab.say("What are a and b?")
    await tab.next("turn.finished", status="completed")

    first, second = chat.script.requests
    assert [tool["name"] for tool in first.body["tools"]][-1] == "lookup"
    before = flat(first.body)
    assert flat(second.body)[: len(before)] == before
    assert second.messages[-3]["content"][-1] == first.messages[-1]["content"][-1], "a breakpoint"
    assert [b["type"] for b in second.messages[-2]["content"]] == [
        "thinking", "text", "tool_use", "tool_use",
    ]  # fmt: skip
    assert outcome_of(second) == [
        ("toolu_a", "Value of a", False),
        ("toolu_b", "Value of b", False),
    ]
    prompt, called, results, answer = await rows(chat)
    assert [m.role for m in (prompt, called, results, answer)] == ["user", "assistant"] * 2
    assert [m.status for m in (called, results, answer)] == ["complete"] * 3
    assert (called.stop_reason, answer.stop_reason) == ("tool_use", "end_turn")
    assert results.text == "Value of a\n\nValue of b"
    assert called.usage
    assert (await in_db(load_total, "message", called.pk)).dollars > 0
    assert {s.conversation_id for s in lookup.scopes} == {chat.conversation.pk}
    assert {s.owner_id for s in lookup.scopes} == {chat.user.pk}


def without_cache(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


async def test_what_is_shown_live_is_what_a_reload_shows(chat: Chat, lookup: Lookup) -> None:
    chat.script.reply([text("I look."), look("a"), look("missing")]).reply("Only one.")
    tab = await chat.open()
    tab.say("What are they?")
    await tab.next("turn.finished", status="completed")
    started = tab.all("tool.started")
    assert [(f["name"], f["id"]) for f in started] == [
        ("lookup", "toolu_a"),
        ("lookup", "toolu_missing"),
    ]
    assert "running" in started[0]["html"]
    finished = {frame["id"]: frame for frame in tab.all("tool.finished")}
    assert (finished["toolu_a"]["failed"], finished["toolu_missing"]["failed"]) == (False, True)
    assert "Value of a" in finished["toolu_a"]["html"]
    assert "There is no missing." in finished["toolu_missing"]["html"]
    page = await shown(chat)
    for frame in finished.values():
        assert frame["html"].strip() in page
    assert page.count("Value of a") == 1, "once, in the row of the call"


async def test_the_row_is_shown_while_the_arguments_still_come(chat: Chat, lookup: Lookup) -> None:
    chat.script.reply(ScriptedReply((look("a"),), piece_chars=2), interval_s=0.01)
    chat.script.reply("Done.")
    tab = await chat.open()
    tab.say("Look")
    started = await tab.next("tool.started")
    created = await tab.next("message.created", id=started["message_id"], status="complete")
    assert "Value of a" not in created["html"]
    await tab.next("turn.finished", status="completed")


async def test_thinking_can_be_read_while_it_streams(chat: Chat) -> None:
    thought = "First I consider this 🧠, then that."
    chat.script.reply([thinking(thought), text("So.")], interval_s=0.002)
    tab = await chat.open()
    tab.say("Think")
    await tab.next("turn.finished", status="completed")
    read = ""
    for frame in tab.all("turn.thinking"):
        assert frame["offset"] == len(read.encode("utf-16-le")) // 2
        read += frame["text"]
    assert read == thought


async def test_models_that_think_are_asked_to_show_it(chat: Chat) -> None:
    await in_db(ModelProfile.objects.update, show_thinking=True)
    chat.script.reply([thinking("Hm."), text("So.")])
    tab = await chat.open()
    tab.say("Think")
    await tab.next("turn.finished", status="completed")
    asked = {"type": "adaptive", "display": "summarized"}
    assert chat.script.requests[0].body["thinking"] == asked


async def test_replies_are_asked_for_as_the_user_wants_them(chat: Chat) -> None:
    await in_db(ModelProfile.objects.update, efforts=["low", "high"], thinking_types=["adaptive"])
    wanted = {"effort": "high", "thinking": "on", "temperature": 0.5, "max_tokens": 300}
    await in_db(Conversation.objects.update, reply_settings=wanted)
    chat.script.reply("So.")
    tab = await chat.open()
    tab.say("Think")
    await tab.next("turn.finished", status="completed")
    (request,) = chat.script.requests
    assert request.body["output_config"] == {"effort": "high"}
    assert request.body["thinking"]["type"] == "adaptive"
    assert request.body["max_tokens"] == 300
    assert "temperature" not in request.body  # the API refuses it, and the profile says so


async def test_every_other_tab_sees_the_turn_go_on(chat: Chat, lookup: Lookup) -> None:
    chat.script.reply([text("I look."), look("wait")]).reply("There.")
    first = await chat.open()
    first.say("Look")
    await lookup.waiting.wait()
    second = await chat.open()
    turn = second.all("snapshot")[0]["turn"]
    assert (turn["status"], turn["message_id"]) == ("running", None)
    assert "running" in await shown(chat)
    lookup.gate.set()
    await second.next("turn.finished", status="completed")
    assert second.text == "There."


async def test_usage_and_cost_of_all_rounds_are_charged(chat: Chat, lookup: Lookup) -> None:
    chat.script.reply(ScriptedReply((look("a"),), usage={"input_tokens": 100, "output_tokens": 10}))
    chat.script.reply(
        ScriptedReply((text("Done."),), usage={"input_tokens": 150, "output_tokens": 20})
    )
    tab = await chat.open()
    tab.say("Look")
    await tab.next("turn.finished")
    total = await in_db(load_total, "conversation", chat.conversation.pk)
    cached = sum(
        m.usage["cache_read_input_tokens"] + m.usage["cache_creation_input_tokens"]
        for m in (await rows(chat))
        if m.usage
    )
    assert (total.request_tokens, total.output_tokens) == (250 + cached, 30)


async def test_the_title_is_suggested_though_tools_were_used(
    chat: Chat, lookup: Lookup, worker: Any
) -> None:
    await chat.start([], title_edited=False)
    chat.script.reply(look("a")).reply("Done.").reply("A title", when=lambda r: r.kind == "title")
    tab = await chat.open()
    tab.say("Look a up")
    await tab.next("turn.finished", status="completed")
    await tab.next("conversation.updated", title="A title")


# --- Limits, errors, Stop -------------------------------------------------------------------------


async def test_at_the_limit_of_rounds_the_model_answers_without_tools(
    chat: Chat, lookup: Lookup, settings: Settings
) -> None:
    settings.MAX_TOOL_ROUNDS = 2
    chat.script.reply(look("a", "toolu_1")).reply(look("b", "toolu_2")).reply("What I have.")
    tab = await chat.open()
    tab.say("Look")
    finished = await tab.next("turn.finished", status="completed")
    assert chat.script.requests[-1].body["tool_choice"] == {"type": "none"}
    assert "limit of tool calls" in finished["html"]


async def test_calls_that_are_too_many_for_a_reply_are_not_made_and_model_and_page_are_told(
    chat: Chat, lookup: Lookup, settings: Settings
) -> None:
    settings.MAX_TOOL_CALLS = 3
    chat.script.reply([look("a", f"toolu_{n}") for n in range(7)]).reply("Enough.")
    tab = await chat.open()
    tab.say("Look seven times")
    await tab.next("turn.finished", status="completed")
    assert len(lookup.scopes) == len(tab.all("tool.started")) == len(tab.all("tool.finished")) == 3
    told = outcome_of(chat.script.requests[-1])
    assert [(call_id, failed) for call_id, _, failed in told] == [
        (f"toolu_{n}", n >= 3) for n in range(7)
    ]
    assert "at most 3 calls" in told[-1][1]
    page = await shown(chat)
    assert page.count('data-call="') == 3
    assert "4 more tool calls of this reply were not made" in page


async def test_a_reply_full_of_calls_keeps_nobody_else_from_the_database(
    transactional_db: None,
) -> None:
    """Counted in places of the queue, not in seconds."""
    order: list[str] = []
    busy, go_on = threading.Event(), threading.Event()

    def work(name: str) -> str:
        busy.set()
        assert go_on.wait(PATIENCE)
        order.append(name)
        return name

    async def begin(name: str, calls: int) -> None:
        async def run(_: dict[str, Any]) -> str:
            return await in_tool_db(work, name)

        async def finished(_: Any) -> None:
            pass

        tools = {"lookup": RunnableTool(Tool("lookup", "", {}), run)}
        await run_calls([look("a", f"toolu_{n}") for n in range(calls)], tools, finished)

    try:
        many = asyncio.create_task(begin("many", 60))
        await asyncio.to_thread(busy.wait, PATIENCE)
        one = asyncio.create_task(begin("one", 1))
        async with asyncio.timeout(PATIENCE):
            assert await in_db(lambda: "a page") == "a page"  # while nothing of the calls ends
        go_on.set()
        await asyncio.gather(many, one)
    finally:
        go_on.set()
    assert order.index("one") <= CALLS_AT_ONCE + TOOL_THREADS


async def test_a_server_that_ignores_the_limit_ends_the_turn_with_words(
    chat: Chat, lookup: Lookup, settings: Settings
) -> None:
    settings.MAX_TOOL_ROUNDS = 1
    chat.script.reply(look("a", "toolu_1")).reply(look("b", "toolu_2"))
    tab = await chat.open()
    tab.say("Look")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "too_many_rounds"
    chat.script.reply("Going on.")
    tab.say("Go on")
    await tab.next("turn.finished", status="completed")
    assert "no result" in str(chat.script.requests[-1].body["messages"])


async def test_a_tool_nobody_offers_is_answered_with_the_names_of_those_there_are(
    chat: Chat, lookup: Lookup, settings: Settings
) -> None:
    chat.script.reply(tool_use("delete_all", {}, "toolu_1")).reply("Sorry.")
    tab = await chat.open()
    tab.say("Delete")
    await tab.next("turn.finished", status="completed")
    ((_, told, failed),) = outcome_of_text(chat.script.requests[-1])
    assert failed
    assert "lookup" in told


def outcome_of_text(request: Any) -> list[Any]:
    """Results of undeclared tools go as text."""
    found = outcome_of(request)
    return found or [("", str(request.messages[-1]["content"]), True)]


async def test_stop_while_a_tool_runs_keeps_what_has_come_and_completes_the_rest(
    chat: Chat, lookup: Lookup
) -> None:
    chat.script.reply([text("I look."), look("a"), look("wait")])
    tab = await chat.open()
    tab.say("Look")
    await tab.next("tool.finished", id="toolu_a")
    await lookup.waiting.wait()
    tab.send("turn.stop")
    await tab.next("turn.finished", status="cancelled")
    _, called, results, answer = await rows(chat)
    assert [(b["tool_use_id"], b.get("is_error", False)) for b in results.blocks] == [
        ("toolu_a", False),
        ("toolu_wait", True),
    ]
    assert set(called.calls) == {"toolu_a", "toolu_wait"}
    assert (answer.status, answer.blocks) == ("interrupted", [])
    assert "running" not in render_message(called)

    chat.script.reply("Going on.")
    tab.say("Go on")
    await tab.next("turn.finished", status="completed")
    assert await chat.is_idle()


async def test_a_failure_after_a_round_keeps_the_round_and_retry_goes_on_from_it(
    chat: Chat, lookup: Lookup
) -> None:
    chat.script.reply([thinking("Hm."), look("a")]).error(529).reply("Done.")
    tab = await chat.open()
    tab.say("Look")
    await tab.next("turn.finished", status="failed")
    await chat.retry()
    await tab.next("turn.finished", status="completed")
    assert outcome_of(chat.script.requests[-1]) == [("toolu_a", "Value of a", False)]
    assert len(lookup.scopes) == 1, "the tool did not run again"


async def test_a_worker_that_dies_between_call_and_result_leaves_a_history_that_can_be_sent(
    chat: Chat, lookup: Lookup
) -> None:
    calls = [text("I look."), look("a")]
    await in_db(add_messages, chat.conversation, ["Look", calls])  # and then the process died
    chat.script.reply("Fine.")
    tab = await chat.open()
    tab.say("Go on")
    await tab.next("turn.finished", status="completed")
    (request,) = chat.script.requests
    assert outcome_of(request) == [
        ("toolu_a", "The tool was interrupted and returned no result.", True)
    ]


async def test_a_call_cut_at_the_output_limit_does_not_run_and_the_next_turn_can_be_sent(
    chat: Chat, lookup: Lookup
) -> None:
    chat.script.reply(ScriptedReply((text("I look."), look("a")), stop_reason="max_tokens"))
    tab = await chat.open()
    tab.say("Look")
    finished = await tab.next("turn.finished", status="completed")
    assert "length limit" in finished["html"]
    assert "running" not in finished["html"]
    assert lookup.scopes == []
    chat.script.reply("Then not.")
    tab.say("Go on")
    await tab.next("turn.finished", status="completed")
    assert outcome_of(chat.script.requests[-1]) == [
        ("toolu_a", "The tool was interrupted and returned no result.", True)
    ]


async def test_a_refusal_after_tools_is_told(chat: Chat, lookup: Lookup) -> None:
    chat.script.reply(look("a")).reply(refusal("cyber"))
    tab = await chat.open()
    tab.say("Look")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "refused"


# --- Pauses and thinking --------------------------------------------------------------------------


async def test_a_turn_paused_twice_is_sent_back_whole_and_charged_in_full(chat: Chat) -> None:
    def paused(words: str, tokens: int) -> ScriptedReply:
        usage = {"input_tokens": tokens, "output_tokens": 1}
        search = {"type": "server_tool_use", "id": f"srv_{tokens}", "name": "web_search"}
        blocks = (thinking("Hm."), search | {"input": {"query": "x"}}, text(words))
        return ScriptedReply(blocks, stop_reason="pause_turn", usage=usage)

    chat.model.api._strict = False  # what is sent back after a pause is a prefill to it
    chat.script.reply(paused("One.", 10)).reply(paused("Two.", 20))
    chat.script.reply(
        ScriptedReply((text("Three."),), usage={"input_tokens": 30, "output_tokens": 1})
    )
    tab = await chat.open()
    tab.say("Search")
    await tab.next("turn.finished", status="completed")
    answer = await chat.last()
    sent_back = chat.script.requests[-1].messages[-1]["content"]
    for blocks, texts in (
        (answer.blocks, ["One.", "Two.", "Three."]),
        (sent_back, ["One.", "Two."]),
    ):
        assert [b["text"] for b in blocks if b["type"] == "text"] == texts
    total = await in_db(load_total, "conversation", chat.conversation.pk)
    assert total.output_tokens == 3
    assert answer.usage["input_tokens"] == 30
    chat.script.violations.clear()


async def test_a_paused_turn_that_would_not_fit_any_more_ends_with_what_there_is(
    chat: Chat,
) -> None:
    usage = {"input_tokens": WINDOW - MAX_OUTPUT, "output_tokens": 1}
    chat.script.reply(ScriptedReply((text("So far."),), stop_reason="pause_turn", usage=usage))
    tab = await chat.open()
    tab.say("Search")
    assert "length limit" in (await tab.next("turn.notice"))["text"]
    await tab.next("turn.finished", status="completed")
    assert (await chat.last()).text == "So far."
    assert len(chat.script.requests) == 1


async def test_a_continuation_that_breaks_a_rule_is_refused_and_counted(chat: Chat) -> None:
    refused = read_count(metrics.REQUEST_REFUSED)
    paused = (text("So far."), tool_use("recall", {}))
    chat.script.reply(ScriptedReply(paused, stop_reason="pause_turn"))
    tab = await chat.open()
    tab.say("Search")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "bad_request"
    assert "Please report it" in finished["error"]["message"]
    assert "So far." in finished["html"]
    assert read_count(metrics.REQUEST_REFUSED) == refused + 1


async def test_thinking_that_the_api_does_not_take_back_goes_as_text_once(
    chat: Chat, lookup: Lookup
) -> None:
    chat.script.reply([thinking("Hm."), look("a")])
    chat.script.error(400, message="messages.5: Invalid `signature` in `thinking` block")
    chat.script.reply("Done.")
    tab = await chat.open()
    tab.say("Look")
    await tab.next("turn.finished", status="completed")
    refused, again = chat.script.requests[1:]
    assert "thinking" in [b["type"] for b in refused.messages[-2]["content"]]
    assert {b["type"] for m in again.messages for b in m["content"]} == {"text"}
    assert "Value of a" in str(again.messages)


async def test_thinking_of_a_finished_turn_is_not_sent_to_a_model_that_ignores_it(
    chat: Chat, lookup: Lookup
) -> None:
    chat.script.reply([thinking("Hm."), look("a")]).reply("Done.").reply("Yes.")
    tab = await chat.open()
    tab.say("Look")
    await tab.next("turn.finished", status="completed")
    tab.say("Sure?")
    await tab.next("turn.finished", status="completed")
    assert "thinking" in str(chat.script.requests[1].messages)
    assert "thinking" not in str(chat.script.requests[2].messages)


def thoughts(request: Any) -> list[str]:
    blocks = [block for message in request.messages for block in message["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


async def test_a_model_that_keeps_thinking_gets_that_of_all_turns_until_the_prompt_changes(
    chat: Chat, worker: Any
) -> None:
    """The server checks that each thought follows what it followed when it was written."""
    await chat.start([long_text(number) for number in range(1, 7)], model="claude-opus-5")
    search = tool_use("search_history", {"query": "lorem"}, "toolu_a")
    chat.script.reply([thinking("One."), search]).reply([thinking("Two."), text("Done.")])
    chat.script.reply([thinking("Three."), text("Yes.")]).reply("Fine.", when=is_chat)
    tab = await chat.open()
    for words in ("Look", "Sure?", "Good"):
        tab.say(words)
        await tab.next("turn.finished", status="completed")
    last = chat.script.requests[-1]
    assert thoughts(last) == ["One.", "Two.", "Three."]
    chat.script.reply(SUMMARY, when=is_summary)
    tab.send("compact")
    await tab.next("CompressionCompleted", success=True)
    await tab.next("turn.finished")
    chat.script.reply([thinking("New."), text("Right.")], when=is_chat).reply("So.", when=is_chat)
    for words in ("And?", "Then?"):
        tab.say(words)
        await tab.next("turn.finished", status="completed")
    assert [thoughts(request) for request in chat.script.requests[-2:]] == [[], ["New."]]


async def test_thinking_of_earlier_turns_that_is_refused_is_not_sent_again(chat: Chat) -> None:
    await chat.start([], model="claude-opus-5")
    chat.script.reply([thinking("One."), text("Done.")])
    chat.script.error(400, message="messages.1: Invalid `signature` in `thinking` block")
    chat.script.reply([thinking("Two."), text("Yes.")]).reply("Fine.")
    tab = await chat.open()
    for words in ("Look", "Sure?", "Good"):
        tab.say(words)
        await tab.next("turn.finished", status="completed")
    sent = [thoughts(request) for request in chat.script.requests]
    assert sent == [[], ["One."], [], []]


async def test_thinking_that_followed_the_note_of_the_last_round_is_not_sent_again(
    chat: Chat, lookup: Lookup, settings: Settings
) -> None:
    settings.MAX_TOOL_ROUNDS = 1
    await chat.start([], model="claude-opus-5")
    chat.script.reply([thinking("One."), look("a")]).reply([thinking("Two."), text("Done.")])
    chat.script.reply("Fine.")
    tab = await chat.open()
    for words in ("Look", "Sure?"):
        tab.say(words)
        await tab.next("turn.finished", status="completed")
    assert [thoughts(request) for request in chat.script.requests] == [[], ["One."], []]


# --- Compaction between rounds --------------------------------------------------------------------


async def test_the_model_compacts_by_its_own_tool_with_a_focus(chat: Chat, worker: Any) -> None:
    await chat.start([long_text(number) for number in range(1, 7)])
    focus = {"focus": "the names"}
    chat.script.reply([thinking("Full."), tool_use("compact_context", focus)], when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary).reply("Room.", when=is_chat)
    tab = await chat.open()
    tab.say("Go on")
    await tab.next("CompressionCompleted", success=True)
    await tab.next("turn.finished", status="completed")
    (compaction,) = await chat.compactions()
    assert (compaction.trigger, compaction.focus) == ("tool", "the names")
    _, summary, answer = chat.script.requests
    assert "the names" in summary.last_user_text
    assert "thinking" not in str(answer.messages), "it was bound to the prefix of before"
    assert [b["type"] for b in answer.messages[-1]["content"]] == ["tool_result"]
    assert "Go on" in str(answer.messages)


async def test_too_little_to_compact_is_told_to_the_model(chat: Chat) -> None:
    await chat.start([])
    chat.script.reply(tool_use("compact_context", {})).reply("Then not.")
    tab = await chat.open()
    tab.say("Compact")
    await tab.next("turn.finished", status="completed")
    ((_, told, failed),) = outcome_of(chat.script.requests[-1])
    assert failed
    assert "too little" in told
    assert await chat.compactions() == []


async def test_one_long_turn_is_compacted_between_its_rounds_and_keeps_its_prompt(
    chat: Chat, lookup: Lookup, worker: Any
) -> None:
    """Its newest results are too large together, so that previews of old ones are not enough."""
    await chat.start([])
    lookup.table |= {f"k{n}": long_text(n) * 4 for n in range(3)}
    for n in range(3):
        chat.script.reply(look(f"k{n}"), when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary, always=True)
    chat.script.reply("All read.", when=is_chat)
    tab = await chat.open()
    prompt = "Read k0 to k2. The criteria: remote, over 90k, no travel."
    tab.say(prompt)
    await tab.next("turn.finished", status="completed")
    (compaction,) = await chat.compactions()
    assert (compaction.trigger, compaction.status) == ("auto", "completed")
    last = chat.script.requests[-1]
    assert [r[0] for r in outcome_of(last)] == ["toolu_k2"]
    assert prompt in str(last.messages[0]["content"])
    assert "# Conversation Summary" in str(last.body["system"])
    assert len(lookup.scopes) == 3


async def test_a_long_turn_prepares_between_its_rounds_and_never_waits(
    chat: Chat, lookup: Lookup, worker: Any
) -> None:
    settings = PLAIN | {"prepare_ratio": 0.1}
    await chat.start([long_text(number) for number in range(1, 7)], compaction_settings=settings)
    lookup.table["large"] = long_text(9) * 4
    for key in ("a", "wait", "large"):
        chat.script.reply(look(key), when=is_chat)
    chat.script.reply("All read.", when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary, always=True)
    tab = await chat.open()
    tab.say("Read them")
    await asyncio.wait_for(lookup.waiting.wait(), PATIENCE)
    live = runner.find_live(chat.conversation.pk)
    assert live
    assert live.preparing
    await live.preparing
    (begun,) = await chat.compactions()
    assert (await wait_for_compaction(begun, new=False)).status == "ready"
    assert not tab.all("CompressionStarted"), "nobody sees it before it is used"
    await in_db(Conversation.objects.update, compaction_settings=PLAIN)  # one is enough
    lookup.gate.set()
    await tab.next("turn.finished", status="completed")
    swapped = (await chat.compactions())[0]
    assert (swapped.trigger, swapped.status, swapped.turn_id) == ("prepared", "completed", None)
    *earlier, last = [request for request in chat.script.requests if is_chat(request)]
    assert ["# Conversation Summary" in str(request.body["system"]) for request in earlier] == [
        False
    ] * 3
    assert "# Conversation Summary" in str(last.body["system"])
    assert [r[0] for r in outcome_of(last)] == ["toolu_large"]
    assert "Read them" in str(last.messages)


async def test_iterations_trigger_compacts_and_keeps_the_newest_rounds(
    chat: Chat, lookup: Lookup, worker: Any
) -> None:
    settings = {
        "every_iterations": 3,
        "keep_recent_iterations": 1,
        "iterations_minimum": 0,
        "extract_on_failure": False,
        "prepare_ratio": 0,
        "idle_ratio": 0,
    }
    await chat.start([], compaction_settings=settings)
    lookup.table |= {f"k{n}": long_text(n) for n in range(3)}
    for n in range(3):
        chat.script.reply(look(f"k{n}"), when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary).reply("Done.", when=is_chat)
    tab = await chat.open()
    tab.say("Read them, lorem ipsum")
    await tab.next("turn.finished", status="completed")
    (compaction,) = await chat.compactions()
    assert (compaction.trigger, compaction.status) == ("iterations", "completed")
    last = chat.script.requests[-1]
    assert [r[0] for r in outcome_of(last)] == ["toolu_k2"]
    assert "Read them" in str(last.messages[0])


# --- Memory ---------------------------------------------------------------------------------------


async def test_what_is_remembered_is_told_from_the_next_turn_on_and_within_one_it_stays(
    chat: Chat,
) -> None:
    chat.script.reply(tool_use("remember", {"text": "Likes  short answers."})).reply("Noted.")
    chat.script.reply("Short.")
    tab = await chat.open()
    tab.say("Remember that I like short answers", pasted=[])
    await tab.next("turn.finished", status="completed")
    memory = await in_db(Memory.objects.get)
    assert (memory.owner_id, memory.text, memory.source) == (
        chat.user.pk,
        "Likes short answers.",
        "agent",
    )
    tab.say("Hello")
    await tab.next("turn.finished", status="completed")
    first, second, third = chat.script.requests
    assert first.body["system"] == second.body["system"]
    told = third.body["system"][-1]["text"]
    assert f"- [{memory.pk}] Likes short answers." in told
    assert third.body["system"][:-1] == first.body["system"]


async def test_the_model_can_recall_and_forget(chat: Chat) -> None:
    kept = await in_db(
        Memory.objects.create, owner=chat.user, text="Lives in Graz", key="lives in graz"
    )
    chat.script.reply(tool_use("recall", {"query": "graz city"}, "toolu_1"))
    chat.script.reply(tool_use("forget", {"id": kept.pk}, "toolu_2"))
    chat.script.reply(tool_use("forget", {"id": kept.pk}, "toolu_3")).reply("Gone.")
    tab = await chat.open()
    tab.say("Forget where I live", pasted=[])
    await tab.next("turn.finished", status="completed")
    results = [outcome_of(request)[0] for request in chat.script.requests[1:]]
    assert results[0][1] == f"[{kept.pk}] Lives in Graz ({kept.created_at:%Y-%m-%d})"
    assert results[1][1:] == ("Forgotten: Lives in Graz", False)
    assert results[2][2] is True


async def test_a_turn_has_no_tools_where_the_model_cannot_call_them(chat: Chat) -> None:

    await in_db(ModelProfile.objects.update, tools=False)
    chat.script.reply("Plain.")
    tab = await chat.open()
    tab.say("Hello")
    await tab.next("turn.finished", status="completed")
    (request,) = chat.script.requests
    assert "tools" not in request.body
    turn = await in_db(Turn.objects.get)
    assert turn.status == "completed"


# --- A long task ----------------------------------------------------------------------------------


async def test_a_job_search_still_has_criteria_scores_and_urls_after_a_compaction(
    chat: Chat, lookup: Lookup, worker: Any
) -> None:
    await chat.start([])
    lookup.table |= {"page0": offers(0), "page1": offers(1)}
    tab = await chat.open()
    for page, words in enumerate([CRITERIA, "Look at the second page too."]):
        chat.script.reply([text("I search."), look(f"page{page}")], when=is_chat)
        chat.script.reply(f"Page {page} read.", when=is_chat)
        tab.say(words)
        await tab.next("turn.finished", status="completed")
    chat.script.reply(SUMMARY.replace("Lorem ipsum", "Criteria: remote"), when=is_summary)
    tab.send("compact")
    await tab.next("CompressionCompleted", success=True)
    await tab.next("turn.finished", status="completed")

    search = tool_use("search_history", {"query": "Acme33 offer score URL"}, "toolu_search")
    chat.script.reply(search, when=is_chat)
    read = tool_use("read_messages", {"from": 3, "to": 3}, "toolu_read")
    chat.script.reply(read, when=is_chat).reply("Acme33, see [#3].", when=is_chat)
    tab.say("Which score and URL has the offer of Acme33, and does it fit my criteria?")
    finished = await tab.next("turn.finished", status="completed")
    asked, found, opened = chat.script.requests[-3:]

    assert CRITERIA in str(asked.messages[0]), "the first message is always sent word for word"
    assert "offer/0033" not in str(asked.messages), "and the results are not"
    ((_, hit, failed),) = outcome_of(found)
    assert not failed
    assert "[#3]" in hit
    ((_, whole, _),) = outcome_of(opened)
    assert offer(33) in whole
    assert '<a href="#message-3">#3</a>' in finished["html"]


async def test_pages_that_are_read_side_by_side_are_sent_whole(chat: Chat) -> None:
    log = "".join(f"Line {n} of the log.\n" for n in range(4_000))
    await chat.start([log, "Long."], compaction_enabled=False)
    reads = [
        tool_use("read_messages", {"from": 1, "to": 1, "offset": at}, f"toolu_{at}")
        for at in (20_000, 30_000, 40_000)
    ]
    chat.script.reply(reads).reply("Read.")
    tab = await chat.open()
    tab.say("Read the middle")
    await tab.next("turn.finished", status="completed")
    results = outcome_of(chat.script.requests[-1])
    assert len(results) == 3
    for call_id, page, _ in results:
        at = int(call_id.removeprefix("toolu_"))
        body, _, hint = page.split("\n", 1)[1].rpartition("\n\n")
        assert body == log[at : at + len(body)]
        assert len(body) > 3_000
        assert hint.startswith(f"[continues: read_messages(from=1, to=1, offset={at + len(body)}")


async def test_what_was_searched_for_before_stays_behind_the_original(
    chat: Chat, lookup: Lookup
) -> None:
    await chat.start(["The ferry to Capri leaves pier nine.", "Noted.", "Thanks", "Welcome"])
    lookup.table["ferry"] = "Ferry timetable"
    tab = await chat.open()
    for n in range(2):
        query = {"query": "ferry Capri pier"}
        search = tool_use("search_history", query, f"toolu_search{n}")
        chat.script.reply([search, look("ferry", f"toolu_look{n}")]).reply("Pier nine.")
        tab.say("Where?")
        await tab.next("turn.finished", status="completed")
        assert outcome_of(chat.script.requests[-1])[0][1].startswith("[#1] user")
    indexed = SearchEntry.objects.filter(terms__contains="xcapri")
    assert await in_db(lambda: [entry.message.number for entry in indexed]) == [1]
    hits = await in_db(find_messages, chat.user.pk, parse_query("timetable"))
    assert "Ferry timetable" in hits[0].text


# --- The web --------------------------------------------------------------------------------------


async def test_the_servers_web_tools_are_declared_where_switched_on_and_there(chat: Chat) -> None:
    found = {
        "type": "web_search_result",
        "url": "https://graz.example/weather",
        "title": "Weather in Graz",
        "encrypted_content": "EncryptedPage==",
    }
    cited = {
        "type": "web_search_result_location",
        "url": "https://graz.example/weather",
        "title": "Weather in Graz",
        "cited_text": "Sun.",
        "encrypted_index": "Encrypted==",
    }
    searched = [
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "g"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [found]},
        text("It is sunny.") | {"citations": [cited]},
    ]  # fmt: skip
    await in_db(Conversation.objects.update, tool_settings={"web": True})
    chat.script.reply("No web here.")
    tab = await chat.open()
    tab.say("Weather?")
    await tab.next("turn.finished", status="completed")
    assert "web_search" not in str(chat.script.requests[0].body["tools"])

    await in_db(ModelProfile.objects.update, web_tools=True)
    chat.script.reply(searched).reply("Yes.")
    tab.say("And now?")
    finished = await tab.next("turn.finished", status="completed")
    tools = chat.script.requests[1].body["tools"]
    assert [tool["name"] for tool in tools[-2:]] == ["web_search", "web_fetch"]
    assert tools[-2]["type"].startswith("web_search_2")
    assert finished["html"].count('href="https://graz.example/weather"') == 2, "row and source"
    tab.say("Sure?")
    await tab.next("turn.finished", status="completed")
    sent_back = chat.script.requests[2].messages[-2]["content"]
    assert [without_cache(block) for block in sent_back] == searched


async def test_a_turn_whose_own_results_do_not_fit_is_shortened_and_answered(
    chat: Chat, lookup: Lookup
) -> None:
    """Its newest result is sent longest, and the page says so."""
    await chat.start([], compaction_enabled=False)
    lines = "a line of a log that says little\n" * 700
    lookup.table = {key: f"{key} begins\n{lines}{key} ends" for key in "abcd"}
    for key in "abcd":
        chat.script.reply(look(key))
    chat.script.reply("All read.")
    tab = await chat.open()
    tab.say("Read all the logs, please.")
    notice = await tab.next("turn.notice")
    assert "Results of tools were shortened" in notice["text"]
    await tab.next("turn.finished", status="completed")
    last = str(chat.script.requests[-1].messages)
    assert "Read all the logs" in last
    assert "has it whole" in last
    assert "d begins" in last
    assert "d ends" in last
    stored = await in_db(lambda: list(Message.objects.values_list("blocks", flat=True)))
    assert sum(lines in str(block.get("content")) for blocks in stored for block in blocks) == 4


async def test_a_turn_stays_in_the_container_where_the_servers_tools_ran(
    chat: Chat, lookup: Lookup
) -> None:
    ran = {"type": "server_tool_use", "id": "srv_1", "name": "code_execution", "input": {}}
    asks = look("a") | {"caller": {"type": "code_execution_20260120", "tool_id": "srv_1"}}
    done = {
        "type": "code_execution_tool_result",
        "tool_use_id": "srv_1",
        "content": {"type": "code_execution_result", "stdout": "", "stderr": "", "return_code": 0},
    }
    chat.script.reply(ScriptedReply((ran, asks), container="cntr_1"))
    chat.script.reply(ScriptedReply((done, text("Done.")))).reply("Yes.")
    tab = await chat.open()
    tab.say("Run it")
    await tab.next("turn.finished", status="completed")
    tab.say("Sure?")
    await tab.next("turn.finished", status="completed")
    first, second, third = chat.script.requests
    assert [r.body.get("container") for r in (first, second, third)] == [None, "cntr_1", None]
    assert second.messages[-2]["content"] == [ran, asks]
    assert [b["type"] for b in third.messages[-2]["content"]] == [done["type"], "text"]
