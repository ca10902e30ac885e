"""The browser protocol's schema: what clients may send. docs/protocol.md has both directions."""

import json
from dataclasses import dataclass
from typing import Any

from agent.compaction.quoted import Range
from agent.messages import sound_text
from chat.errors import Refused
from chat.protocol import pasted

MAX_FOCUS = 2_000
MAX_CLIENT_ID = 64
MAX_CALL_ID = 256
DECISIONS = ("once", "always", "deny")  # on a call that waits


@dataclass(frozen=True, slots=True)
class SendMessage:
    client_id: str
    text: str
    expected_head: int | None
    as_branch: bool = False
    files: tuple[str, ...] = ()
    pasted: tuple[Range, ...] | None = None


@dataclass(frozen=True, slots=True)
class StopTurn:
    pass


@dataclass(frozen=True, slots=True)
class DecideCall:
    turn_id: int
    call_id: str
    decision: str


@dataclass(frozen=True, slots=True)
class Compact:
    focus: str


@dataclass(frozen=True, slots=True)
class CancelCompaction:
    pass


@dataclass(frozen=True, slots=True)
class Sync:
    pass


Frame = SendMessage | StopTurn | DecideCall | Compact | CancelCompaction | Sync


def parse(data: str | bytes | None) -> Frame:
    """A client's frame; Refused("bad_frame") says what is wrong with it."""
    try:
        frame = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise Refused("bad_frame", "The frame is not valid JSON.") from error
    if not isinstance(frame, dict):
        raise Refused("bad_frame", "The frame is not a JSON object.")
    match frame.get("type"):
        case "message.send":
            client_id = _string(frame, "client_id", MAX_CLIENT_ID)
            if not client_id:
                raise Refused("bad_frame", "client_id is empty.")
            return SendMessage(
                client_id,
                _string(frame, "text"),
                _number(frame, "expected_head"),
                frame.get("as_branch") is True,
                tuple(_strings(frame, "attachments")),
                pasted.checked(frame.get("pasted")),
            )
        case "turn.stop":
            return StopTurn()
        case "tool.decide":
            turn_id = _number(frame, "turn_id")
            decision = _string(frame, "decision")
            if turn_id is None or decision not in DECISIONS:
                words = f"turn_id must be a number and decision one of {', '.join(DECISIONS)}."
                raise Refused("bad_frame", words)
            return DecideCall(turn_id, _string(frame, "id", MAX_CALL_ID), decision)
        case "compact":
            return Compact(_string(frame, "focus", MAX_FOCUS, default="").strip())
        case "compact.cancel":
            return CancelCompaction()
        case "sync":
            return Sync()
        case other:
            raise Refused("bad_frame", f"The type {str(other)[:40]!r} is unknown.")


def _string(
    frame: dict[str, Any], name: str, limit: int | None = None, default: str | None = None
) -> str:
    value = frame.get(name, default)
    if not isinstance(value, str):
        raise Refused("bad_frame", f"{name} must be a string.")
    if limit is not None and len(value) > limit:
        raise Refused("bad_frame", f"{name} is longer than {limit} characters.")
    return sound_text(value)


def _strings(frame: dict[str, Any], name: str) -> list[str]:
    value = frame.get(name, [])
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise Refused("bad_frame", f"{name} must be a list of strings.")


def _number(frame: dict[str, Any], name: str) -> int | None:
    value = frame.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise Refused("bad_frame", f"{name} must be a whole number from 0.")
