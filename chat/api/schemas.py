"""What the API takes and says, as its OpenAPI document describes it."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field, Schema
from pydantic import AfterValidator, BaseModel, ConfigDict

from agent.clock import find_zone
from agent.compaction.policy import Extent
from chat.protocol.frames import MAX_FOCUS

MOST_LISTED = 100  # of one page of a list
LONGEST_TITLE, LONGEST_PROMPT = 200, 100_000  # characters, as in the dialogs
LONGEST_WAIT = 60  # seconds: proxies give up an answer that is silent for longer
# What both databases can store as the number of a row or of a message.
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
RowId = Annotated[int, Field(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Field(ge=1, le=MOST_LISTED)]


def _check_zone(name: str) -> str:
    if name and not find_zone(name):
        raise ValueError("This is no time zone. One is named as Europe/Berlin.")
    return name


TimeZone = Annotated[
    str,
    Field(max_length=64, description="As Europe/Berlin; else the site's."),
    AfterValidator(_check_zone),
]


class Body(BaseModel):
    """A JSON object that is sent. Ninja's own class would take other values for one."""

    model_config = ConfigDict(extra="forbid")


# --- Errors ---------------------------------------------------------------------------------------


class FieldErrorOut(Schema):
    field: str
    message: str


class ErrorDetail(Schema):
    code: str = Field(description="For programs: it stays when the words change.")
    message: str = Field(description="For people, with the next step.")
    retry_after: int | None = Field(None, description="Seconds until another try makes sense.")
    fields: list[FieldErrorOut] | None = Field(None, description="What is wrong, where.")


class ErrorOut(Schema):
    error: ErrorDetail


ERRORS = 400, 401, 403, 404, 409, 413, 422, 429, 500, 503


# --- Messages and turns ---------------------------------------------------------------------------


class FileOut(Schema):
    id: UUID
    name: str
    kind: str = Field(description="image, pdf or text")
    tokens: int = Field(description="An estimate.")
    size: int = Field(description="Bytes of what is sent to the model.")


class MessageOut(Schema):
    number: int = Field(description="Counts up in the conversation and never changes.")
    parent: int | None = Field(description="The number of the message before it.")
    role: str
    status: str
    text: str
    blocks: list[dict[str, Any]] = Field(description="The content blocks of the Messages API.")
    active: bool = Field(description="Whether it is on the branch that is shown and sent.")
    left_out: bool = Field(description="Whether its user keeps it out of the context.")
    source: str = Field(description="web, api, slack, import or schedule")
    model: str
    stop_reason: str
    usage: dict[str, Any] | None
    files: list[FileOut]
    created_at: datetime


class MessagesOut(Schema):
    """A part of a branch, oldest first."""

    items: list[MessageOut]
    earlier: int | None = Field(description="Pass it as `before` for the page before this one.")
    later: int | None = Field(description="Pass it as `after` for the page after this one.")


class TurnErrorOut(Schema):
    code: str
    message: str
    retryable: bool = Field(False, description="Whether another try may succeed.")


class TurnOut(Schema):
    """From a message to the end of its answer, or one compaction."""

    id: int
    kind: Literal["answer", "compact"]
    status: Literal[
        "queued", "compacting", "running", "completed", "failed", "cancelled", "interrupted"
    ]
    error: TurnErrorOut | None
    notice: str = Field(description="What the turn had to do without, in words; else empty.")
    prompt: int | None = Field(description="The number of the message that it answers.")
    message: MessageOut | None = Field(description="The last message that it has written.")
    created_at: datetime
    finished_at: datetime | None


class SendIn(Body):
    text: str = ""
    files: list[UUID] = Field(
        default=[], max_length=100, description="Ids of files that were uploaded."
    )
    expected_head: Number | None = Field(
        None,
        description="The number of the message that you know as the last one, 0 for none: 409 "
        "where the conversation went on from there.",
    )
    time_zone: TimeZone = ""
    stream: bool = Field(False, description="Answer with server-sent events.")
    wait: int = Field(
        LONGEST_WAIT,
        ge=0,
        le=LONGEST_WAIT,
        description="Seconds to wait for the whole answer where it is not streamed. If it is not "
        "done by then, the answer is 202 with the turn as it is.",
    )


class QueuedIn(Body):
    text: str = ""
    files: list[UUID] = Field(default=[], max_length=100)
    time_zone: TimeZone = ""
    send_now: bool = Field(False, description="In between two tool rounds of what runs.")


class ProblemOut(Schema):
    code: str
    message: str


class QueuedOut(Schema):
    id: int
    text: str
    command: str = Field(description="compact, or empty for a message.")
    source: str
    send_now: bool
    problem: ProblemOut | None = Field(description="Why it did not go out.")
    files: list[FileOut]
    created_at: datetime


class QueueOut(Schema):
    items: list[QueuedOut]


class AgainIn(Body):
    model: str = Field("", max_length=200, description="Answers this once.")
    stream: bool = False
    wait: int = Field(LONGEST_WAIT, ge=0, le=LONGEST_WAIT)


class EditIn(Body):
    text: str
    stream: bool = False
    wait: int = Field(LONGEST_WAIT, ge=0, le=LONGEST_WAIT)


class CompactIn(Body):
    focus: str = Field("", max_length=MAX_FOCUS, description="What to keep in particular.")
    extent: Extent = Extent.THOROUGH
    stream: bool = False
    wait: int = Field(LONGEST_WAIT, ge=0, le=LONGEST_WAIT)


# --- Conversations --------------------------------------------------------------------------------


class ConversationOut(Schema):
    id: UUID
    title: str
    model: str
    project: UUID | None
    pinned: bool
    archived: bool
    temporary: bool
    system_prompt: str
    compaction_enabled: bool
    keep_first_message: bool
    context_budget: int | None = Field(description="Tokens; null: the site's default.")
    created_at: datetime
    updated_at: datetime = Field(description="Of the last message.")


class ConversationsOut(Schema):
    items: list[ConversationOut]
    next: str | None = Field(description="Pass it as `cursor` for the next page.")


class ConversationIn(Body):
    title: str = Field("", max_length=LONGEST_TITLE)
    model: str = Field("", max_length=200, description="Else the project's, or your default.")
    project: UUID | None = None
    system_prompt: str = Field("", max_length=LONGEST_PROMPT)
    temporary: bool = Field(False, description="Not listed, and deleted after a day.")


class ConversationChange(Body):
    """What is not sent stays as it is."""

    title: str | None = Field(None, max_length=LONGEST_TITLE)
    model: str | None = Field(None, max_length=200)
    project: UUID | None = None
    pinned: bool | None = None
    archived: bool | None = None
    system_prompt: str | None = Field(None, max_length=LONGEST_PROMPT)
    compaction_enabled: bool | None = None
    keep_first_message: bool | None = None
    context_budget: Number | None = None


class BranchOut(Schema):
    tip: int = Field(description="The number of its last message.")
    messages: int = Field(description="How many there are from the beginning to its end.")
    active: bool
    text: str = Field(description="How its last message begins.")
    created_at: datetime


class BranchesOut(Schema):
    items: list[BranchOut]
    next: int | None = Field(description="Pass it as `before` for older branches.")


# --- Summaries ------------------------------------------------------------------------------------


class ChapterOut(Schema):
    first: int
    through: int
    text: str


class CompactionOut(Schema):
    id: int
    status: str
    occasion: str = Field(description="Its trigger, or what made it: edit, rebuild, rewrite.")
    current: bool
    reverted: bool
    first: int
    through: int
    messages: int
    model: str
    method: str
    focus: str
    error: str
    tokens_before: int
    tokens_after: int
    created_at: datetime
    finished_at: datetime | None


class CompactionTextOut(CompactionOut):
    summary: str = Field(description="Exactly as it is sent.")
    chapters: list[ChapterOut]


class CompactionsOut(Schema):
    items: list[CompactionOut]
    next: int | None = Field(description="Pass it as `before` for older ones.")


# --- The rest -------------------------------------------------------------------------------------


class HitOut(Schema):
    conversation: UUID
    title: str
    number: int
    role: str
    active: bool
    whole: bool = Field(description="Whether it has all of the words.")
    text: str
    created_at: datetime


class HitsOut(Schema):
    items: list[HitOut]


class ModelOut(Schema):
    name: str
    display_name: str
    context_window: int
    max_output: int
    default: bool


class ModelsOut(Schema):
    items: list[ModelOut]


class ProjectOut(Schema):
    id: UUID
    name: str
    archived: bool


class ProjectsOut(Schema):
    items: list[ProjectOut]


class MeOut(Schema):
    username: str
    scopes: list[str]
    expires_at: datetime | None = Field(description="Of the token.")


class ImportFileIn(Body):
    name: str = Field(max_length=200)
    size: RowId = Field(description="Bytes.")


class ImportIn(Body):
    files: list[ImportFileIn] = Field(max_length=1_000)


class ImportFileOut(Schema):
    id: int
    name: str
    size: int
    received: int = Field(description="Bytes that are here.")


class ImportOut(Schema):
    id: UUID
    status: str
    bytes_total: int
    bytes_read: int
    totals: dict[str, Any]
    error: str
    files: list[ImportFileOut]
    piece_bytes: int = Field(description="The most that a piece may have.")
    created_at: datetime
    finished_at: datetime | None


class ImportsOut(Schema):
    items: list[ImportOut]


class PieceOut(Schema):
    received: int


class SumsOut(Schema):
    calls: int
    input_tokens: int = Field(description="All that was sent, from a cache or not.")
    output_tokens: int
    dollars: str


class UsageOut(Schema):
    month: str
    total: SumsOut
    days: dict[str, SumsOut]
    models: dict[str, SumsOut]
    kinds: dict[str, SumsOut]
