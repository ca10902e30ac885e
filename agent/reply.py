"""Folding stream events into a reply, and what each stop reason means."""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from agent.errors import DAMAGED, AgentError, gettext_noop
from agent.messages import Block, Usage, joins, sound

Event = dict[str, Any]


class Outcome(Enum):
    """What the turn does next."""

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


@dataclass
class Reply:
    """One reply, complete or so far. `usage` is that of its last call; `paused` that of the calls
    before it, which the server had paused, and whose blocks it begins with."""

    blocks: list[Block] = field(default_factory=list)
    stop_reason: str = ""
    stop_details: dict[str, Any] | None = None
    usage: Usage = field(default_factory=Usage)
    raw_usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    complete: bool = False
    paused: Usage = field(default_factory=Usage)
    _pieces: dict[int, list[str]] = field(default_factory=dict)  # of the blocks that are open

    def __post_init__(self) -> None:
        self._before = len(self.blocks)

    def resumed(self) -> "Reply":
        """The reply that continues this paused one."""
        return Reply(blocks=list(self.blocks), paused=self.paused + self.usage)

    @property
    def calls(self) -> list[Block]:
        """The tool calls that wait for results of ours."""
        return [block for block in self.blocks if block["type"] == "tool_use"]

    def apply(self, event: Event) -> str:
        """Fold in one stream event; the text that a reader sees of it, mostly "".

        Raises AgentError for an event that does not fit. What follows the end is ignored.
        """
        if self.complete:
            return ""
        try:
            return self._apply(event)
        except (AttributeError, LookupError, TypeError) as error:
            raise AgentError("stream_cut", DAMAGED, retryable=True) from error

    @staticmethod
    def thought(event: Event) -> str:
        """The thinking that one event brings, mostly ""."""
        if event["type"] != "content_block_delta":
            return ""
        thought: str = event["delta"].get("thinking", "")
        return thought

    def _apply(self, event: Event) -> str:
        kind = event.get("type")
        if kind == "content_block_delta":
            index, delta = event["index"] + self._before, event["delta"]
            if delta["type"] == "text_delta":
                text: str = delta["text"]
                self._pieces[index].append(text)
                return text
            self._apply_delta(index, delta)
        elif kind == "content_block_start":
            return self._start(event["index"] + self._before, event["content_block"])
        elif kind == "content_block_stop":
            self._close(event["index"] + self._before)
        elif kind == "message_start":
            self.model = event["message"].get("model", "")
            self._add_usage(event["message"].get("usage"))
        elif kind == "message_delta":
            self.stop_reason = event["delta"].get("stop_reason") or self.stop_reason
            self.stop_details = event["delta"].get("stop_details") or self.stop_details
            self._add_usage(event.get("usage"))
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
                blocks.append(block | {"text": "".join(self._pieces[index])})
        result: list[Block] = sound([b for b in blocks if b["type"] != "text" or b["text"].strip()])
        return result

    def _start(self, index: int, block: Block) -> str:
        given = {k: v for k, v in block.items() if v is not None}
        unanswerable = block["type"].endswith("tool_use") and not {"id", "name"} <= given.keys()
        if index != len(self.blocks) or unanswerable:
            raise LookupError(index)
        self.blocks.append(given)
        begun = block.get("thinking" if block["type"] == "thinking" else "text")
        self._pieces[index] = [begun] if begun else []
        before = self.blocks[-2] if index else None
        later = block["type"] == "text" and any(b["type"] == "text" for b in self.blocks[:-1])
        return ("\n\n" if later and not joins(before, given) else "") + (block.get("text") or "")

    def _apply_delta(self, index: int, delta: dict[str, Any]) -> None:
        kind = delta["type"]
        block = self.blocks[index]
        if kind == "input_json_delta":
            self._pieces[index].append(delta["partial_json"])
        elif kind == "thinking_delta":
            self._pieces[index].append(delta["thinking"])
        elif kind == "signature_delta":
            block["signature"] = delta["signature"]
        elif kind == "citations_delta":
            block.setdefault("citations", []).append(delta["citation"])
        elif kind == "compaction_delta":
            block["content"] = (block.get("content") or "") + (delta.get("content") or "")

    def _close(self, index: int) -> None:
        if index not in self._pieces:
            return
        pieces = "".join(self._pieces.pop(index))
        block = self.blocks[index]
        if block["type"] in ("text", "thinking"):
            block[block["type"]] = pieces
        elif block["type"].endswith("tool_use"):
            block["input"] = _tool_input(pieces or json.dumps(block.get("input") or {}))
        self.blocks[index] = sound(block)

    def _add_usage(self, usage: dict[str, Any] | None) -> None:
        # Values of later events are cumulative and replace earlier ones.
        self.raw_usage |= {k: v for k, v in (usage or {}).items() if v is not None}
        self.usage = Usage.from_api(self.raw_usage)


def _tool_input(pieces: str) -> dict[str, Any]:
    """The API lets a model write invalid JSON, and takes only objects back; the tool's error then
    tells the model."""
    try:
        value = json.loads(pieces)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid_json": pieces}


def outcome(reply: Reply) -> Outcome:
    """What a complete reply means. Raises AgentError for refusals and unknown stop reasons."""
    result = OUTCOMES.get(reply.stop_reason)
    if result is None:
        raise AgentError(
            "unknown_stop_reason",
            gettext_noop(
                "The model stopped for a reason that Everlong does not know. What it wrote is kept."
            ),
            said=reply.stop_reason,
        )
    if result is Outcome.FAIL:
        raise AgentError(
            "refused",
            gettext_noop("The model declined to answer this. Rephrase or change the request."),
            said=str((reply.stop_details or {}).get("category") or ""),
        )
    return result


def message_events(message: dict[str, Any]) -> list[Event]:
    """The events that would have streamed a message which came whole. `message["content"]` is a
    list of objects."""
    events: list[Event] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(message["content"]):
        at = {"index": index}
        kind = block.get("type")
        told = kind if kind in ("text", "thinking") else None  # what a reader sees comes as a delta
        begun = block | {told: ""} if told else block
        events.append({"type": "content_block_start", "content_block": begun} | at)
        if told:
            delta = {"type": f"{told}_delta", told: block.get(told, "")}
            events.append({"type": "content_block_delta", "delta": delta} | at)
        events.append({"type": "content_block_stop"} | at)
    ended = {name: message.get(name) for name in ("stop_reason", "stop_details")}
    events.append({"type": "message_delta", "delta": ended, "usage": message.get("usage")})
    return [*events, {"type": "message_stop"}]


def fold_message(message: dict[str, Any]) -> Reply:
    """A reply from the body of a call that did not stream."""
    reply = Reply()
    for event in message_events(message):
        reply.apply(event)
    return reply
