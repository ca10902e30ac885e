"""What the prompt cache saves in agent work: sessions of tools, request by request, through the
product's own assembly, on the demo server's account of the cache.

`python -m bench.caching [--session FILE]`, where the file is a session of the agent pi. Each
session is priced four times in one run: with both mends, with neither, and without each.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.context.assemble import Context, assemble
from agent.messages import AgentMessage, Block, RawTokens, Role, Usage
from agent.tokens import Factor, Limits, Prices
from bench.report import Report
from chat.importers.pi import SessionMessage, parse_session
from demo.api.prompt_cache import PromptCache
from demo.api.tokens import BYTES_PER_TOKEN, count_prompt, without_cache_control

MODEL = "claude-sonnet-5-5"
PRICES = Prices(input=2.0, output=10.0, cache_read=0.1, cache_write=2.5)
LIMITS = Limits(1_000_000, 128_000, 1_000_000, Factor(1.0, 1))
# A session that grew beyond this begins anew at its next prompt: compactions are another subject.
LONGEST_PROMPT = 160_000
TOOLS = ("run", "read", "bash", "edit", "write")


@dataclass(frozen=True, slots=True)
class Session:
    """Messages, and the seconds that passed before each."""

    messages: Sequence[AgentMessage]
    gaps: Sequence[float]


@dataclass(frozen=True, slots=True)
class Mends:
    """What the requests are sent with: a breakpoint where the last one ended, and the thinking of
    finished turns."""

    breakpoint: bool = True
    thinking: bool = True


def make_session(
    turns: int, rounds: int, calls: int, *, result: int = 400, thought: int = 0
) -> Session:
    """An authored session: so many turns of so many rounds, each of so many calls at once with
    `result` tokens each; `thought` tokens of thinking before each reply."""
    messages: list[AgentMessage] = []

    def add(role: Role, *blocks: Block) -> None:
        messages.append(AgentMessage(len(messages) + 1, role, list(blocks), RawTokens(0)))

    for turn in range(turns):
        add("user", _text(f"Task {turn}: mend what fails, and say what it was."))
        for number in range(rounds):
            ids = [f"toolu_{turn}_{number}_{i}" for i in range(calls)]
            add("assistant", *_think(thought), *(_call(call_id) for call_id in ids))
            add("user", *(_result(call_id, "line of a file\n", result) for call_id in ids))
        add("assistant", *_think(thought), _text("It is mended. " * 30))
    return Session(messages, [1.0] * len(messages))


def read_session(path: Path, *, thought: int = 0) -> Session:
    """A recorded session with its pauses; `thought` tokens of thinking before each reply, which
    the file does not have."""
    with path.open("rb") as file:
        recorded = [each for each in parse_session(file).messages if each.blocks]
    messages = [
        AgentMessage(number, each.role, _with_thought(each, thought), RawTokens(0))
        for number, each in enumerate(recorded, 1)
    ]
    times = [each.at.timestamp() if each.at else 0.0 for each in recorded]
    gaps = [max(0.0, b - a) for a, b in zip([times[0], *times], times, strict=False)]
    return Session(messages, gaps)


def price(session: Session, mends: Mends) -> float:
    """US dollars of the prompts of a session; what the replies cost is the same in each case."""
    now = dollars = 0.0
    cache = PromptCache(clock=lambda: now)
    for gap, body in zip(session.gaps, _list_requests(session, mends), strict=True):
        now += gap
        if body:
            dollars += PRICES.dollars(Usage.from_api(cache.account(body).fields()))
    return dollars


def _list_requests(session: Session, mends: Mends) -> Iterator[dict[str, Any] | None]:
    """The request after each message of the user's side, None after the model's."""
    start = prompt = 0
    full = False
    for index, message in enumerate(session.messages):
        if message.is_prompt:
            prompt = index
            start = index if full else start
        if message.role == "assistant":
            yield None
            continue
        context = Context(
            MODEL,
            LIMITS,
            messages=session.messages[start : index + 1],
            tools=[_tool(name) for name in TOOLS],
            thinking_from=0 if mends.thinking else session.messages[prompt].number,
        )
        body = assemble(context).body()
        full = count_prompt(body) > LONGEST_PROMPT
        yield body if mends.breakpoint else _without_last_end(body)


def _without_last_end(body: dict[str, Any]) -> dict[str, Any]:
    """The request with no breakpoint in its messages but the last."""
    *earlier, last = body["messages"]
    plain = [m | {"content": list(map(without_cache_control, m["content"]))} for m in earlier]
    return body | {"messages": [*plain, last]}


def report_session(report: Report, name: str, session: Session) -> None:
    """The price with both mends, and how many times as much it is before and without either."""
    both = price(session, Mends())
    before = price(session, Mends(breakpoint=False, thinking=False))
    report.add(f"{name}.usd", both, "USD")
    report.add(f"{name}.before", before / both, "x", at_least=1.0)
    report.add(f"{name}.no_breakpoint", price(session, Mends(breakpoint=False)) / both, "x")
    report.add(f"{name}.no_thinking", price(session, Mends(thinking=False)) / both, "x")


def run(report: Report, recorded: Sequence[Path] = (), turns: int = 12) -> None:
    """All sessions."""
    for calls in (1, 9, 10, 12):
        report_session(report, f"calls_{calls}", make_session(turns, 6, calls))
    for thought in (200, 800):
        session = make_session(turns, 6, 2, thought=thought)
        report_session(report, f"thinking_{thought}", session)
    report_session(report, "both", make_session(turns, 6, 12, thought=400))
    for path in recorded:
        report_session(report, "recorded", read_session(path))
        report_session(report, "recorded_thinking_300", read_session(path, thought=300))


def _with_thought(message: SessionMessage, thought: int) -> list[Block]:
    blocks = [block for block in message.blocks if block["type"] != "thinking"]
    return [*_think(thought), *blocks] if message.role == "assistant" else blocks


def _think(tokens: int) -> list[Block]:
    block = {"type": "thinking", "thinking": _words("Let me see. ", tokens), "signature": "c2ln"}
    return [block] if tokens else []


def _call(call_id: str) -> Block:
    return {"type": "tool_use", "id": call_id, "name": "run", "input": {"path": call_id}}


def _result(call_id: str, words: str, tokens: int) -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": _words(words, tokens)}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _words(words: str, tokens: int) -> str:
    return words * (tokens * BYTES_PER_TOKEN // len(words))


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "Works on files. " * 60, "input_schema": {}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--session", type=Path, action="append", default=[], help="of pi")
    parser.add_argument("--turns", type=int, default=12, help="of the authored sessions")
    options = parser.parse_args()
    report = Report("Prompt cache in agent work")
    run(report, options.session, options.turns)
    report.print_table()


if __name__ == "__main__":
    main()
