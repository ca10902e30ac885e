"""What an import of any format is made of. Pure data: it knows no database.

A format's module reads an archive and yields these one by one. What it cannot use it counts: each
part of an export is kept, hidden, dropped with a reason, or a file that is missing.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, Literal

from agent.messages import Block, Role


@dataclass(slots=True)
class Tally:
    """What became of the messages (nodes, entries) of a conversation or of a whole archive.
    `hidden`: read, and not shown, such as a system prompt; by reason, as `dropped`. `missing`: the
    names of files whose bytes the archive does not hold. `unknown`: content of types that nobody
    here knows, which is kept as it stands there; by type."""

    kept: int = 0
    hidden: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.kept += other.kept
        self.hidden += other.hidden
        self.dropped += other.dropped
        self.missing += other.missing
        self.unknown += other.unknown


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file of a message or a project. `open` gives its bytes, when they are wanted: a file may be
    large, and few are held at once."""

    name: str
    open: Callable[[], BinaryIO]
    media_type: str = ""


@dataclass(slots=True)
class ImportedMessage:
    """One message of ours: of an answer, everything between two messages of its user, in as many
    messages as its tool calls need. `origin` is its id there, `origins` are all that went into it,
    the first one too; `parent` is the `origin` of the message before it, None at a beginning.
    `blocks` are the API's; a block of a file stands for itself in `files`, which go before them.
    Signatures are never among them. `error`: in words."""

    origin: str
    parent: str | None
    role: Role
    blocks: list[Block]
    origins: list[str] = field(default_factory=list)
    files: list[ImportedFile] = field(default_factory=list)
    at: datetime | None = None
    status: Literal["complete", "interrupted", "failed"] = "complete"
    stop_reason: str = ""
    model: str = ""
    error: str = ""


@dataclass(slots=True)
class ImportedProject:
    """A project that conversations name by `origin`; `name` is "" where the export does not say."""

    origin: str
    name: str = ""
    instructions: str = ""
    files: list[ImportedFile] = field(default_factory=list)
    created_at: datetime | None = None


@dataclass(slots=True)
class ImportedConversation:
    """A conversation. Of `messages` each stands after its parent; `leaf` is the `origin` of the
    last one on the branch that is shown, None: the newest. `project`: the `origin` of one."""

    origin: str
    messages: list[ImportedMessage]
    leaf: str | None = None
    title: str = ""
    model: str = ""
    system_prompt: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    project: str | None = None
    archived: bool = False
    pinned: bool = False
    account: str = ""
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class Offered:
    """What an export holds of its user, for their decision; of a project where it names one."""

    kind: Literal["instructions", "memory"]
    text: str
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """An element that is no conversation of ours: `name` for the report, and why."""

    name: str
    reason: str
    candidate: bool = True  # it looked like a conversation: many of which none converts is an error


Imported = ImportedConversation | ImportedProject | Offered | Skipped
