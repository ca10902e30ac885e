"""Folding stream events into a reply, and what each stop reason means."""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from agent.errors import DAMAGED, TOO_MUCH, AgentError, ErrorCode, gettext_noop
from agent.messages import Block, Usage, continues_text, sanitise, sanitise_text
from agent.model.event_rules import (
    MOST_CITATIONS,
    check_block,
    check_citation,
    read_optional_object,
    read_optional_text,
    read_stop_reason,
    require_index,
    require_object,
    require_storable,
    require_text,
)
from agent.model.written import Written

StreamEvent = dict[str, Any]

# Characters that a model writes in one reply. 128,000 tokens have half a million, in the languages
# with the longest tokens a million. All of it is stored each second, shown and searched.
MOST_WRITTEN = 4_000_000
MOST_BLOCKS = 20_000


class Outcome(Enum):
    """What the turn does after a reply."""

    FINISH = "finish"
    CUT = "cut"  # finished at the output limit: say so
    TOOLS = "tools"
    RESEND = "resend"  # the server paused a long turn: send the reply back as it is
    OVERFLOW = "overflow"  # the reply ran into the window: compact
    FAIL = "fail"


OUTCOMES = {
    "end_turn": Outcome.FINISH,
    "stop_sequence": Outcome.FINISH,
    "max_tokens": Outcome.CUT,
    "tool_use": Outcome.TOOLS,
    "pause_turn": Outcome.RESEND,
    "model_context_window_exceeded": Outcome.OVERFLOW,
    "refusal": Outcome.FAIL,
}
# The ending of a block's type, by the type of the deltas that go into it.
_WITHIN = {
    "text_delta": "text",
    "input_json_delta": "tool_use",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "citations_delta": "text",
    "compaction_delta": "compaction",
}
# The fields that deltas add to, by the type of their block.
_WRITTEN = {"text": "text", "thinking": "thinking", "compaction": "content"}


@dataclass
class Reply:
    """One reply, complete or so far. `usage` and `request_id` are those of its last call;
    `resumed`: the server had paused the one before, and it begins with the blocks of that.
    `container`: the id of the place where the server runs its tools, "" for none."""

    blocks: list[Block] = field(default_factory=list)
    stop_reason: str = ""
    stop_details: dict[str, Any] | None = None
    usage: Usage = field(default_factory=Usage)
    raw_usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    container: str = ""
    complete: bool = False
    resumed: bool = False
    is_reported: bool = False  # its usage is that of its end
    request_id: str = ""
    written: Written = field(default_factory=Written)  # by its last call
    _pieces: dict[int, list[str]] = field(default_factory=dict)  # of the blocks that are open

    def __post_init__(self) -> None:
        self._before = len(self.blocks)
        self._calls = {b["id"] for b in self.blocks if b["type"].endswith("tool_use")}
        self._has_text = any(b["type"] == "text" for b in self.blocks)
        self._written = 0

    def resume(self) -> "Reply":
        """The reply that continues this paused one."""
        resumed = Reply(blocks=list(self.blocks), container=self.container, resumed=True)
        resumed._written = self._written
        return resumed

    def begin_again(self) -> None:
        """Its last call is repeated, as it broke off before it wrote anything."""
        self.usage, self.raw_usage, self.model, self.request_id = Usage(), {}, "", ""
        self.is_reported = False

    @property
    def begun(self) -> bool:
        """Whether the server has answered its last call at all."""
        return bool(self.model or self.raw_usage or len(self.blocks) > self._before)

    @property
    def settled(self) -> bool:
        """Whether what it reported for its last call is all that this has cost."""
        return self.is_reported and (self.complete or bool(self.stop_reason))

    @property
    def searches(self) -> int:
        """How often its last call searched the web so far."""
        new = self.blocks[self._before :]
        return sum(b["type"] == "server_tool_use" and b["name"] == "web_search" for b in new)

    @property
    def calls(self) -> list[Block]:
        """The tool calls that wait for results of ours."""
        return [block for block in self.blocks if block["type"] == "tool_use"]

    def apply(self, event: StreamEvent) -> str:
        """Fold in one stream event; the text that a reader sees of it, mostly "".

        Raises AgentError for an event that does not fit. What follows the end is ignored.
        """
        if self.complete:
            return ""
        try:
            return self._apply(event)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise AgentError(ErrorCode.STREAM_CUT, DAMAGED, retryable=True) from error

    @staticmethod
    def read_thinking(event: StreamEvent) -> str:
        """The thinking that one event brings, mostly "". It has been applied."""
        if event["type"] != "content_block_delta" or event["delta"]["type"] != "thinking_delta":
            return ""
        thought: str = event["delta"]["thinking"]
        return thought

    def _apply(self, event: StreamEvent) -> str:
        kind = event.get("type")
        if kind == "content_block_delta":
            index, delta = require_index(event) + self._before, event["delta"]
            if delta["type"] == "text_delta" and self.blocks[index]["type"] == "text":
                text = require_text(delta, "text")
                self._write(index, text)
                return text
            self._apply_delta(index, delta)
        elif kind == "content_block_start":
            return self._start(require_index(event) + self._before, event["content_block"])
        elif kind == "content_block_stop":
            self._close(require_index(event) + self._before)
        elif kind == "message_start":
            message = require_object(event, "message")
            self.model = read_optional_text(message, "model")
            self._enter(message)
            self._add_usage(read_optional_object(message, "usage"))
        elif kind == "message_delta":
            delta = require_object(event, "delta")
            self.stop_reason = read_stop_reason(delta) or self.stop_reason
            self.stop_details = (
                require_storable(read_optional_object(delta, "stop_details")) or self.stop_details
            )
            self._enter(delta)
            usage = read_optional_object(event, "usage")
            self._add_usage(usage)
            # Some servers report nothing, or noughts: no request has none.
            told = usage.get("output_tokens") is not None
            self.is_reported = told and self.usage.request_tokens > 0
        elif kind == "message_stop":
            # A block that ran into the output limit may lack its own end.
            for index in list(self._pieces):
                self._close(index)
            self.complete = True
        return ""

    def partial_blocks(self) -> list[Block]:
        """The blocks so far, with the text of the open one: what is kept of a stopped reply. Tool
        calls and thinking that were not finished are left out."""
        open_blocks = set(self._pieces)
        blocks: list[Block] = []
        for index, block in enumerate(self.blocks):
            if index not in open_blocks:
                blocks.append(block)
            elif block["type"] == "text":
                blocks.append(sanitise(block | {"text": "".join(self._pieces[index])}))
        return [b for b in blocks if b["type"] != "text" or b["text"].strip()]

    def _start(self, index: int, block: Any) -> str:
        if index != len(self.blocks) or index > MOST_BLOCKS:
            raise LookupError(index)
        given = check_block(block, self._calls)
        self.blocks.append(given)
        self._pieces[index] = []
        if given["type"] in _WRITTEN:
            self._write(index, read_optional_text(given, _WRITTEN[given["type"]]))
        if given["type"].endswith("tool_use"):
            self._count(len(json.dumps(given.get("input"))))
        if given["type"] != "text":
            return ""
        before = self.blocks[-2] if index else None
        gap = "\n\n" if self._has_text and not continues_text(before, given) else ""
        self._has_text = True
        return gap + read_optional_text(given, "text")

    def _write(self, index: int, piece: str) -> None:
        """Add to an open block what was written; at the limit, the part that fits."""
        if piece:
            self._pieces[index].append(piece[: MOST_WRITTEN - self._written])
            self.written.add(piece)
        self._count(len(piece))

    def _count(self, characters: int) -> None:
        self._written += characters
        if self._written > MOST_WRITTEN:
            raise AgentError(ErrorCode.STREAM_CUT, TOO_MUCH, retryable=True)

    def _apply_delta(self, index: int, delta: dict[str, Any]) -> None:
        kind, block = require_text(delta, "type"), self.blocks[index]
        if index not in self._pieces:  # it is closed
            raise LookupError(index)
        if not block["type"].endswith(_WITHIN.get(kind, "")):
            raise LookupError(kind)
        if kind == "input_json_delta":
            self._write(index, require_text(delta, "partial_json"))
        elif kind == "thinking_delta":
            self._write(index, require_text(delta, "thinking"))
        elif kind == "signature_delta":
            block["signature"] = require_text(delta, "signature")
        elif kind == "citations_delta":
            citations = block.setdefault("citations", [])
            citations.append(check_citation(delta["citation"]))
            if len(citations) > MOST_CITATIONS:
                raise ValueError("too many citations")
        elif kind == "compaction_delta":
            self._write(index, read_optional_text(delta, "content"))

    def _close(self, index: int) -> None:
        if index not in self._pieces:
            return
        pieces = "".join(self._pieces.pop(index))
        block = self.blocks[index]
        if block["type"] in ("text", "thinking"):
            block[block["type"]] = pieces
        elif block["type"] == "compaction" and pieces:
            block["content"] = pieces
        elif block["type"].endswith("tool_use"):
            block["input"] = _tool_input(pieces or json.dumps(block.get("input") or {}))
        self.blocks[index] = sanitise(block)

    def _enter(self, told: dict[str, Any]) -> None:
        container = sanitise_text(read_optional_text(read_optional_object(told, "container"), "id"))
        self.container = container or self.container

    def _add_usage(self, usage: dict[str, Any]) -> None:
        # Values of later events are cumulative and replace earlier ones.
        told = {k: v for k, v in require_storable(usage).items() if v is not None}
        self.usage = Usage.from_api(self.raw_usage | told)
        self.raw_usage |= sanitise(told)


def _tool_input(pieces: str) -> dict[str, Any]:
    """The API lets a model write invalid JSON, and takes only objects back; the tool's error then
    tells the model."""
    try:
        value = require_storable(json.loads(pieces))
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"invalid_json": pieces}


def read_outcome(reply: Reply) -> Outcome:
    """What a complete reply means. Raises AgentError for refusals and unknown stop reasons."""
    result = OUTCOMES.get(reply.stop_reason)
    if result is None:
        raise AgentError(
            ErrorCode.UNKNOWN_STOP_REASON,
            gettext_noop(
                "The model stopped for a reason that Everlong does not know. What it wrote is kept."
            ),
            said=reply.stop_reason,
        )
    if result is Outcome.FAIL:
        raise AgentError(
            ErrorCode.REFUSED,
            gettext_noop("The model declined to answer this. Rephrase or change the request."),
            said=str((reply.stop_details or {}).get("category") or ""),
        )
    return result


def split_into_events(message: dict[str, Any]) -> list[StreamEvent]:
    """The events that would have streamed a message which came whole. Raises AgentError where it is
    not a message."""
    content = message.get("content")
    if (
        not isinstance(content, list)
        or len(content) > MOST_BLOCKS
        or not all(isinstance(block, dict) for block in content)
    ):
        raise AgentError(ErrorCode.STREAM_CUT, DAMAGED, retryable=True)
    events: list[StreamEvent] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(content):
        at = {"index": index}
        kind = block.get("type")
        told = kind if kind in ("text", "thinking") else None  # what a reader sees comes as a delta
        begun = block | {told: ""} if told else block
        events.append({"type": "content_block_start", "content_block": begun} | at)
        if told:
            delta = {"type": f"{told}_delta", told: block.get(told, "")}
            events.append({"type": "content_block_delta", "delta": delta} | at)
        events.append({"type": "content_block_stop"} | at)
    ended = {name: message.get(name) for name in ("stop_reason", "stop_details", "container")}
    events.append({"type": "message_delta", "delta": ended, "usage": message.get("usage")})
    return [*events, {"type": "message_stop"}]
