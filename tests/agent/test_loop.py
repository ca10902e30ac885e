"""The loop without storage: calls side by side, errors as results, an end to it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.context.assemble import assemble
from agent.errors import AgentError, ToolError
from agent.loop import (
    CALLS_AT_ONCE,
    FINAL_NOTE,
    MAX_RESULT_CHARACTERS,
    CallResult,
    Content,
    ReplyOutcome,
    RunnableTool,
    continue_request,
    converse,
    declare_tool,
    make_last_request,
    run_calls,
)
from agent.messages import Usage
from agent.model.reply import Reply, read_outcome
from agent.model.rules import find_violations
from agent.tools import Tool
from tests.agent.conversations import TOOLS, call, context, image, message, result, text, user

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def bound(
    run: Callable[[dict[str, Any]], Awaitable[Content]], timeout: float = 5.0
) -> RunnableTool:
    return RunnableTool(Tool("read", "Reads a file.", SCHEMA, timeout), run)


async def results(run: Callable[..., Awaitable[Content]], *calls: Any, **options: float) -> Any:
    """What the model is told of calls of one tool, in the order in which they ended."""
    ended: list[CallResult] = []

    async def finished(one: CallResult) -> None:
        ended.append(one)

    await run_calls(
        calls or [call("a", "read", path="x")], {"read": bound(run, **options)}, finished
    )
    return ended


async def echo(arguments: dict[str, Any]) -> str:
    return f"Content of {arguments['path']}"


async def test_calls_run_side_by_side_and_report_as_they_end() -> None:
    first_may_end = asyncio.Event()

    async def run(arguments: dict[str, Any]) -> str:
        if arguments["path"] == "slow":
            await first_may_end.wait()
        else:
            first_may_end.set()
        return arguments["path"]

    ended = await results(run, call("a", "read", path="slow"), call("b", "read", path="quick"))
    assert [one.content for one in ended] == ["quick", "slow"]
    assert ended[1].block == result("a", "slow")


async def test_what_a_tool_raises_is_told_to_the_model() -> None:
    async def refuses(arguments: dict[str, Any]) -> str:
        raise ToolError("There is no file x. Files: y, z.")

    async def breaks(arguments: dict[str, Any]) -> str:
        raise ZeroDivisionError

    (refused,) = await results(refuses)
    assert refused.block == result("a", "There is no file x. Files: y, z.") | {"is_error": True}
    (broken,) = await results(breaks)
    assert broken.failed
    assert "unexpectedly" in broken.content


async def test_a_tool_has_its_own_time_limit() -> None:
    async def hangs(arguments: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    (ended,) = await results(hangs, timeout=0.01)
    assert (ended.failed, ended.content) == (True, "No result within 0.01 s.")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (call("a", "write", path="x"), "There is no tool 'write'. The tools are: read."),
        (call("a", "read"), "The input lacks path. Call the tool again."),
        (call("a", "read", invalid_json='{"pa'), "The input was not valid JSON"),
    ],
)
async def test_a_call_that_cannot_run_says_why(given: Any, told: str) -> None:
    (ended,) = await results(echo, given)
    assert ended.failed
    assert ended.content.startswith(told)


async def test_results_are_such_that_they_can_be_stored_and_sent() -> None:
    async def odd(arguments: dict[str, Any]) -> Content:
        return arguments["path"]

    async def blocks(arguments: dict[str, Any]) -> Content:
        return [text("half \ud83d"), image()]

    def content(ended: list[CallResult]) -> Any:
        return ended[0].block["content"]

    assert content(await results(odd, call("a", "read", path=""))) == "(no output)"
    assert content(await results(odd, call("a", "read", path="\0\udc00"))) == "\ufffd\ufffd"
    assert content(await results(blocks)) == [text("half \ufffd"), image()]
    long = content(await results(odd, call("a", "read", path="x" * (MAX_RESULT_CHARACTERS + 1))))
    assert len(long) < MAX_RESULT_CHARACTERS + 100
    assert long.endswith("too large …]")


async def test_a_result_that_cannot_be_kept_ends_the_round() -> None:
    async def full(one: CallResult) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await run_calls([call("a", "read", path="x")], {"read": bound(echo)}, full)


# --- Rounds ---------------------------------------------------------------------------------------


@dataclass
class Scripted:
    """Steps that answer by a list of replies."""

    replies: list[Reply]
    asked: list[bool] = field(default_factory=list)  # whether it was the last request
    used: list[list[Any]] = field(default_factory=list)

    async def ask(self, *, final: bool) -> ReplyOutcome:
        self.asked.append(final)
        reply = self.replies.pop(0)
        return ReplyOutcome(reply, read_outcome(reply))

    async def use(self, reply: Reply) -> None:
        self.used.append(reply.calls)


def reply(stop_reason: str, *blocks: Any) -> Reply:
    return Reply(list(blocks), stop_reason, complete=True)


async def test_tools_run_until_the_model_is_done() -> None:
    calls = [text("Let me see."), call("a", "read", path="x"), call("b", "read", path="y")]
    steps = Scripted([reply("tool_use", *calls), reply("end_turn", text("Done."))])
    assert (await converse(steps, 5)).reply.blocks == [text("Done.")]
    assert steps.used == [calls[1:]]
    assert steps.asked == [False, False]


async def test_at_the_limit_the_model_is_asked_for_an_answer_without_tools() -> None:
    rounds = [reply("tool_use", call(str(n), "read", path="x")) for n in range(2)]
    steps = Scripted([*rounds, reply("end_turn", text("What I have."))])
    assert (await converse(steps, 2)).reply.blocks == [text("What I have.")]
    assert steps.asked == [False, False, True]


async def test_a_model_that_stops_for_tools_and_calls_none_is_stopped_with_words() -> None:
    steps = Scripted([reply("tool_use", text("I look."))])
    with pytest.raises(AgentError, match="named none") as raised:
        await converse(steps, 5)
    assert (raised.value.code, raised.value.retryable) == ("stream_cut", True)


async def test_a_model_that_still_calls_tools_then_is_stopped_with_words() -> None:
    steps = Scripted([reply("tool_use", call("a")), reply("tool_use", call("c"))])
    with pytest.raises(AgentError) as raised:
        await converse(steps, 1)
    assert raised.value.code == "too_many_rounds"
    assert len(steps.used) == 1


# --- Requests -------------------------------------------------------------------------------------


def test_the_last_request_begins_as_the_ones_before_it() -> None:
    made = context(
        user(1),
        message(2, "assistant", [call("a")]),
        message(3, "user", [result("a")]),
        tools=TOOLS,
    )
    before = assemble(made)
    last = make_last_request(before)
    assert find_violations(last.body()) == []
    assert last.body()["tool_choice"] == {"type": "none"}
    assert last.messages[-1]["content"] == [result("a"), text(FINAL_NOTE)]
    assert (last.tools, last.system, last.messages[:-1]) == (
        before.tools,
        before.system,
        before.messages[:-1],
    )


def test_a_turn_that_is_paused_twice_is_sent_back_once() -> None:
    request = assemble(context(user(1), tools=TOOLS))
    first = Reply([text("One.")], "pause_turn", usage=Usage(10, 5), complete=True)
    second = first.resume()
    second.blocks.append(text("Two."))
    second.usage = Usage(15, 5)
    assert continue_request(request, second).messages[1:] == [
        {"role": "assistant", "content": [text("One."), text("Two.")]}
    ]
    assert second.resumed
    assert second.resume().usage == Usage(), "each call has its own"


def test_a_tool_is_declared_as_the_api_takes_it() -> None:
    made = context(user(1), tools=[declare_tool(Tool("read", "Reads a file.", SCHEMA))])
    assert find_violations(assemble(made).body()) == []


async def test_few_calls_of_a_reply_run_at_once_and_one_that_waits_for_consent_keeps_none() -> None:
    running = most = 0
    asked: list[str] = []
    allowed = asyncio.Event()

    async def run(arguments: dict[str, Any]) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "done"

    async def consent(block: Any) -> None:
        asked.append(block["id"])
        await allowed.wait()

    async def finished(one: CallResult) -> None:
        ended.append(one.call["id"])
        if len(ended) == 30:  # all that need no consent
            allowed.set()

    ended: list[str] = []
    tools = {"read": bound(run), "ask": RunnableTool(bound(run).tool, run, consent)}
    asking = [call(f"ask{n}", "ask", path="x") for n in range(CALLS_AT_ONCE + 1)]
    plain = [call(f"read{n}", "read", path="x") for n in range(30)]
    await run_calls([*asking, *plain], tools, finished)
    assert asked == [each["id"] for each in asking], "all questions are asked together"
    assert len(ended) == len(asking) + len(plain)
    assert most == CALLS_AT_ONCE
