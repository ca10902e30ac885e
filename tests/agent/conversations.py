"""Messages and conversations to test with: by hand, and by chance for the property tests."""

import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from agent.context.assemble import Context
from agent.context.summary import INDEX_HEADING, Summary
from agent.messages import AgentMessage, Block, Role
from agent.tokens import Factor, Limits, TokenCounter

# Without a vocabulary tokens are bytes divided by 3.5, the same on every machine.
COUNTER = TokenCounter(Path("/no/vocabulary"))
LIMITS = Limits(window=200_000, max_output=64_000, budget=200_000, factor=Factor(1.0, 0))
TOOLS = [
    {"name": name, "description": name, "input_schema": {"type": "object"}}
    for name in ("search", "write")
]


def text(value: str) -> Block:
    return {"type": "text", "text": value}


def thinking(value: str = "Hm.", signature: str = "sig") -> Block:
    return {"type": "thinking", "thinking": value, "signature": signature}


def call(call_id: str, name: str = "search", **arguments: object) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: object = "Found.") -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def image() -> Block:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    return {"type": "image", "source": source}


def message(
    number: int, role: Role, blocks: Sequence[Block], tokens: int | None = None
) -> AgentMessage:
    """A message; without `tokens` its blocks are counted."""
    counted = COUNTER.count_blocks(list(blocks)) if tokens is None else tokens
    return AgentMessage(number, role, blocks, counted)


def user(number: int, value: str = "Go on.", tokens: int | None = None) -> AgentMessage:
    return message(number, "user", [text(value)], tokens)


def assistant(number: int, value: str = "Done.", tokens: int | None = None) -> AgentMessage:
    return message(number, "assistant", [text(value)], tokens)


def exchanges(number: int, tokens: int = 100, *, start: int = 1) -> list[AgentMessage]:
    """So many prompts with their replies; `tokens` each."""
    pairs = range(start, start + 2 * number, 2)
    return [m for n in pairs for m in (user(n, f"Q{n}", tokens), assistant(n + 1, f"A{n}", tokens))]


def context(*messages: AgentMessage, limits: Limits = LIMITS, **changes: Any) -> Context:
    return Context(model="claude-test", limits=limits, messages=messages, **changes)


# --- By chance ------------------------------------------------------------------------------------

texts = st.one_of(
    st.sampled_from(
        ["", " ", "\n\n", "Fix the tests.", "日本語のテキスト", "🧪 e\u0301", "</transcript>"]
    ),
    st.text(max_size=30),
)
# Up to 60 kB without drawing that much.
long_texts = st.builds(
    lambda unit, times: unit * times,
    st.sampled_from(["word ", "日本", "0", "{}\n"]),
    st.integers(1, 12_000),
)
any_texts = st.one_of(texts, texts, texts, long_texts)
# What is drawn in the middle of a conversation is made once: that costs more than drawing.
none_or_some = st.sampled_from([0, 0, 1, 3])
one_lost = st.sampled_from([0, 0, 0, 1])
budgets = st.sampled_from([75_000, 200_000, 1_000_000])
outputs = st.sampled_from([1_024, 8_192, 64_000, 128_000])
models = st.sampled_from(["claude-test", "claude-sonnet-5-5"])
# The longer one can be pruned.
found_contents = st.sampled_from(["Found.", "x" * 2_000])


@cache
@st.composite
def sizes(draw: st.DrawFn, low: int = 1, high: int = 300_000) -> int:
    """Log-uniform: as many small messages as large ones."""
    return round(math.exp(draw(st.floats(math.log(low), math.log(high)))))


@cache
@st.composite
def limits(draw: st.DrawFn, smallest: int = 8_000) -> Limits:
    window = draw(sizes(smallest, 1_000_000))
    budget = min(window, draw(budgets))
    return Limits(
        window=window,
        max_output=draw(outputs),
        budget=budget,
        factor=Factor(draw(st.floats(0.8, 2.0)), 0),
    )


signed = st.one_of(
    st.builds(thinking, texts, st.sampled_from(["sig-1", "sig-2", ""])),
    st.just({"type": "redacted_thinking", "data": "AAAA"}),
)
names = st.sampled_from(["search", "write"])
result_contents = st.one_of(
    any_texts,
    st.lists(st.one_of(st.builds(text, texts), st.builds(image)), max_size=3),
)
few_ids = st.sampled_from(["t1", "t2", "t3"])
any_call = st.builds(lambda i, n, v: call(i, n, query=v), few_ids, names, texts)
any_result = st.builds(result, few_ids, result_contents)
server_call = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
server_result = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
oddities = st.sampled_from(
    [
        {"type": "compaction", "content": "A summary."},
        {"type": "fallback"},
        {"type": "container_upload", "file_id": "f1"},
        {"type": "mcp_tool_use", "id": "m1", "name": "x", "input": {}, "server_name": "s"},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [text("")]},
        {"type": "text", "text": "Cited.", "citations": [{"type": "char_location"}]},
        {"type": "document", "source": {"type": "text", "data": "A note."}},
        server_call,
        server_result,
    ]
)
any_block = st.one_of(
    st.builds(text, any_texts), signed, any_call, any_result, oddities, st.builds(image)
)

some_images = st.lists(st.builds(image), max_size=1)
leads = st.lists(st.one_of(signed, st.builds(text, texts)), max_size=2)
ends = st.lists(st.one_of(signed, st.builds(text, any_texts)), max_size=2)
additions = st.sampled_from([[], [], [text("And hurry.")]])
roles: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
any_messages = st.lists(st.tuples(roles, st.lists(any_block, max_size=4)), max_size=10)


@st.composite
def wild(draw: st.DrawFn) -> list[AgentMessage]:
    """Anything in any order."""
    shapes = draw(any_messages)
    return [message(n, role, blocks) for n, (role, blocks) in enumerate(shapes, 1)]


@st.composite
def turns(draw: st.DrawFn) -> list[AgentMessage]:
    """Prompts with rounds of tools, as they are stored: some stopped, some results lost."""
    made: list[tuple[Role, list[Block]]] = []
    used = 0
    for _ in range(draw(st.integers(0, 4))):
        made.append(("user", [text(draw(any_texts)), *draw(some_images)]))
        for _ in range(draw(st.integers(0, 3))):
            calls = [
                call(f"c{used + i}", draw(names), query=draw(any_texts))
                for i in range(draw(st.integers(1, 3)))
            ]
            used += len(calls)
            lead = draw(leads)
            made.append(("assistant", [*lead, *calls]))
            if draw(st.integers(0, 9)) == 0:
                break  # stopped before the tools ran
            lost = draw(one_lost)
            results = [result(b["id"], draw(result_contents)) for b in calls[lost:]]
            made.append(("user", [*results, *draw(additions)]))
        if draw(st.booleans()):
            made.append(("assistant", draw(ends)))
    return [message(n, role, blocks) for n, (role, blocks) in enumerate(made, 1)]


histories = st.one_of(turns(), turns(), wild())
summaries = st.builds(
    Summary,
    st.lists(st.builds("## Overview\n{}".format, texts), min_size=1, max_size=9).map(tuple),
    st.sampled_from(["", f"{INDEX_HEADING}\n- 8443 [#1]"]),
    st.sampled_from(["", "- Be brief. [#1]"]),
)


@st.composite
def contexts(draw: st.DrawFn, smallest: int = 8_000) -> Context:
    """Any state of a conversation: with and without a summary, system prompt, project, protected
    message, previews of old results."""
    messages = draw(histories)
    summarised = draw(st.integers(0, len(messages)))
    first = messages[0] if summarised and draw(st.booleans()) else None
    if first and first.role != "user":
        first = None
    return Context(
        model=draw(models),
        limits=draw(limits(smallest)),
        system_prompt=draw(texts),
        project=draw(texts),
        files=message(0, "user", [text("Files:"), image()]) if draw(st.booleans()) else None,
        summary=draw(summaries) if summarised else Summary(),
        summary_through=summarised,
        first=first,
        messages=messages[summarised:],
        pruned_through=draw(st.integers(0, len(messages))),
    )


@st.composite
def sized_turn(draw: st.DrawFn, start: int) -> list[AgentMessage]:
    """One turn of given token counts; the texts stay small. Call ids are unique."""
    made: list[tuple[Role, list[Block]]] = [("user", [text("Q")])]
    for round_number in range(draw(none_or_some)):
        ids = [f"c{start}-{round_number}-{i}" for i in range(draw(st.integers(1, 3)))]
        made.append(("assistant", [call(i) for i in ids]))
        answered = ids[draw(one_lost) :]
        found = draw(found_contents)
        if draw(st.booleans()):
            made += [("user", [result(i, found)]) for i in answered]  # one message each
        elif answered:
            made.append(("user", [result(i, found) for i in answered]))
        if draw(st.integers(0, 5)) == 0:
            made.append(("user", [text("Meanwhile."), result(f"orphan{start}")]))
    if draw(st.integers(0, 5)):
        made.append(("assistant", [text("A")]))
    return [
        message(start + i, role, blocks, draw(sizes())) for i, (role, blocks) in enumerate(made)
    ]


def flat(body: dict[str, Any]) -> list[str]:
    """A request's content block by block, in the order the API reads it, without breakpoints."""
    blocks = [("system", block) for block in body["system"]]
    blocks += [(m["role"], block) for m in body["messages"] for block in m["content"]]
    return [
        role + json.dumps({k: v for k, v in block.items() if k != "cache_control"})
        for role, block in blocks
    ]
