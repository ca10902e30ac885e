"""The agent's loop: ask the model, run the tools that it calls, ask again. Stores nothing."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter
from typing import Any, Protocol

from agent.context.request import Request
from agent.errors import AgentError, ErrorCode, ToolError, gettext_noop
from agent.messages import Block, sanitise, sanitise_text
from agent.model.reply import Outcome, Reply
from agent.tools import Tool

log = logging.getLogger(__name__)

MAX_RESULT_CHARACTERS = 2_000_000  # what one call may leave in the database
CALLS_AT_ONCE = 4  # of one turn: other people's turns want to call tools too
FINAL_NOTE = (
    "The limit of tool calls for this turn is reached. Answer now with what you have found, and "
    "say what is missing."
)

Content = str | list[Block]
Run = Callable[[dict[str, Any]], Awaitable[Content]]


@dataclass(frozen=True, slots=True)
class RunnableTool:
    """A tool with what it does. `consent` waits until the call is allowed, for as long as it
    likes; it raises ToolError where the call is refused."""

    tool: Tool
    run: Run
    consent: Callable[[Block], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """How one call ended: what the model is told, and after how many seconds; `made`: it was not
    one too many of its reply."""

    call: Block
    content: Content
    failed: bool
    seconds: float
    made: bool = True

    @property
    def block(self) -> Block:
        """The `tool_result` block."""
        block = {
            "type": "tool_result",
            "tool_use_id": self.call["id"],
            "content": self.content or "(no output)",
        }
        return block | {"is_error": True} if self.failed else block


@dataclass(frozen=True, slots=True)
class ReplyOutcome:
    """A complete reply, and what the turn does next, which is never RESEND."""

    reply: Reply
    outcome: Outcome


class Steps(Protocol):
    """What the loop drives."""

    async def ask(self, *, final: bool) -> ReplyOutcome:
        """One complete reply; `final`: without more tools."""

    async def use(self, reply: Reply) -> None:
        """Run the calls of a reply and keep their results for the next one."""


async def converse(steps: Steps, most_rounds: int) -> ReplyOutcome:
    """The last reply of a turn, after at most so many rounds of tools. Raises AgentError."""
    for rounds in count():
        final = rounds >= most_rounds
        answered = await steps.ask(final=final)
        if answered.outcome is not Outcome.TOOLS:
            return answered
        reply = answered.reply
        if not reply.calls:
            raise AgentError(
                ErrorCode.STREAM_CUT,
                gettext_noop("The model stopped to call a tool but named none. Retry."),
                retryable=True,
            )
        if final:
            break
        await steps.use(reply)
    raise AgentError(
        ErrorCode.TOO_MANY_ROUNDS,
        gettext_noop(
            "The model called tools in too many rounds. What it found is kept; ask it to go on."
        ),
    )


def declare_tool(tool: Tool) -> dict[str, Any]:
    """A tool as a request declares it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def make_last_request(request: Request) -> Request:
    """The request as the last of its turn: the model is told to answer without more tools."""
    *before, last = request.messages
    note: Block = {"type": "text", "text": FINAL_NOTE}
    messages = [*before, last | {"content": [*last["content"], note]}]
    return replace(request, messages=messages, final=True)


def continue_request(request: Request, reply: Reply) -> Request:
    """The request again, with everything that the server has written so far, after `pause_turn`."""
    paused = {"role": "assistant", "content": reply.blocks}
    container = reply.container or request.container
    return replace(request, messages=[*request.messages, paused], container=container)


async def run_calls(
    calls: Sequence[Block],
    tools: Mapping[str, RunnableTool],
    finished: Callable[[CallResult], Awaitable[None]],
) -> None:
    """Run calls side by side, CALLS_AT_ONCE at a time; `finished` gets each result as it comes. A
    call that waits for consent keeps none of the others. A call never raises: what goes wrong is
    told to the model."""
    slots = asyncio.Semaphore(CALLS_AT_ONCE)

    async def run(call: Block) -> None:
        await finished(await _run_one(call, tools, slots))

    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(run(call))
    except ExceptionGroup as errors:  # of `finished`
        raise errors.exceptions[0] from errors


def refuse_call(call: Block, most: int) -> CallResult:
    """The result of a call that is not made, because its reply holds more than `most`. Few words:
    there may be thousands of them."""
    words = f"Not called: at most {most} calls in one reply. Call again what you still need."
    return CallResult(call, words, failed=True, seconds=0.0, made=False)


async def _run_one(
    call: Block, tools: Mapping[str, RunnableTool], slots: asyncio.Semaphore
) -> CallResult:
    started = perf_counter()
    failed = False
    try:
        bound = _checked(call, tools)
        if bound.consent:
            await bound.consent(call)
        async with slots:
            started = perf_counter()
            content = _sound(await _content(call, bound))
    except ToolError as error:
        content, failed = sanitise_text(str(error)), True
    except Exception:
        log.exception("tool %s failed", call["name"])
        content, failed = "The tool failed unexpectedly. Try another way.", True
    return CallResult(call, content, failed, perf_counter() - started)


def _checked(call: Block, tools: Mapping[str, RunnableTool]) -> RunnableTool:
    """The tool of a call that can be made. Raises ToolError."""
    bound = tools.get(call["name"])
    if bound is None:
        known = ", ".join(tools) or "none"
        raise ToolError(f"There is no tool {call['name']!r}. The tools are: {known}.")
    if call["input"].keys() == {"invalid_json"}:
        raise ToolError("The input was not valid JSON, or not an object. Call the tool again.")
    missing = [n for n in bound.tool.input_schema.get("required", ()) if n not in call["input"]]
    if missing:
        raise ToolError(f"The input lacks {', '.join(missing)}. Call the tool again.")
    return bound


async def _content(call: Block, bound: RunnableTool) -> Content:
    try:
        async with asyncio.timeout(bound.tool.timeout):
            return await bound.run(call["input"])
    except TimeoutError as error:
        raise ToolError(f"No result within {bound.tool.timeout:g} s.") from error


def _sound(content: Content) -> Content:
    """A result that can be stored and sent: no lone surrogates, no text beyond the limit."""
    if isinstance(content, str):
        return _cut(sanitise_text(content))
    if len(json.dumps(content)) > MAX_RESULT_CHARACTERS:
        raise ToolError("The result is too large. Ask for a part of it.")
    kept: list[Block] = sanitise(content)
    return kept


def _cut(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    return text[:MAX_RESULT_CHARACTERS] + "\n[… cut off here: the result is too large …]"
