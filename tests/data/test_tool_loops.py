"""Recorded tool sessions driven through our rounds: what we send next is what was sent then, and
what the API would accept."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from agent.context.assemble import assemble
from agent.context.thinking import THINKING
from agent.errors import ToolError
from agent.loop import CallResult, continue_request
from agent.messages import result_text
from agent.model.reply import Outcome
from agent.model.rules import find_violations
from agent.tools import Tool
from chat.db.threads import in_db
from chat.engine import tools as toolbox
from chat.models import Message, ModelProfile, Turn
from chat.services.turns import requests, rounds
from chat.services.turns.endings import TurnOutcome
from chat.tools import registry
from chat.tools.scope import Scope
from demo.api.protocol import ScriptedReply
from tests.chat.factories import add_messages, make_conversation, make_profile, make_turn, make_user
from tests.chat.sockets import Chat
from tests.data.recordings import Record, need, sessions
from tests.data.replay import Played, declared_tools

pytestmark = pytest.mark.django_db
WINDOW = 1_000_000
MOST_SESSIONS = 12  # through the whole application


def shape(messages: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Roles, kinds and ids in order; neighbours of one role are one message to the API."""
    shapes: list[tuple[str, list[str]]] = []
    for message in messages:
        kinds = [
            f"{block['type']} {block.get('id') or block.get('tool_use_id') or ''}".strip()
            for block in message["content"]
            if block["type"] != "text" or block["text"].strip()
        ]
        if shapes and shapes[-1][0] == message["role"]:
            shapes[-1][1].extend(kinds)
        else:
            shapes.append((message["role"], kinds))
    return shapes


def without_settled_thinking(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without the thinking of turns that are over: most models ignore it, and of those
    it is not sent."""
    prompts = (
        at
        for at, message in enumerate(messages)
        if message["role"] == "user"
        and any(block["type"] != "tool_result" for block in message["content"])
    )
    last = max(prompts, default=0)
    return [
        message | {"content": [b for b in message["content"] if b["type"] not in THINKING]}
        if at < last
        else message
        for at, message in enumerate(messages)
    ]


def calls_anew(history: list[dict[str, Any]]) -> bool:
    """Whether the id of a call is repeated: the API takes it, we send the second as text."""
    ids = [b["id"] for m in history for b in m["content"] if b["type"] == "tool_use"]
    return len(set(ids)) < len(ids)


def rounds_of(recordings: list[Record]) -> list[tuple[Record, Record]]:
    """Exchanges that ended in tool calls, each with the one that brought the results."""
    pairs = []
    for session in sessions(recordings):
        for one, two in zip(session, session[1:], strict=False):
            new = two.history[len(one.history) :]
            if len(new) == 2 and [m["role"] for m in new] == ["assistant", "user"]:
                pairs.append((one, two))
    return pairs


def test_recorded_tool_rounds_are_sent_back_as_they_were(
    recordings: list[Record], played: dict[str, Played], report: dict[str, list[str]]
) -> None:
    make_profile(context_window=WINDOW, tools=False)  # the recorded ones are declared below
    user = make_user()
    kinds: Counter[str] = Counter()
    for one, two in rounds_of(recordings):
        answer = played[one.id]
        results = {
            block["tool_use_id"]: block
            for block in two.history[-1]["content"]
            if block["type"] == "tool_result"
        }
        calls = answer.reply.calls
        if answer.outcome is not Outcome.TOOLS or set(results) != {c["id"] for c in calls}:
            continue
        if any(message["role"] == "system" for message in one.history):
            continue  # no row of ours
        conversation = make_conversation(user)
        add_messages(conversation, [(m["role"], m["content"]) for m in one.history])
        turn = make_turn(conversation)
        opening = requests.open_next_request(turn.pk, may_compact=False)
        assert opening.message
        rounds.close_round(
            turn.pk,
            TurnOutcome(
                Turn.Status.COMPLETED,
                blocks=answer.blocks,
                stop_reason="tool_use",
                usage=answer.reply.raw_usage,
            ),
        )
        ended = [
            CallResult(
                call, content(results[call["id"]]), bool(results[call["id"]].get("is_error")), 0
            )
            for call in reversed(calls)  # as if the last call had ended first
        ]
        rounds.store_results(turn.pk, opening.message.pk, calls, ended)
        state = requests.open_next_request(turn.pk, may_compact=False).state
        tools = declared_tools(two.history, two.tools)
        request = assemble(replace(state.context, tools=tools))
        assert find_violations(request.body(), window=WINDOW) == [], two.id
        # All messages, with all that the model said in this round and its results in order.
        sent, recorded = (
            shape(without_settled_thinking(messages))
            for messages in (list(request.messages), two.history)
        )
        recorded[-1] = ("user", [f"tool_result {call['id']}" for call in calls])
        if calls_anew(two.history):
            sent, recorded = sent[-2:], recorded[-2:]
        assert sent == recorded, two.id
        kinds["rounds"] += 1
        kinds["with thinking"] += "thinking" in str(sent[-2])
        kinds["with several calls"] += len(calls) > 1
        kinds["after other rounds"] += len(one.history) > 2
    report["recorded tool rounds, sent back by our loop"] = [
        ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    ]
    need(range(kinds["rounds"]), "round of tools")


def content(result: dict[str, Any]) -> Any:
    return result.get("content") or "(no output)"


def test_recorded_pauses_are_sent_back_whole(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    paused = [r for r in recordings if played[r.id].outcome is Outcome.RESEND]
    need(paused, "paused turn")
    make_profile(context_window=WINDOW, tools=False)
    user = make_user()
    for record in paused:
        conversation = make_conversation(user)
        history = record.history or [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
        ]
        add_messages(conversation, [(m["role"], m["content"]) for m in history])
        opening = requests.open_next_request(make_turn(conversation).pk, may_compact=False)
        blocks = played[record.id].blocks
        tools = declared_tools([*history, {"role": "assistant", "content": blocks}], record.tools)
        request = assemble(replace(opening.state.context, tools=tools))
        sent = continue_request(request, played[record.id].reply)
        assert sent.messages[-1] == {"role": "assistant", "content": blocks}
        assert sent.messages[:-1] == request.messages
        assert (sent.tools, sent.system) == (request.tools, request.system)


# --- Through the whole application ---------------------------------------------------------------


def plain_sessions(recordings: list[Record], played: dict[str, Played]) -> list[list[Record]]:
    """Sessions of one prompt in words, rounds of tools of ours, and an answer."""
    found = []
    for session in sessions(recordings):
        first, *_, last = session
        added = [b.history[len(a.history) :] for a, b in itertools.pairwise(session)]
        if (
            len(first.history) == 1
            and [block["type"] for block in first.history[0]["content"]] == ["text"]
            and all(tool.get("input_schema") for tool in last.tools)
            and all([m["role"] for m in new] == ["assistant", "user"] for new in added)
            and all(b["type"] == "tool_result" for _, m in added for b in m["content"])
            and all(played[r.id].outcome is Outcome.TOOLS for r in session[:-1])
            and played[last.id].outcome is Outcome.FINISH
        ):
            found.append(session)
    return found


def offer(session: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded tools instead of ours: each returns what it returned then."""
    history = session[-1].history
    calls = {b["id"]: b for m in history for b in m["content"] if b["type"] == "tool_use"}
    returned = {
        key(calls[b["tool_use_id"]]["name"], calls[b["tool_use_id"]]["input"]): b
        for m in history
        for b in m["content"]
        if b["type"] == "tool_result"
    }

    def handler(name: str) -> Any:
        async def run(scope: Scope, input: dict[str, Any]) -> Any:
            result = returned[key(name, input)]
            if result.get("is_error"):
                raise ToolError(result_text(result))
            return content(result)

        return run

    tools = [
        Tool(tool["name"], tool.get("description") or "-", tool["input_schema"])
        for tool in declared_tools(history, session[-1].tools)
    ]
    monkeypatch.setattr(toolbox, "OWN_TOOLS", tools)
    monkeypatch.setattr(registry, "HANDLERS", [(tool, handler(tool.name)) for tool in tools])


def list_times() -> set[str]:
    """What requests say of the time, which nobody had written then."""
    return set(Message.objects.values_list("time_line", flat=True))


def without_times(messages: list[dict[str, Any]], times: set[str]) -> list[dict[str, Any]]:
    return [
        message | {"content": [b for b in message["content"] if b.get("text") not in times]}
        for message in messages
    ]


def key(name: str, input: dict[str, Any]) -> str:
    return f"{name} {json.dumps(input, sort_keys=True)}"


@pytest.mark.django_db(transaction=True)
async def test_recorded_sessions_run_through_the_real_loop_as_they_did(
    recordings: list[Record],
    played: dict[str, Played],
    chat: Chat,
    monkeypatch: pytest.MonkeyPatch,
    report: dict[str, list[str]],
) -> None:
    await in_db(ModelProfile.objects.update, context_window=WINDOW)
    chosen = plain_sessions(recordings, played)[:MOST_SESSIONS]
    need(chosen, "session of tools alone")
    for session in chosen:
        await chat.start([])
        offer(session, monkeypatch)
        before = len(chat.script.requests)
        for record in session:
            answer = played[record.id].reply
            chat.script.reply(ScriptedReply(tuple(answer.blocks), stop_reason=answer.stop_reason))
        tab = await chat.open()
        tab.say(session[0].history[0]["content"][0]["text"])
        await tab.next("turn.finished", status="completed")
        sent = chat.script.requests[before:]
        times = await in_db(list_times)
        for request, record in zip(sent, session, strict=True):
            was, now = (
                shape(without_settled_thinking(messages))
                for messages in (record.history, without_times(request.messages, times))
            )
            assert now == was, record.id
    rounds_run = sum(len(session) - 1 for session in chosen)
    report["recorded tool sessions through the real loop"] = [
        f"{len(chosen)} sessions, {rounds_run} rounds"
    ]
