"""What a model's server runs by itself goes back as it came: calls, results, and what they cite."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent.context.assemble import Context, assemble
from agent.loop import continue_request
from agent.messages import Block
from agent.model.reply import Reply
from agent.model.rules import find_violations
from demo.api.protocol import Envelope, PromptUsage, ScriptedReply, stream_events
from tests.agent.conversations import call, context, fold_message, message, result, text, user

FERRY = {
    "name": "ferry_times",
    "description": "When the ferry leaves.",
    "input_schema": {"type": "object"},
    "defer_loading": True,
}
BY_PATTERN = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
TOOLS = [BY_PATTERN, FERRY]


def served(name: str, call_id: str = "srvtoolu_1", **input: Any) -> Block:
    return {"type": "server_tool_use", "id": call_id, "name": name, "input": input}


def returned(kind: str, content: Any, call_id: str = "srvtoolu_1", **more: Any) -> Block:
    return {"type": kind, "tool_use_id": call_id, "content": content, **more}


FOUND = {
    "type": "tool_search_tool_search_result",
    "tool_references": [{"type": "tool_reference", "tool_name": "ferry_times"}],
}
PAGE = {"type": "web_search_result", "title": "Ferries", "url": "https://f.example"}
CITED = {"type": "web_search_result_location", "url": "https://f.example", "encrypted_index": "Ei"}
FROM_CODE = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
ROUNDS: dict[str, list[Block]] = {
    "a tool that was searched for": [
        text("I look for a tool."),
        served("tool_search_tool_regex", pattern="ferry"),
        returned("tool_search_tool_result", FOUND),
        call("toolu_1", "ferry_times") | {"caller": {"type": "direct"}},
    ],
    "a search that is not over": [
        served("tool_search_tool_regex", pattern="bus"),
        call("toolu_1", "ferry_times"),
    ],
    "a search that failed": [
        served("tool_search_tool_regex", pattern="("),
        returned(
            "tool_search_tool_result",
            {"type": "tool_search_tool_result_error", "error_code": "invalid_pattern"},
        ),
        call("toolu_1", "ferry_times"),
    ],
    "a program that calls": [
        served("code_execution", code="await ferry_times({})"),
        call("toolu_1", "ferry_times") | {"caller": FROM_CODE},
    ],
    "pages that are cited": [
        served("web_search", query="ferries"),
        returned("web_search_tool_result", [PAGE], caller={"type": "direct"}),
        text("It leaves at nine.") | {"citations": [CITED]},
        call("toolu_1", "ferry_times"),
    ],
    "a tool of another server": [
        {
            "type": "mcp_tool_use",
            "id": "mcptoolu_1",
            "name": "tides",
            "server_name": "sea",
            "input": {"day": "Monday"},
        },
        returned("mcp_tool_result", [text("High at six.")], "mcptoolu_1", is_error=False),
        call("toolu_1", "ferry_times"),
    ],
    "a tool of tomorrow": [
        served("map_lookup", place="the pier"),
        returned("map_lookup_tool_result", {"type": "map", "tiles": [[4, 7]]}),
        call("toolu_1", "ferry_times"),
    ],
    "a block of tomorrow": [
        {"type": "sketch", "strokes": [[0, 1], [2, 3]], "of": {"what": "the pier"}},
        call("toolu_1", "ferry_times"),
    ],
}
EACH_ROUND = pytest.mark.parametrize("blocks", ROUNDS.values(), ids=ROUNDS.keys())


def sent(made: Context, tools: Sequence[Block] = TOOLS) -> list[list[Block]]:
    request = assemble(replace(made, tools=tools))
    assert find_violations(request.body()) == []
    return [m["content"] for m in request.messages]


def asked(blocks: list[Block], *after: Block) -> Context:
    answered = message(3, "user", [result("toolu_1", "At nine."), *after])
    return context(user(1, "When?"), message(2, "assistant", blocks), answered)


def closed(blocks: Sequence[Block]) -> list[Block]:
    """What the next reply begins with where a call of the server's is still open."""
    done = {block.get("tool_use_id") for block in blocks}
    return [
        returned(f"{block['name']}_tool_result", {"type": "done"}, block["id"])
        for block in blocks
        if block["type"] == "server_tool_use" and block["id"] not in done
    ]


@EACH_ROUND
@pytest.mark.parametrize("streamed", [True, False])
def test_a_round_goes_back_as_it_came(blocks: list[Block], streamed: bool) -> None:
    reply = Reply()
    if streamed:
        scripted = ScriptedReply(tuple(blocks), piece_chars=3)
        for event in stream_events(scripted, Envelope("msg_1", "m", PromptUsage(9))):
            reply.apply(event)
    else:
        reply = fold_message({"content": blocks, "stop_reason": "tool_use", "usage": {}})
    assert reply.blocks == blocks
    _, back, results = sent(asked(reply.blocks))
    assert back == blocks
    assert results == [result("toolu_1", "At nine.")]


@EACH_ROUND
def test_it_stays_as_it_came_when_the_turn_is_over(blocks: list[Block]) -> None:
    """So the server reads it from its cache."""
    over = asked(blocks)
    after = message(4, "assistant", [*closed(blocks), text("At nine.")])
    messages = sent(replace(over, messages=[*over.messages, after, user(5, "Thanks.")]))
    assert messages[1] == blocks
    assert messages[3] == after.blocks


@pytest.mark.parametrize("name", ["a tool of another server", "a tool of tomorrow"])
def test_what_is_older_than_the_prompt_goes_as_text_where_not_every_server_takes_it(
    name: str,
) -> None:
    """Another server may have written it."""
    old = asked(ROUNDS[name])
    over = replace(old, messages=[*old.messages, user(4, "And back?")], thinking_from=4)
    called, found, ours = sent(over)[1]
    assert (called["type"], found["type"], ours["type"]) == ("text", "text", "tool_use")
    searched = asked(ROUNDS["pages that are cited"])
    over = replace(searched, messages=[*searched.messages, user(4, "And back?")], thinking_from=4)
    assert sent(over)[1] == ROUNDS["pages that are cited"]


def test_a_call_that_waits_for_nothing_goes_as_text() -> None:
    """The turn was stopped: a prompt follows, and no result will."""
    blocks = ROUNDS["a search that is not over"]
    stopped = context(user(1), message(2, "assistant", blocks[:1]), user(3, "Stop."))
    assert sent(stopped)[1] == [text('[tool_search_tool_regex {"pattern": "bus"}]')]
    said_more = sent(asked(blocks, text("Hurry.")))
    assert said_more[1][0]["type"] == "text"
    gone = sent(asked(blocks), tools=[BY_PATTERN])
    assert [block["type"] for block in gone[1]] == ["text", "text"]


def test_a_program_goes_on_where_it_ran() -> None:
    script = ScriptedReply((text("One."),), stop_reason="pause_turn", container="cntr_7")
    reply = Reply()
    for event in stream_events(script, Envelope("msg_1", "m", PromptUsage(9))):
        reply.apply(event)
    assert reply.container == reply.resume().container == "cntr_7"
    request = continue_request(assemble(context(user(1))), reply)
    assert request.body()["container"] == "cntr_7"
    assert find_violations(request.body(), resumed=True) == []
    assert "container" not in assemble(context(user(1))).body()
