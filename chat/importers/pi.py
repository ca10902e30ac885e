"""Sessions of the coding agent pi (JSON lines) as messages of ours. Pure: it reads text and knows
no database.

One entry a line. Those of type `message` have the roles user, assistant, toolResult and
bashExecution; the others (model changes, pi's own compactions, …) are about the agent itself. Newer
files give each entry an id and its parent's: then the branch that ends the file is taken.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NoReturn

from agent.messages import Block, Role
from chat.importers.json_bounds import DEPTH, Unreadable, clean_json
from chat.importers.trees import read_time

Entry = dict[str, Any]

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use"}
USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}


class BrokenLine(Exception):
    """A line that is not an entry; the text says why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What was left out, and why. `line` counts from 1."""

    line: int
    reason: str


@dataclass
class SessionMessage:
    """One message to store. `usage` is the API's; `error` in words."""

    role: Role
    blocks: list[Block]
    at: datetime | None = None
    status: Literal["complete", "interrupted", "failed"] = "complete"
    stop_reason: str = ""
    model: str = ""
    usage: dict[str, int] | None = None
    error: str = ""

    @property
    def holds_results(self) -> bool:
        return bool(self.blocks) and all(b["type"] == "tool_result" for b in self.blocks)


@dataclass
class Session:
    """A whole session in order. `model` is the one that answered last."""

    messages: list[SessionMessage] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def model(self) -> str:
        return next((m.model for m in reversed(self.messages) if m.usage and m.model), "")


def parse_session(lines: Iterable[bytes]) -> Session:
    """Read a session; broken lines and unknown content are left out and reported."""
    session = Session()
    entries = list_entries(lines, session.problems)
    for number, entry in _branch(entries):
        if entry.get("type") != "message":
            continue
        try:
            message, left_out = read_message(entry)
        except BrokenLine as broken:
            session.problems.append(Problem(number, str(broken)))
            continue
        session.problems += [Problem(number, reason) for reason in left_out]
        last = session.messages[-1] if session.messages else None
        if last and last.holds_results and message.holds_results:
            last.blocks += message.blocks  # the API takes all results of a round in one message
        else:
            session.messages.append(message)
    return session


def list_entries(lines: Iterable[bytes], problems: list[Problem]) -> list[tuple[int, Entry]]:
    """With the number of its line."""
    entries: list[tuple[int, Entry]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entries.append((number, _entry(line)))
        except BrokenLine as broken:
            problems.append(Problem(number, str(broken)))
    return entries


def _entry(line: bytes) -> Entry:
    def refuse(constant: str) -> NoReturn:
        raise BrokenLine(f"{constant} is not a JSON number")

    def read_float(text: str) -> float:
        number = float(text)
        return number if math.isfinite(number) else refuse(text)

    try:
        entry = json.loads(line, parse_constant=refuse, parse_float=read_float)
    except (ValueError, RecursionError) as error:
        raise BrokenLine("not valid JSON") from error
    entry = clean_json(entry, DEPTH)
    if isinstance(entry, Unreadable):
        raise BrokenLine(entry.reason)
    if not isinstance(entry, dict):
        raise BrokenLine("not a JSON object")
    if not isinstance(entry.get("type"), str):
        raise BrokenLine("no type")
    return entry


def _branch(entries: Sequence[tuple[int, Entry]]) -> Sequence[tuple[int, Entry]]:
    """The entries from the root to the last one; all where they have no ids."""
    by_id = {str(entry["id"]): (number, entry) for number, entry in entries if "parentId" in entry}
    if not by_id:
        return entries
    path = []
    current = str(next(entry["id"] for _, entry in reversed(entries) if "parentId" in entry))
    while found := by_id.pop(current, None):
        path.append(found)
        current = str(found[1]["parentId"])
    return path[::-1]


# --- Messages -------------------------------------------------------------------------------------


def read_message(entry: Entry) -> tuple[SessionMessage, list[str]]:
    """A message, and what of its content was left out."""
    raw = entry.get("message")
    if not isinstance(raw, dict):
        raise BrokenLine("an entry of type message without a message")
    left_out: list[str] = []
    match raw.get("role"):
        case "user":
            message = SessionMessage("user", _blocks(raw, left_out))
        case "assistant":
            message = _answer(raw, left_out)
        case "toolResult":
            message = SessionMessage("user", [_tool_result(raw, left_out)])
        case "bashExecution":
            message = SessionMessage("user", [_text(_shell(raw))])
        case other:
            raise BrokenLine(f"the role {str(other)[:40]!r} is unknown")
    if not message.blocks and message.role == "user":
        raise BrokenLine("a message without content")
    message.at = read_time(raw.get("timestamp")) or read_time(entry.get("timestamp"))
    return message, left_out


def _answer(raw: Entry, left_out: list[str]) -> SessionMessage:
    message = SessionMessage("assistant", _blocks(raw, left_out))
    message.model = str(raw.get("model") or "")
    stop = raw.get("stopReason")
    if stop == "aborted":
        message.status, message.stop_reason = "interrupted", "stopped"
    elif stop == "error":
        message.status = "failed"
        message.error = str(raw.get("errorMessage") or "The answer failed.")
    else:
        message.stop_reason = STOP_REASONS.get(str(stop), str(stop or "end_turn"))
    usage = raw.get("usage")
    if isinstance(usage, dict):
        counts = {ours: _count(usage.get(theirs)) for theirs, ours in USAGE.items()}
        message.usage = counts if any(counts.values()) else None
    return message


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _tool_result(raw: Entry, left_out: list[str]) -> Block:
    content = _blocks(raw, left_out)
    block: Block = {"type": "tool_result", "tool_use_id": _tool_id(raw.get("toolCallId"))}
    if [b["type"] for b in content] == ["text"]:
        block["content"] = content[0]["text"]
    elif content:
        block["content"] = content
    return block | ({"is_error": True} if raw.get("isError") is True else {})


def _shell(raw: Entry) -> str:
    """A command that the user ran, as the user would tell of it."""
    parts = [f"I ran this command:\n\n```sh\n{raw.get('command', '')}\n```"]
    if output := str(raw.get("output") or "").rstrip():
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", output)), 3)
        parts.append(f"It printed:\n\n{fence}\n{output}\n{fence}")
    if raw.get("cancelled"):
        parts.append("I stopped it.")
    elif raw.get("exitCode"):
        parts.append(f"It ended with exit code {raw['exitCode']}.")
    return "\n\n".join(parts)


# --- Content --------------------------------------------------------------------------------------


def _blocks(raw: Entry, left_out: list[str]) -> list[Block]:
    content = raw.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise BrokenLine("content is neither a string nor a list")
    ours = raw.get("api", "anthropic-messages") == "anthropic-messages"
    blocks = []
    for part in content:
        try:
            block = _block(part, signed=ours)
        except BrokenLine as broken:
            left_out.append(str(broken))
            continue
        if block:
            blocks.append(block)
    return blocks


def _block(part: Any, *, signed: bool) -> Block | None:
    """One block, or None where it holds nothing. Signatures of other APIs are not kept."""
    kind = part.get("type") if isinstance(part, dict) else None
    match kind:
        case "text":
            text = part.get("text")
            return _text(text) if isinstance(text, str) and text.strip() else None
        case "thinking":
            return _thinking(part, signed=signed)
        case "toolCall":
            arguments = part.get("arguments")
            return {
                "type": "tool_use",
                "id": _tool_id(part.get("id")),
                "name": str(part.get("name") or "tool"),
                "input": arguments if isinstance(arguments, dict) else {"value": arguments},
            }
        case "image":
            if not isinstance(part.get("data"), str) or not isinstance(part.get("mimeType"), str):
                raise BrokenLine("an image without data")
            source = {"type": "base64", "media_type": part["mimeType"], "data": part["data"]}
            return {"type": "image", "source": source}
    raise BrokenLine(f"content of type {str(kind)[:40]!r} is unknown")


def _thinking(part: Entry, *, signed: bool) -> Block | None:
    signature = part.get("thinkingSignature") if signed else None
    if part.get("redacted"):
        return {"type": "redacted_thinking", "data": signature} if signature else None
    text = part.get("thinking")
    if not isinstance(text, str) or not text.strip():
        return None
    block = {"type": "thinking", "thinking": text}
    return block | ({"signature": signature} if isinstance(signature, str) else {})


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool_id(value: Any) -> str:
    """The API takes letters, digits, `_` and `-`; other APIs' ids have more."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", str(value)) or "none"
