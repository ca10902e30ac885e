"""The exchanges of `anthropic_cassettes` and the sessions of `long_sessions`, as values."""

import base64
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent.compaction.skills import HEADINGS
from agent.messages import plain_text
from chat.importers.pi import Session, parse_session
from demo.api.protocol import Envelope, PromptUsage, ScriptedReply, stream_events

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Record:
    """One exchange. `request` is the recorded body, {} where it was not kept."""

    id: str
    path: str
    tags: frozenset[str]
    blob: str | None
    index: int
    request: dict[str, Any]
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def streamed(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def is_message(self) -> bool:
        """A whole reply in one JSON body."""
        if self.status != 200 or self.streamed:
            return False
        try:
            return isinstance(self.message.get("content"), list)
        except (AttributeError, ValueError):
            return False

    @cached_property
    def message(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.body)
        return body

    @property
    def wire(self) -> bytes:
        """What a client that streams would have been sent; a JSON body as the same reply in
        events, cut by `demo.api.protocol`, which shares no code with `agent`."""
        return event_stream(self.message) if self.is_message else self.body

    @property
    def tools(self) -> list[dict[str, Any]]:
        return self.request.get("tools") or []

    @property
    def history(self) -> list[dict[str, Any]]:
        """The messages that were sent, content always as a list of blocks; [] where the request
        itself was malformed."""
        messages = [
            {"role": m["role"], "content": as_blocks(m["content"])}
            for m in self.request.get("messages") or []
        ]
        return messages if all(isinstance(m["content"], list) for m in messages) else []


def as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def load(directory: Path) -> list[Record]:
    """All records of the index that answer a `messages` call."""
    folder = directory / "anthropic_cassettes"
    index = json.loads((folder / "index.json").read_text())
    records = [_record(folder, folder / entry["file"]) for entry in index["records"]]
    assert len(records) == index["count"] > 0, "records are missing"
    found = [record for record in records if record.path == "/v1/messages"]
    assert len(found) == index["tag_counts"].get("endpoint:messages", 0)
    return found


def need(found: Iterable[Kind], what: str) -> Kind:
    """The first that was found; the test is skipped where the data has none."""
    for each in found:
        return each
    pytest.skip(f"the data has no {what}")


def blocks_left_open(body: bytes) -> bool:
    """Whether a stream begins anew in the middle of a block."""
    is_open = False
    for event in body.split(b"\n\n"):
        if b"event: message_start" in event and is_open:
            return True
        if b"event: content_block_start" in event:
            is_open = True
        elif b"event: content_block_stop" in event:
            is_open = False
    return False


def _record(folder: Path, path: Path) -> Record:
    raw = json.loads(path.read_text())
    request, response = raw["request"], raw["response"]
    return Record(
        id=raw["id"],
        path=request["path"].partition("?")[0],
        tags=frozenset(raw["tags"]),
        blob=raw["origin"]["blob"],
        index=raw["origin"]["interaction_index"],
        request=_with_media(request["body"] or {}, folder),
        status=response["status"],
        headers={name.lower(): value for name, value in response["headers"].items()},
        body=response["body_text"].encode(),
    )


def _with_media(value: Any, folder: Path) -> Any:
    """The value with the long base64 strings that are kept beside it."""
    if isinstance(value, list):
        return [_with_media(item, folder) for item in value]
    if not isinstance(value, dict):
        return value
    if "_media_ref" in value:
        return base64.b64encode((folder / value["_media_ref"]).read_bytes()).decode()
    return {key: _with_media(item, folder) for key, item in value.items()}


def event_stream(message: dict[str, Any]) -> bytes:
    """A JSON body as the events of a stream."""
    # The protocol would count thinking by itself, where the recording does not say.
    usage = {"output_tokens_details": None} | message["usage"]
    reply = ScriptedReply(
        blocks=tuple(message["content"]),
        stop_reason=message["stop_reason"],
        stop_sequence=message.get("stop_sequence"),
        stop_details=message.get("stop_details"),
        usage=usage,
        piece_chars=7,
    )
    envelope = Envelope(message["id"], message["model"], PromptUsage(usage["input_tokens"]))
    return b"".join(encode(event) for event in stream_events(reply, envelope))


def encode(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def sessions(records: list[Record]) -> list[list[Record]]:
    """Exchanges of one conversation, in order: each repeats the messages before it and goes on.

    A cassette that starts anew in the middle gives several; single exchanges are left out.
    """
    cassettes = defaultdict(list)
    for record in sorted(records, key=lambda r: (r.blob or r.id, r.index)):
        if record.request and record.status == 200:
            cassettes[record.blob or record.id].append(record)
    found: list[list[Record]] = []
    for cassette in cassettes.values():
        current = [cassette[0]]
        for record in cassette[1:]:
            before = current[-1].history
            if len(record.history) > len(before) and record.history[: len(before)] == before:
                current.append(record)
                continue
            found.append(current)
            current = [record]
        found.append(current)
    return [session for session in found if len(session) > 1]


# --- Long sessions --------------------------------------------------------------------------------


def read(path: Path) -> Session:
    with path.open("rb") as lines:
        return parse_session(lines)


def summary_of(session: Session) -> str:
    """A summary whose bullets rest on what the user asked first."""
    number, words = next(
        (number, " ".join(text.split()[:8]))
        for number, message in enumerate(session.messages, 1)
        if message.role == "user" and len((text := plain_text(message.blocks)).split()) > 3
    )
    return "\n\n".join(f"## {heading}\n\n- {words} [#{number}]" for heading in HEADINGS)
