"""What the server sends over the socket: one type for each event of docs/protocol.md.

These are data and render nothing. `chat.protocol.from_rows` makes those that hold HTML.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from chat.html.summarised import Summarised
from chat.protocol.parts import Breakdown, Totals, TurnState


@dataclass(frozen=True, slots=True)
class Event:
    """`type` is the event's name in its frame."""

    type: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """The event as its frame carries it; events in its fields stay as they are."""
        # `type` is the first of these. `fields` would take far longer, and this runs per delta.
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def _as_dict(value: object) -> dict[str, Any]:
    if not isinstance(value, Event):
        raise TypeError(f"An event cannot hold a {type(value).__name__}.")
    return value.as_dict()


def encode_frame(event: Event) -> bytes:
    """An event's frame, in UTF-8."""
    try:
        return orjson.dumps(
            event.as_dict(), default=_as_dict, option=orjson.OPT_PASSTHROUGH_DATACLASS
        )
    except orjson.JSONEncodeError:  # half of a surrogate pair has no UTF-8, but an escape
        return json.dumps(event.as_dict(), default=_as_dict).encode()


# --- The context ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContextUsage(Event):
    """How full the context is. `ratio` and `trigger` are shares of the budget."""

    type = "context.usage"
    used: int
    budget: int
    window: int
    ratio: float
    trigger: float
    estimated: bool
    automatic: bool
    held: bool
    ready: bool
    note: str
    breakdown: Breakdown
    totals: Totals
    summarised: list[Summarised]


# --- Compactions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompressionStarted(Event):
    """`elapsed` seconds ago. `why` is the trigger in words; of the `messages_before` that are sent
    word for word, `messages` are summarised."""

    type = "CompressionStarted"
    conversation_id: str
    compaction_id: int
    trigger: str
    why: str
    messages: int
    messages_before: int
    tokens_before: int
    elapsed: float


@dataclass(frozen=True, slots=True)
class CompressionProgress(Event):
    type = "CompressionProgress"
    conversation_id: str
    compaction_id: int
    text: str


@dataclass(frozen=True, slots=True)
class CompressionCompleted(Event):
    """There is exactly one for each CompressionStarted."""

    type = "CompressionCompleted"
    conversation_id: str
    compaction_id: int
    success: bool
    error: str
    cancelled: bool
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    trigger: str
    why: str
    engine: str  # the method; the frame's name for it
    note: str
    after_message_id: int
    html: str


@dataclass(frozen=True, slots=True)
class CompactionPrepared(Event):
    """A summary was written in the background and waits to be used."""

    type = "compaction.prepared"
    id: int


@dataclass(frozen=True, slots=True)
class SummaryChanged(Event):
    """The summary says something else: it was edited, lost a part or got it back. `html` is the
    divider of the version that is current now."""

    type = "summary.changed"
    id: int
    after_message_id: int
    html: str


@dataclass(frozen=True, slots=True)
class CompactionReverted(Event):
    type = "compaction.reverted"
    id: int


# --- The turn that runs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    type = "turn.started"
    turn_id: int
    kind: str


@dataclass(frozen=True, slots=True)
class TurnDelta(Event):
    """Text to append at `offset`, in UTF-16 units."""

    type = "turn.delta"
    turn_id: int
    message_id: int | None
    seq: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnBlock(Event):
    """The HTML of the text up to `through`, in UTF-16 units, from where the last one ended."""

    type = "turn.block"
    turn_id: int
    message_id: int | None
    seq: int
    through: int
    html: str


@dataclass(frozen=True, slots=True)
class TurnThinking(Event):
    """Without a `seq`: what is lost comes with the finished message."""

    type = "turn.thinking"
    turn_id: int
    message_id: int | None
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnNotice(Event):
    """A degraded mode: its code, and the same in words."""

    type = "turn.notice"
    turn_id: int
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnFinished(Event):
    """`usage` is the API's, `error` an `AgentError` as a dictionary in the reader's language."""

    type = "turn.finished"
    turn_id: int
    kind: str
    status: str
    message_id: int | None
    html: str
    stop_reason: str
    usage: dict[str, Any] | None
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    type = "tool.started"
    turn_id: int
    message_id: int | None
    id: str
    name: str
    html: str


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    type = "tool.finished"
    turn_id: int | None
    message_id: int
    id: str
    name: str
    failed: bool
    seconds: float
    html: str


@dataclass(frozen=True, slots=True)
class QuestionAsked(Event):
    """`id` begins with `call-` or `memory-`."""

    type = "question.asked"
    id: str
    html: str


@dataclass(frozen=True, slots=True)
class QuestionClosed(Event):
    type = "question.closed"
    id: str


# --- The conversation and the site ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """All that a page needs to be right, whatever it has missed."""

    type = "snapshot"
    conversation_id: str
    title: str
    head: int
    turn: TurnState | None
    compaction: CompressionStarted | None
    usage: ContextUsage
    questions: str
    budget: str
    queue: "QueueChanged"


@dataclass(frozen=True, slots=True)
class MessageCreated(Event):
    type = "message.created"
    id: int
    number: int
    role: str
    status: str
    client_id: str | None
    html: str


@dataclass(frozen=True, slots=True)
class MessageDeleted(Event):
    type = "message.deleted"
    id: int


@dataclass(frozen=True, slots=True)
class MessagesLeftOut(Event):
    """Messages that the context does without from now on, or that are put back into it."""

    type = "messages.left_out"
    ids: list[int]
    left_out: bool


@dataclass(frozen=True, slots=True)
class BranchChanged(Event):
    """Another branch is shown after the position `after`."""

    type = "branch.changed"
    after: int


@dataclass(frozen=True, slots=True)
class QueueChanged(Event):
    """All that waits in the queue now. `client_ids`: by which their authors' pages know them."""

    type = "queue.changed"
    count: int
    client_ids: list[str]
    html: str


@dataclass(frozen=True, slots=True)
class ConversationUpdated(Event):
    type = "conversation.updated"
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class ConversationDeleted(Event):
    type = "conversation.deleted"
    id: str


@dataclass(frozen=True, slots=True)
class ProjectsChanged(Event):
    """One has come, gone, or has another name."""

    type = "projects.changed"


@dataclass(frozen=True, slots=True)
class BudgetLine(Event):
    """Words for a line above the chat: how much of a budget is spent. Empty: the line goes."""

    type = "budget.state"
    text: str


@dataclass(frozen=True, slots=True)
class AnnouncementChanged(Event):
    """An administrator tells everybody something else than before."""

    type = "announcement.changed"


@dataclass(frozen=True, slots=True)
class SiteState(Event):
    """Words for a banner while a part of the server is away; empty: everything works again."""

    type = "site.state"
    text: str


@dataclass(frozen=True, slots=True)
class Pong(Event):
    """The answer to `ping`: the connection lives."""

    type = "pong"


@dataclass(frozen=True, slots=True)
class SendWaiting(Event):
    """What this tab sent waits until `before` others have begun; `why`: in words, where it is not
    that many begin."""

    type = "send.waiting"
    before: int
    client_id: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Error(Event):
    """A frame that was refused; `retry_after` in seconds."""

    type = "error"
    code: str
    message: str
    retryable: bool
    retry_after: int | None
    client_id: str | None
