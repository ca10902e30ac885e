"""What the page sends over the socket: one type for each frame of docs/protocol.md."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from agent.authorship.quoted import Range
from agent.compaction.policy import Extent
from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.protocol import pasted

MAX_FOCUS = 2_000
MAX_CLIENT_ID = 64
MAX_CALL_ID = 256
DECISIONS = ("once", "always", "deny")  # on a call that waits
EXTENTS = tuple(Extent)
COMMANDS = ("", "compact")  # that can wait in the queue
MOST_ID = 2**63 - 1  # that a database has


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A field with a default may be left out, here and in the others."""

    type: ClassVar = "message.send"
    client_id: str
    text: str
    expected_head: int | None = None
    as_branch: bool = False
    attachments: tuple[str, ...] = ()
    pasted: tuple[Range, ...] | None = None


@dataclass(frozen=True, slots=True)
class AddToQueue:
    """`command`: in place of a message, "" for one; `text` is what follows it."""

    type: ClassVar = "queue.add"
    client_id: str
    text: str
    attachments: tuple[str, ...] = ()
    pasted: tuple[Range, ...] | None = None
    send_now: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class EditQueued:
    type: ClassVar = "queue.edit"
    id: int
    text: str
    pasted: tuple[Range, ...] | None = None


@dataclass(frozen=True, slots=True)
class RemoveQueued:
    type: ClassVar = "queue.remove"
    id: int


@dataclass(frozen=True, slots=True)
class SendQueuedNow:
    type: ClassVar = "queue.now"
    id: int


@dataclass(frozen=True, slots=True)
class ResumeQueue:
    type: ClassVar = "queue.resume"


@dataclass(frozen=True, slots=True)
class StopTurn:
    type: ClassVar = "turn.stop"


@dataclass(frozen=True, slots=True)
class DecideCall:
    type: ClassVar = "tool.decide"
    turn_id: int
    id: str
    decision: str


@dataclass(frozen=True, slots=True)
class Compact:
    type: ClassVar = "compact"
    focus: str = ""
    extent: Extent = Extent.THOROUGH


@dataclass(frozen=True, slots=True)
class CancelCompaction:
    type: ClassVar = "compact.cancel"


@dataclass(frozen=True, slots=True)
class Sync:
    type: ClassVar = "sync"


@dataclass(frozen=True, slots=True)
class Ping:
    type: ClassVar = "ping"


QueueFrame = AddToQueue | EditQueued | RemoveQueued | SendQueuedNow | ResumeQueue
Frame = SendMessage | StopTurn | DecideCall | Compact | CancelCompaction | Sync | Ping | QueueFrame


def parse_frame(data: str | bytes | None) -> Frame:
    """A client's frame; Refused (`bad_frame`) says what is wrong with it."""
    try:
        frame = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise Refused(RefusalCode.BAD_FRAME, "The frame is not valid JSON.") from error
    if not isinstance(frame, dict):
        raise Refused(RefusalCode.BAD_FRAME, "The frame is not a JSON object.")
    match frame.get("type"):
        case SendMessage.type:
            return SendMessage(
                _client_id(frame),
                _string(frame, "text"),
                _number(frame, "expected_head"),
                frame.get("as_branch") is True,
                tuple(_strings(frame, "attachments")),
                pasted.parse_pasted(frame.get("pasted")),
            )
        case AddToQueue.type:
            command = _string(frame, "command", default="")
            if command not in COMMANDS:
                words = f"command must be one of {', '.join(filter(None, COMMANDS))}, or left out."
                raise Refused(RefusalCode.BAD_FRAME, words)
            return AddToQueue(
                _client_id(frame),
                _string(frame, "text", MAX_FOCUS if command else None),
                tuple(_strings(frame, "attachments")),
                pasted.parse_pasted(frame.get("pasted")),
                frame.get("send_now") is True,
                command,
            )
        case EditQueued.type:
            ranges = pasted.parse_pasted(frame.get("pasted"))
            return EditQueued(_id(frame), _string(frame, "text"), ranges)
        case RemoveQueued.type:
            return RemoveQueued(_id(frame))
        case SendQueuedNow.type:
            return SendQueuedNow(_id(frame))
        case ResumeQueue.type:
            return ResumeQueue()
        case StopTurn.type:
            return StopTurn()
        case DecideCall.type:
            turn_id = _number(frame, "turn_id")
            decision = _string(frame, "decision")
            if turn_id is None or decision not in DECISIONS:
                words = f"turn_id must be a number and decision one of {', '.join(DECISIONS)}."
                raise Refused(RefusalCode.BAD_FRAME, words)
            return DecideCall(turn_id, _string(frame, "id", MAX_CALL_ID), decision)
        case Compact.type:
            focus = _string(frame, "focus", MAX_FOCUS, default="").strip()
            extent = _string(frame, "extent", default=Extent.THOROUGH)
            if extent not in EXTENTS:
                words = f"extent must be one of {', '.join(EXTENTS)}."
                raise Refused(RefusalCode.BAD_FRAME, words)
            return Compact(focus, Extent(extent))
        case CancelCompaction.type:
            return CancelCompaction()
        case Sync.type:
            return Sync()
        case Ping.type:
            return Ping()
        case other:
            raise Refused(RefusalCode.BAD_FRAME, f"The type {str(other)[:40]!r} is unknown.")


def _client_id(frame: dict[str, Any]) -> str:
    client_id = _string(frame, "client_id", MAX_CLIENT_ID)
    if not client_id:
        raise Refused(RefusalCode.BAD_FRAME, "client_id is empty.")
    return client_id


def _id(frame: dict[str, Any]) -> int:
    number = _number(frame, "id")
    if number is None or number > MOST_ID:
        raise Refused(RefusalCode.BAD_FRAME, f"id must be a whole number up to {MOST_ID}.")
    return number


def _string(
    frame: dict[str, Any], name: str, limit: int | None = None, default: str | None = None
) -> str:
    value = frame.get(name, default)
    if not isinstance(value, str):
        raise Refused(RefusalCode.BAD_FRAME, f"{name} must be a string.")
    if limit is not None and len(value) > limit:
        raise Refused(RefusalCode.BAD_FRAME, f"{name} is longer than {limit} characters.")
    return sanitise_text(value)


def _strings(frame: dict[str, Any], name: str) -> list[str]:
    value = frame.get(name, [])
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise Refused(RefusalCode.BAD_FRAME, f"{name} must be a list of strings.")


def _number(frame: dict[str, Any], name: str) -> int | None:
    value = frame.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise Refused(RefusalCode.BAD_FRAME, f"{name} must be a whole number from 0.")
