"""The validator accepts what the API accepts and names what it does not."""

import ast
import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.model import message_rules, rules
from agent.model.rules import find_violations

Body = dict[str, Any]
HEADERS = {"anthropic-version": "2026-10-21", "Authorization": "Bearer k"}
CACHED = {"type": "ephemeral"}


def said(content: Any) -> Body:
    return {"role": "user", "content": content}


def answered(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def text(value: str, **more: Any) -> Body:
    return {"type": "text", "text": value, **more}


def call(call_id: str, name: str = "search") -> Body:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"query": "x"}}


def result(call_id: str, content: Any = "a hit") -> Body:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def thought(**more: Any) -> Body:
    return {"type": "thinking", "thinking": "Hm.", "signature": "s", **more}


SEARCHED: list[Body] = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
]


def tool(name: str) -> Body:
    return {"name": name, "input_schema": {"type": "object", "properties": {}}}


def request() -> Body:
    """A finished turn, then a running one: two parallel calls, answered, with thinking."""
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1000,
        "stream": True,
        "system": [text("Be kind.", cache_control=CACHED), text("# Conversation Summary")],
        "tools": [tool("search"), tool("read")],
        "messages": [
            said("Hello"),
            answered(text("Hi."), call("t0")),
            said([result("t0"), text("and do hurry")]),
            answered(text("Done.")),
            said([text("Look it up.")]),
            answered(thought(), text("I will."), call("t1"), call("t2", "read")),
            said([result("t1"), {**result("t2", [text("two")]), "cache_control": CACHED}]),
        ],
    }


def changed(**fields: Any) -> Body:
    return {**request(), **fields}


GOOD: dict[str, Body] = {
    "whole loop": request(),
    "shortest": {"model": "m", "max_tokens": 1, "messages": [said("Hi")]},
    "system as string": changed(system="Be kind."),
    "same role twice": changed(messages=[said("Hello"), said([text("Are you there?")])]),
    "results in two messages": changed(
        messages=[
            said("Go"),
            answered(call("a"), call("b")),
            said([result("a")]),
            said([result("b"), text("now")]),
        ]
    ),
    "empty result": changed(messages=[said("Go"), answered(call("a")), said([result("a", "")])]),
    "media": changed(
        messages=[
            said(
                [
                    {"type": "image", "source": {"type": "base64", "data": "aGk="}},
                    {"type": "document", "source": {"type": "text", "data": "hi"}},
                    text("What is this?"),
                ]
            )
        ]
    ),
    "an hour before five minutes": changed(
        tools=[
            {**tool("search"), "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            tool("read"),
        ]
    ),
    "redacted thinking": changed(
        messages=[
            said("Go"),
            answered({"type": "redacted_thinking", "data": "x"}, call("a")),
            said([result("a")]),
        ]
    ),
    "a search of the server": changed(
        messages=[said("Go"), answered(*SEARCHED, text("So.")), said("And?")]
    ),
    "a pause in a search": changed(
        messages=[said("Go"), answered(SEARCHED[0], call("a")), said([result("a")])]
    ),
    "thinking of a finished turn": changed(
        messages=[
            said("Hello"),
            answered(thought(), text("Hi."), call("t0")),
            said([result("t0")]),
            answered(thought(), text("Done.")),
            said("Go on"),
        ]
    ),
    "adaptive thinking": changed(thinking={"type": "adaptive"}, tool_choice={"type": "auto"}),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD.keys())
def test_good_requests_pass(body: Body) -> None:
    assert find_violations(body, headers=HEADERS, window=200_000) == []


def message(index: int, value: Body) -> Callable[[Body], None]:
    def damage(body: Body) -> None:
        body["messages"][index] = value

    return damage


def block(index: int, at: int, **fields: Any) -> Callable[[Body], None]:
    def damage(body: Body) -> None:
        body["messages"][index]["content"][at].update(fields)

    return damage


def insert(index: int, at: int, value: Body) -> Callable[[Body], None]:
    return lambda body: body["messages"][index]["content"].insert(at, value)


def top(**fields: Any) -> Callable[[Body], None]:
    return lambda body: body.update(fields)


def without(name: str) -> Callable[[Body], None]:
    return lambda body: body.pop(name) and None


def drop_block(index: int, at: int) -> Callable[[Body], None]:
    return lambda body: body["messages"][index]["content"].pop(at) and None


def late_hour(body: Body) -> None:
    body["messages"][4]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


def thinking_for_an_older_model(body: Body) -> None:
    body["model"] = "claude-sonnet-4-5-20250929"
    insert(1, 0, thought())(body)


def five_breakpoints(body: Body) -> None:
    for place in (body["tools"][0], body["system"][1], body["messages"][4]["content"][0]):
        place["cache_control"] = CACHED


CORRUPTIONS: dict[str, tuple[Callable[[Body], None], str]] = {
    "no_messages": (top(messages=[]), "at least one message"),
    "no_model": (without("model"), "model"),
    "no_max_tokens": (without("max_tokens"), "max_tokens"),
    "zero_max_tokens": (top(max_tokens=0), "at least 1"),
    "assistant_first": (lambda b: b["messages"].pop(0) and None, "first message"),
    "system_role_in_messages": (message(0, {"role": "system", "content": "x"}), "role must be"),
    "blank_string_content": (message(0, said(" \n")), "whitespace"),
    "empty_text_block": (block(4, 0, text=""), "whitespace"),
    "empty_content_list": (message(3, answered()), "must not be empty"),
    "prefill": (lambda b: b["messages"].append(answered(text("Well"))), "prefill"),
    "result_missing": (drop_block(6, 0), "without a tool_result: t1"),
    "results_missing_altogether": (message(6, said("Well?")), "without a tool_result"),
    "call_left_open_at_the_end": (lambda b: b["messages"].pop() and None, "in the next message"),
    "orphan_result": (insert(4, 0, result("t9")), "without a tool_use"),
    "server_call_left_open": (insert(3, 0, SEARCHED[0]), "s tool without its result: s1"),
    "orphan_server_result": (insert(3, 0, SEARCHED[1]), "without the call of the"),
    "result_twice": (insert(6, 0, result("t1")), "more than one"),
    "result_after_text": (insert(6, 0, text("first")), "before all other"),
    "call_id_twice": (block(5, 3, id="t1"), "unique"),
    "call_id_of_an_earlier_turn": (block(5, 2, id="t0"), "unique"),
    "undeclared_tool": (block(5, 2, name="erase"), "undeclared"),
    "tools_forgotten": (without("tools"), "undeclared"),
    "tool_name_twice": (top(tools=[tool("search"), tool("search"), tool("read")]), "unique"),
    "bad_tool_name": (top(tools=[tool("search"), tool("read"), tool("a b")]), "name must match"),
    "unsigned_thinking": (block(5, 0, signature=""), "signature"),
    "thinking_that_the_model_ignores": (thinking_for_an_older_model, "finished turn"),
    "thinking_after_a_call": (insert(5, 4, thought()), "before tool_use"),
    "thinking_at_the_end": (message(3, answered(text("Done."), thought())), "last block"),
    "thinking_of_the_user": (insert(4, 0, thought()), "not allowed"),
    "redacted_thinking_without_data": (
        insert(5, 0, {"type": "redacted_thinking", "data": ""}),
        "data",
    ),
    "five_breakpoints": (five_breakpoints, "5 breakpoints"),
    "breakpoint_on_thinking": (block(5, 0, cache_control=CACHED), "not allowed on thinking"),
    "unknown_ttl": (block(4, 0, cache_control={"type": "ephemeral", "ttl": "1d"}), "5m or 1h"),
    "an_hour_after_five_minutes": (late_hour, "must not come after"),
    "temperature": (top(temperature=0.5), "sampling"),
    "temperature_in_words": (top(temperature="high"), "number"),
    "temperature_too_high": (top(temperature=2.5), "0 to 2"),
    "unknown_effort": (top(output_config={"effort": "huge"}), "effort"),
    "top_k": (top(top_k=5), "sampling"),
    "forced_tool": (top(tool_choice={"type": "tool", "name": "search"}), "forcing"),
    "any_tool": (top(tool_choice={"type": "any"}), "forcing"),
    "thinking_disabled": (
        top(model="claude-opus-5-5", thinking={"type": "disabled"}),
        "disabled",
    ),
    "thinking_budget": (top(thinking={"type": "enabled", "budget_tokens": 2000}), "budget"),
    "document_of_the_assistant": (
        insert(3, 0, {"type": "document", "source": {"type": "text", "data": "x"}}),
        "not allowed",
    ),
    "citations_of_the_user": (block(4, 0, citations=[{"type": "char_location"}]), "citations"),
    "unknown_block": (insert(4, 0, {"type": "video"}), "not allowed"),
    "unknown_field": (top(prompt="x"), "prompt: Extra"),
    "unknown_field_of_a_message": (message(0, {**said("x"), "id": 1}), "Extra"),
    "empty_system_block": (top(system=[text(" ")]), "system.0"),
    "too_large_for_the_window": (top(max_tokens=199_900), "exceed the window"),
    "too_long_a_prompt": (message(0, said("x" * 900_000)), "prompt is too long"),
    "too_many_bytes": (message(0, said("x" * 33 * 1024 * 1024)), "bytes exceed"),
}


@pytest.mark.parametrize(("damage", "named"), CORRUPTIONS.values(), ids=CORRUPTIONS.keys())
def test_each_corruption_is_named(damage: Callable[[Body], None], named: str) -> None:
    body = copy.deepcopy(request())
    damage(body)
    found = find_violations(body, headers=HEADERS, window=200_000)
    assert any(named in line for line in found), found


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"anthropic-version": "2023-06-01", "x-api-key": "k"}, "anthropic-version"),
        ({"anthropic-version": "2026-10-21"}, "Authorization"),
        ({"anthropic-version": "2026-10-21", "authorization": "Basic k"}, "Authorization"),
    ],
)
def test_headers_are_checked(headers: dict[str, str], named: str) -> None:
    assert named in find_violations(request(), headers=headers)[0]
    assert find_violations(request()) == []


def test_counting_needs_no_max_tokens_and_takes_none() -> None:
    body = {key: value for key, value in request().items() if key not in ("max_tokens", "stream")}
    assert find_violations(body, counting=True) == []
    assert find_violations({**body, "max_tokens": 5}, counting=True)


def test_a_temperature_is_valid_only_where_its_server_takes_one() -> None:
    wanted = request() | {"temperature": 1, "output_config": {"effort": "xhigh"}}
    assert find_violations(wanted, sampling=True) == []
    assert find_violations(wanted) == ["temperature: sampling parameters are not supported"]
    assert find_violations(wanted | {"top_p": 0.9}, sampling=True)


@pytest.mark.parametrize("broken", [{"messages": 3}, {"messages": [None]}, {"tools": "x"}, {}])
def test_nonsense_is_reported_and_never_raises(broken: Body) -> None:
    assert find_violations({**request(), **broken}) or broken == {}
    assert find_violations(broken)


def test_the_validator_knows_nothing_of_the_code_that_builds_requests() -> None:
    for module in (rules, message_rules):
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        for node in ast.walk(tree):
            imported = node.module if isinstance(node, ast.ImportFrom) else None
            if imported and imported != "agent.model.message_rules":
                assert imported.partition(".")[0] in sys.stdlib_module_names
