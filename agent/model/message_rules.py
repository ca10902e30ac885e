"""The validator's rules for messages. Only the standard library, see `agent.model.rules`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

USER_BLOCKS = {
    "text",
    "image",
    "document",
    "search_result",
    "tool_result",
    "container_upload",
}
# What else a message of the assistant holds came from the server, and goes back as it came. A
# compaction of the server's needs a header that is never sent.
NOT_OF_ASSISTANT = (USER_BLOCKS - {"text"}) | {"compaction"}
RESULT_BLOCKS = {"text", "image", "document", "search_result", "tool_reference"}
THINKING = {"thinking", "redacted_thinking"}
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass(frozen=True)
class Rules:
    """What the messages are judged against: the names of the declared tools, whether they may end
    with the assistant's words, as where a paused reply is sent back, and whether the model reads
    the thinking of finished turns."""

    tool_names: frozenset[str]
    resumed: bool = False
    keeps_thinking: bool = False


@dataclass
class _Group:
    """Consecutive messages of one role, which the API reads as one."""

    role: str
    first: int
    blocks: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def of(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        return [(place, block) for place, block in self.blocks if block.get("type") == kind]


def find_message_violations(messages: Any, rules: Rules) -> list[str]:
    """Every rule that the messages break."""
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    found: list[str] = []
    groups: list[_Group] = []
    for index, message in enumerate(messages):
        place = f"messages.{index}"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            found.append(f"{place}: role must be user or assistant")
            continue
        found += [
            f"{place}.{name}: Extra inputs are not permitted"
            for name in message
            if name not in ("role", "content")
        ]
        if not groups or groups[-1].role != role:
            groups.append(_Group(role, index))
        found += _content(place, role, message.get("content"), groups[-1])
    if not groups:
        return found
    if groups[0].role != "user":
        found.append("messages.0: the first message must be the user's")
    if groups[-1].role == "assistant" and not rules.resumed:
        found.append(f"messages.{len(messages) - 1}: prefill: the last message must be the user's")
    found += _pairing(groups, rules)
    found += _server_pairing(groups)
    return found + list(_thinking(groups, rules))


def _content(place: str, role: str, content: Any, group: _Group) -> Iterator[str]:
    if isinstance(content, str):
        if not content.strip():
            yield f"{place}: text must contain more than whitespace"
        group.blocks.append((place, {"type": "text", "text": content}))
        return
    if not isinstance(content, list):
        yield f"{place}: content must be a string or a list of blocks"
        return
    if not content:
        yield f"{place}: content must not be empty"
    for at, block in enumerate(content):
        where = f"{place}.content.{at}"
        kind = block.get("type") if isinstance(block, dict) else None
        known = isinstance(kind, str) and kind != ""
        if not known or (kind not in USER_BLOCKS if role == "user" else kind in NOT_OF_ASSISTANT):
            yield f"{where}: a {kind} block is not allowed in a message of the {role}"
            continue
        group.blocks.append((where, block))
        yield from _block(where, role, block)


def _block(where: str, role: str, block: dict[str, Any]) -> Iterator[str]:
    match block["type"]:
        case "text":
            if not isinstance(block.get("text"), str) or not block["text"].strip():
                yield f"{where}: text must contain more than whitespace"
            if role == "user" and block.get("citations"):
                yield f"{where}: citations are not allowed in text of the user"
        case "image" | "document":
            if not isinstance(block.get("source"), dict) or "type" not in block["source"]:
                yield f"{where}: source is required"
        case "thinking":
            if not isinstance(block.get("thinking"), str):
                yield f"{where}: thinking must be a string"
            if not isinstance(block.get("signature"), str) or not block["signature"]:
                yield f"{where}: thinking needs its signature"
        case "redacted_thinking":
            if not isinstance(block.get("data"), str) or not block["data"]:
                yield f"{where}: redacted_thinking needs its data"
        case "tool_use":
            if not TOOL_ID.fullmatch(str(block.get("id", ""))):
                yield f"{where}: tool_use needs an id"
            if not isinstance(block.get("name"), str):
                yield f"{where}: tool_use needs a name"
            if not isinstance(block.get("input"), dict):
                yield f"{where}: tool_use input must be an object"
        case "tool_result":
            yield from _tool_result(where, block)


def _tool_result(where: str, block: dict[str, Any]) -> Iterator[str]:
    if not isinstance(block.get("tool_use_id"), str):
        yield f"{where}: tool_result needs a tool_use_id"
    if not isinstance(block.get("is_error", False), bool):
        yield f"{where}: is_error must be a boolean"
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"{where}: tool_result content must be a string or a list of blocks"
        return
    for inner in content:
        kind = inner.get("type") if isinstance(inner, dict) else None
        if kind not in RESULT_BLOCKS:
            yield f"{where}: a {kind} block is not allowed in a tool_result"
        elif kind == "text" and not str(inner.get("text", "")).strip():
            yield f"{where}: text in a tool_result must contain more than whitespace"


def _pairing(groups: list[_Group], rules: Rules) -> Iterator[str]:
    """Each tool_use has its one tool_result at the head of the next user message."""
    seen: set[str] = set()
    for index, group in enumerate(groups):
        called = {str(b.get("id")) for _, b in groups[index - 1].of("tool_use")} if index else set()
        if group.role == "user":
            yield from _results(group, called)
            continue
        for place, block in group.of("tool_use"):
            call_id = str(block.get("id"))
            if call_id in seen:
                yield f"{place}: tool_use ids must be unique: {call_id}"
            seen.add(call_id)
            if block.get("name") not in rules.tool_names:
                yield f"{place}: tool_use names an undeclared tool: {block.get('name')}"
        last_call = group is groups[-1] and group.of("tool_use")
        if last_call:
            yield f"{last_call[0][0]}: tool_use without a tool_result in the next message"


def _server_pairing(groups: list[_Group]) -> Iterator[str]:
    """A server's tool has its result after it, in the same message or, where code of the server
    waited for results of ours, in a later one. The last message may wait for the server."""
    open_calls: dict[str, str] = {}
    for group in groups:
        for place, block in group.blocks:
            kind = str(block.get("type"))
            if kind.endswith("_tool_use"):
                open_calls[str(block.get("id"))] = place
            elif kind.endswith("_tool_result"):
                call_id = str(block.get("tool_use_id"))
                if open_calls.pop(call_id, None) is None:
                    yield f"{place}: {kind} without the call of the server's tool: {call_id}"
    last = next((g for g in reversed(groups) if g.role == "assistant"), None)
    waiting = {place for place, _ in last.blocks} if last else set()
    for call_id, place in open_calls.items():
        if place not in waiting:
            yield f"{place}: a call of the server's tool without its result: {call_id}"


def _results(group: _Group, called: set[str]) -> Iterator[str]:
    answered: set[str] = set()
    other_came = False
    for place, block in group.blocks:
        if block.get("type") != "tool_result":
            other_came = True
            continue
        call_id = str(block.get("tool_use_id"))
        if call_id not in called:
            yield f"{place}: tool_result without a tool_use in the message before: {call_id}"
        elif call_id in answered:
            yield f"{place}: more than one tool_result for {call_id}"
        elif other_came:
            yield f"{place}: tool_result must come before all other content"
        answered.add(call_id)
    for call_id in sorted(called - answered):
        yield f"messages.{group.first}: tool_use without a tool_result: {call_id}"


def _thinking(groups: list[_Group], rules: Rules) -> Iterator[str]:
    """Order within a message, and no thinking of turns that are over where the model ignores it."""
    turn_start = max(
        (i for i, g in enumerate(groups) if g.role == "user" and not g.of("tool_result")),
        default=0,
    )
    for index, group in enumerate(groups):
        if group.role != "assistant":
            continue
        call_came = False
        for at, (place, block) in enumerate(group.blocks):
            kind = block.get("type")
            call_came = call_came or kind == "tool_use"
            if kind not in THINKING:
                continue
            if index < turn_start and not rules.keeps_thinking:
                yield f"{place}: thinking of a finished turn"
            if call_came:
                yield f"{place}: thinking must come before tool_use"
            if at == len(group.blocks) - 1:
                yield f"{place}: the last block of the assistant must not be thinking"
