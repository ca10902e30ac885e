"""The Messages API's wire format, without any I/O: bodies, stream events, error bodies.

A `ScriptedReply` says what the model answers. `message_body` renders it as one JSON body and
`stream_events` as the sequence of server-sent events; folding the second gives the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from demo.api.tokens import Block, compact_json, count_blocks, encode_text

Event = dict[str, Any]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
ERROR_MESSAGES = {
    400: "messages: the request is not valid",
    401: "invalid authentication credentials",
    402: "The credit balance is too low.",
    403: "The key is not allowed to use this resource.",
    404: "model: not found",
    413: "Request exceeds the maximum size",
    429: "This request would exceed the rate limit of your organization.",
    500: "Internal server error",
    504: "The request timed out.",
    529: "Overloaded",
}


@dataclass(frozen=True)
class PromptUsage:
    """Where a prompt's tokens were read from. The three parts add up to the whole prompt."""

    input_tokens: int
    cache_creation_5m: int = 0
    cache_creation_1h: int = 0
    cache_read_input_tokens: int = 0

    @property
    def cache_creation_input_tokens(self) -> int:
        return self.cache_creation_5m + self.cache_creation_1h

    @property
    def total(self) -> int:
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    def fields(self, *, cache: bool = True) -> dict[str, Any]:
        """The `usage` fields of the prompt; without the cache's where the server has none."""
        if not cache:
            return {"input_tokens": self.total}
        return {
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.cache_creation_5m,
                "ephemeral_1h_input_tokens": self.cache_creation_1h,
            },
        }


@dataclass(frozen=True)
class Envelope:
    """What surrounds a reply. cache: whether usage has the prompt cache's fields."""

    message_id: str
    model: str
    prompt: PromptUsage
    cache: bool = True


# What only the end of a stream tells.
ENDINGS = ("stop_reason", "stop_sequence", "stop_details", "container")


@dataclass(frozen=True)
class ScriptedReply:
    """What the model answers.

    blocks: content blocks as the API shapes them ({"type": "text", "text": ...}, ...).
    stop_reason: None means "tool_use" if a block is a tool_use, else "end_turn".
    stop_details: for refusals, {"type": "refusal", "category": ..., "explanation": ...}.
    usage: fields that override the counted ones (tokens).
    container: the id of the place where the server's tools ran, "" for none.
    pieces: the exact deltas of the only text block; they must join to its text.
    piece_chars: otherwise text is cut into deltas of this many characters; 0 = one delta.
    """

    blocks: tuple[Block, ...]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    container: str = ""
    pieces: tuple[str, ...] = ()
    piece_chars: int = 24

    def __post_init__(self) -> None:
        texts = [block["text"] for block in self.blocks if block["type"] == "text"]
        if self.pieces and texts != ["".join(self.pieces)]:
            raise ValueError("pieces must join to the text of the only text block")

    @property
    def text(self) -> str:
        """All text blocks joined."""
        return "".join(block["text"] for block in self.blocks if block["type"] == "text")

    @property
    def effective_stop_reason(self) -> str:
        if self.stop_reason is not None:
            return self.stop_reason
        has_call = any(block["type"] == "tool_use" for block in self.blocks)
        return "tool_use" if has_call else "end_turn"


def text(value: str) -> Block:
    """A text block."""
    return {"type": "text", "text": value}


def thinking(value: str, signature: str | None = None) -> Block:
    """A thinking block; the stand-in signature is derived from the text."""
    if signature is None:
        signature = "sig-" + sha256(encode_text(value)).hexdigest()[:40]
    return {"type": "thinking", "thinking": value, "signature": signature}


def redacted_thinking(data: str) -> Block:
    """A redacted_thinking block."""
    return {"type": "redacted_thinking", "data": data}


def tool_use(name: str, arguments: Mapping[str, Any], block_id: str | None = None) -> Block:
    """A tool_use block; without an id it gets one derived from name and arguments."""
    if block_id is None:
        digest = sha256(encode_text(name + compact_json(arguments))).hexdigest()
        block_id = f"toolu_{digest[:20]}"
    return {"type": "tool_use", "id": block_id, "name": name, "input": dict(arguments)}


def refusal(category: str | None = None, explanation: str | None = None) -> ScriptedReply:
    """A refusal: HTTP 200 with no content and stop_details."""
    details = {"type": "refusal", "category": category, "explanation": explanation}
    return ScriptedReply((), stop_reason="refusal", stop_details=details)


def output_usage(reply: ScriptedReply) -> dict[str, Any]:
    """The `usage` fields of the answer, counted by the stand-in."""
    usage: dict[str, Any] = {"output_tokens": max(1, count_blocks(reply.blocks))}
    thoughts = [b for b in reply.blocks if b["type"] in ("thinking", "redacted_thinking")]
    if thoughts:
        usage["output_tokens_details"] = {"thinking_tokens": count_blocks(thoughts)}
    return usage


def message_body(reply: ScriptedReply, envelope: Envelope) -> dict[str, Any]:
    """The JSON body of a plain (not streamed) answer."""
    return {
        "id": envelope.message_id,
        "type": "message",
        "role": "assistant",
        "model": envelope.model,
        "content": list(reply.blocks),
        "stop_reason": reply.effective_stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": dict(reply.stop_details) if reply.stop_details else None,
        "container": {"id": reply.container} if reply.container else None,
        "usage": {
            **envelope.prompt.fields(cache=envelope.cache),
            **output_usage(reply),
            **reply.usage,
        },
    }


def stream_events(reply: ScriptedReply, envelope: Envelope) -> Iterator[Event]:
    """The events of a streamed answer, in order, `ping` included."""
    body = message_body(reply, envelope)
    usage = body["usage"]
    started = {**envelope.prompt.fields(cache=envelope.cache), "output_tokens": 1}
    opened = {**body, "content": [], "stop_reason": None, "stop_sequence": None}
    opened |= {"stop_details": None, "container": None, "usage": started | _input_overrides(reply)}
    yield {"type": "message_start", "message": opened}
    yield {"type": "ping"}
    for index, block in enumerate(reply.blocks):
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": _opening(block),
        }
        for delta in _deltas(block, reply):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {key: body[key] for key in ENDINGS},
        "usage": usage,
    }
    yield {"type": "message_stop"}


def _input_overrides(reply: ScriptedReply) -> dict[str, Any]:
    return {key: value for key, value in reply.usage.items() if "output" not in key}


def _opening(block: Block) -> Block:
    """The block as content_block_start carries it: what deltas will fill is still empty."""
    match block["type"]:
        case "text":
            opening = {**block, "text": ""}
            if block.get("citations"):
                opening["citations"] = []
            return opening
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case "tool_use" | "server_tool_use":
            return {**block, "input": {}}
    return block


def _deltas(block: Block, reply: ScriptedReply) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            for piece in reply.pieces or cut_text(block["text"], reply.piece_chars):
                yield {"type": "text_delta", "text": piece}
            for citation in block.get("citations") or []:
                yield {"type": "citations_delta", "citation": citation}
        case "thinking":
            for piece in cut_text(block["thinking"], reply.piece_chars):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use" | "server_tool_use":
            # The API opens with an empty fragment and sends nothing more for an empty input.
            yield {"type": "input_json_delta", "partial_json": ""}
            if block["input"]:
                for piece in cut_text(json.dumps(block["input"]), reply.piece_chars):
                    yield {"type": "input_json_delta", "partial_json": piece}


def delta_count(reply: ScriptedReply) -> int:
    """How many content_block_delta events the reply streams as."""
    return sum(1 for block in reply.blocks for _ in _deltas(block, reply))


def cut_text(value: str, size: int) -> Sequence[str]:
    """The text in pieces of `size` characters; 0 gives one piece, an empty text none."""
    if not value:
        return []
    step = size or len(value)
    return [value[start : start + step] for start in range(0, len(value), step)]


def encode_event(event: Event) -> bytes:
    """One server-sent event as bytes."""
    # ASCII JSON: lone surrogates in a scripted reply must survive the trip as escapes.
    data = json.dumps(event, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode("ascii")


def error_body(
    status: int, message: str | None = None, *, error_type: str | None = None, request_id: str
) -> dict[str, Any]:
    """The JSON body of an HTTP error."""
    error = {
        "type": error_type or ERROR_TYPES.get(status, "api_error"),
        "message": message or ERROR_MESSAGES.get(status, "Unknown error"),
    }
    # The API's front door answers a 413, without the envelope of the other errors.
    if status == 413:
        return {"error": error}
    return {"type": "error", "error": error, "request_id": request_id}


def prompt_too_long(tokens: int, window: int) -> str:
    """The message of the 400 for a prompt that does not fit."""
    return f"prompt is too long: {tokens} tokens > {window} maximum"


def error_event(error_type: str, message: str | None = None, *, request_id: str) -> Event:
    """An `error` event, which ends a stream that began with HTTP 200."""
    named = {kind: status for status, kind in ERROR_TYPES.items()}
    default = ERROR_MESSAGES.get(named.get(error_type, 500), "Internal server error")
    error = {"details": None, "type": error_type, "message": message or default}
    return {"type": "error", "error": error, "request_id": request_id}
