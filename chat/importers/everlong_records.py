"""Everlong's own format, version 1, field by field: what an export writes and an import takes.

Most fields are columns of the tables, by their names; `docs/export_format.md` says what each means.
Reading is strict: what a column, a page or a request could not take is an error that names the
field. Fields that are not known are left out.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    model_validator,
)

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.instructions.pins import PinState
from agent.compaction.policy import Origin, Trigger
from agent.search.exact_values import Weight
from chat.importers.everlong_checks import (
    LARGEST,
    check_block,
    check_compaction_settings,
    check_json,
    check_usage,
    check_zone,
    parse_moment,
)
from chat.models import Compaction, Memory, MemoryProposal, Message, Turn
from chat.models.notices import Notice

FORMAT, VERSION = "everlong", 1

Moment = Annotated[datetime, BeforeValidator(parse_moment)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Number = Annotated[int, Field(ge=1, le=LARGEST)]
Key = Annotated[int, Field(ge=1, le=2**63 - 1)]
Name = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=50_000_000)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False), Strict(False)]
Json = Annotated[dict[str, Any], AfterValidator(check_json)]
Range = Annotated[list[Count], Field(min_length=2, max_length=2)]


class Record(BaseModel):
    """A row as JSON."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


# --- Settings -------------------------------------------------------------------------------------


class ToolSettings(Record):
    """Of `Conversation.tool_settings`, without the servers that may act without asking: who imports
    decides that anew."""

    web: bool | None = None
    mcp: list[Name] | None = None
    off: list[Literal["history", "memory"]] | None = None


class ReplySettings(Record):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    thinking: Literal["on", "off"] | None = None
    temperature: Annotated[float, Field(ge=0, le=2), Strict(False)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


# --- A conversation -------------------------------------------------------------------------------


class ConversationRecord(Record):
    """The conversation itself. `compaction`: the `id` of the version that is current; `project`:
    that of a project in the same archive."""

    id: str = Field(min_length=1, max_length=64)
    title: Name = ""
    title_edited: bool = False
    model: Name
    system_prompt: str = Field(default="", max_length=100_000)
    pinned: bool = False
    archived: bool = False
    created_at: Moment
    updated_at: Moment | None = None
    project: Annotated[str, Field(max_length=64)] | None = None
    compaction_enabled: bool = True
    context_budget: Annotated[int, Field(ge=1_000, le=LARGEST)] | None = None
    keep_first_message: bool = True
    compaction_settings: Annotated[Json, AfterValidator(check_compaction_settings)] = {}
    tool_settings: ToolSettings = ToolSettings()
    reply_settings: ReplySettings = ReplySettings()
    memory_text: str = Field(default="", max_length=400_000)
    next_number: Number = 1
    compaction: Key | None = None
    compaction_held: bool = False
    compactions_completed: Count = 0
    record_through: Count = 0
    pruned_through: Count = 0
    long_pause: Seconds | None = None
    pauses_covered: Count = 0
    tokens_covered: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0


class FileRecord(Record):
    """A file that messages refer to by `id`, as it was uploaded. Its bytes are in the archive at
    `path`, or here in base64 (`data`); neither: they are gone."""

    id: str = Field(min_length=1, max_length=64)
    name: Name
    media_type: str = Field(default="", max_length=80)
    path: Annotated[str, Field(max_length=1_000)] | None = None
    data: str | None = None


class ErrorRecord(Record):
    """Of `Turn.error`; see `agent.errors.AgentError`."""

    code: str = Field(default="", max_length=60)
    message: str = Field(default="", max_length=10_000)
    said: str = Field(default="", max_length=10_000)
    retryable: bool = False
    retry_after: Seconds | None = None


class TurnRecord(Record):
    """A turn; messages and versions name it by `id`."""

    id: Key
    kind: Annotated[Turn.Kind, Strict(False)]
    status: Annotated[Turn.Status, Strict(False)]
    model: Name = ""
    focus: str = Field(default="", max_length=10_000)
    error: ErrorRecord | None = None
    notice: Annotated[Notice, Strict(False)] | Literal[""] = ""
    notice_about: str = Field(default="", max_length=10_000)
    created_at: Moment
    finished_at: Moment | None = None


class CallRecord(Record):
    """How a tool call ended: of `Message.calls`. `made`: false for one that was one too many."""

    text: Text | None = None
    omitted: Count | None = None
    failed: bool | None = None
    seconds: Seconds | None = None
    links: list[Json] | None = None
    files: list[Json] | None = None
    made: bool | None = None


class MessageRecord(Record):
    """A message. `parent` and the citations of summaries name others by their `number`."""

    number: Number
    parent: Number | None = None
    position: Count
    shown: bool
    left_out: bool = False
    role: Annotated[Message.Role, Strict(False)]
    blocks: list[Json] = Field(max_length=100_000)
    pasted: list[Range] | None = None
    calls: dict[str, CallRecord] = {}
    status: Annotated[Message.Status, Strict(False)] = Message.Status.COMPLETE
    stop_reason: str = Field(default="", max_length=40)
    model: Name = ""
    usage: Annotated[Json, AfterValidator(check_usage)] | None = None
    source: Annotated[Message.Source, Strict(False)] = Message.Source.WEB
    turn: Key | None = None
    created_at: Moment
    time_zone: Annotated[str, Field(max_length=64), AfterValidator(check_zone)] = ""
    time_line: str = Field(default="", max_length=250)
    time_told: Moment | None = None
    sent_in_part: bool = False
    cut_factor: Annotated[float, Field(ge=0, le=100), Strict(False)] = 0.0

    @model_validator(mode="after")
    def check(self) -> "MessageRecord":
        for block in self.blocks:
            check_block(block, self.role)
        if self.parent is not None and self.parent >= self.number:
            raise ValueError("a message follows one with a smaller number")
        return self


# --- Versions of a summary ------------------------------------------------------------------------


class ChapterRecord(BaseModel):
    """A chapter as `agent.compaction.chapters.chapter` stores it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: Text
    first: Count
    through: Count
    depth: Count = 1
    level: Count = 1
    pins: list[tuple[Count, Text] | tuple[Count, Text, PinState, Count, bool]] = []
    index: list[tuple[Text, Count, Text] | tuple[Text, Count, Text, Weight]] = []
    gap: bool = False
    by_rule: bool = False
    left_out: list[Count] = []
    own: list[Text] = []
    withheld: list[tuple[Text, list[Count]]] = []
    parts: list[tuple[Count, Count, Text]] = []
    quotes: list[tuple[Text, Count, Text]] = []
    days: tuple[str, str] | None = None

    def as_chapter(self) -> Chapter:
        return Chapter.from_dict(self.model_dump())

    @model_validator(mode="after")
    def check(self) -> "ChapterRecord":
        self.as_chapter()  # ValueError for days that are none
        return self


class FailureRecord(Record):
    """A way to write a summary that was tried, and why it did not do."""

    step: str = Field(default="", max_length=200)
    cause: str = Field(default="", max_length=10_000)
    code: str = Field(default="", max_length=60)
    said: str = Field(default="", max_length=10_000)


class AuditRecord(Record):
    """Of `Compaction.audit`; see `agent.audit.audit.Findings`."""

    bullets: Count | None = None
    calls: Count | None = None
    dropped: list[Text] | None = None
    unverified: list[Text] | None = None
    left_out: list[Text] | None = None
    unread_messages: Count | None = None
    unread_tokens: Count | None = None
    given_back: list[Text] | None = None
    cut: list[Text] | None = None
    left: list[Text] | None = None
    borne_out: list[Text] | None = None
    not_pinned: list[Text] | None = None
    unwritten: list[Text] | None = None
    ended: list[Text] | None = None
    failures: list[FailureRecord] | None = None
    dollars: dict[Name, Seconds] | None = None


class VersionRecord(Record):
    """A version of the summary, or an attempt at one. `first` and `through` are numbers of
    messages; `previous`, `replaces` and `turn` are `id`s of the same conversation."""

    id: Key
    turn: Key | None = None
    previous: Key | None = None
    replaces: Key | None = None
    first: Number
    through: Number
    messages: Count
    trigger: Annotated[Trigger, Strict(False)] | Literal[""] = ""
    origin: Annotated[Origin, Strict(False)] = Origin.COMPACTION
    focus: str = Field(default="", max_length=10_000)
    method: str = Field(default="", max_length=40)
    method_reason: Name = ""
    model: Name
    prompt_version: str = Field(default="", max_length=40)
    status: Annotated[Compaction.Status, Strict(False)]
    reverted: bool = False
    chapters: list[ChapterRecord] = Field(default=[], max_length=10_000)
    summary: Text = ""
    audit: AuditRecord = AuditRecord()
    tokens_before: Count = 0
    tokens_after: Count = 0
    messages_before: Count = 0
    messages_after: Count = 0
    error: str = Field(default="", max_length=10_000)
    created_at: Moment
    started_at: Moment | None = None
    finished_at: Moment | None = None


# --- Projects and the account ---------------------------------------------------------------------


class FactRecord(Record):
    """A fact that is remembered, and in which message of which conversation it was said."""

    text: str = Field(min_length=1, max_length=500)
    source: Annotated[Memory.Source, Strict(False)] = Memory.Source.USER
    conversation: Annotated[str, Field(max_length=64)] | None = None
    message_number: Count | None = None
    created_at: Moment
    updated_at: Moment | None = None


class ProposalRecord(Record):
    """A change of what is remembered that waits for a decision; to forget a fact, its text."""

    kind: Annotated[MemoryProposal.Kind, Strict(False)]
    text: str = Field(min_length=1, max_length=500)
    project: Annotated[str, Field(max_length=64)] | None = None
    conversation: str = Field(max_length=64)
    message_number: Count
    created_at: Moment


class ProjectRecord(Record):
    """A project with its files and facts."""

    id: str = Field(min_length=1, max_length=64)
    name: str = Field(min_length=1, max_length=100)
    instructions: str = Field(default="", max_length=20_000)
    model: Name = ""
    context_budget: Annotated[int, Field(ge=1_000, le=LARGEST)] | None = None
    archived: bool = False
    created_at: Moment
    files: list[FileRecord] = Field(default=[], max_length=1_000)
    facts: list[FactRecord] = Field(default=[], max_length=10_000)


class MemoryRecord(Record):
    """What is remembered of a person, outside of projects, and all proposals."""

    facts: list[FactRecord] = Field(default=[], max_length=10_000)
    proposals: list[ProposalRecord] = Field(default=[], max_length=10_000)


class PreferencesRecord(Record):
    """Of the account's settings."""

    language: str = Field(default="", max_length=20)
    appearance: str = Field(default="", max_length=20)
    default_model: Name = ""
