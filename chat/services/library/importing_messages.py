"""Storing the messages of one conversation of an import: those that are not here yet, a few in a
transaction.

An export may have been made while an answer was being written. What a later one holds of it is
stored whole, as another version of that answer.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from agent.errors import ErrorCode
from agent.messages import Block, plain_text, sanitise
from chat.db.rows import insert_row, read_row
from chat.engine.model_server import get_counter
from chat.importers.records import ImportedConversation, ImportedFile, ImportedMessage
from chat.models import (
    Attachment,
    Compaction,
    Conversation,
    Message,
    MessageOrigin,
    SearchEntry,
    Turn,
)
from chat.services.library import attachments, search_index
from chat.services.library.import_files import FileLost, keep_file
from chat.services.turns.message_changes import change_history

# What one transaction stores: on SQLite nobody else can write meanwhile, about 10 ms.
BATCH_MESSAGES = 10
BATCH_CHARACTERS = 16_000
BATCH_FILES = 10  # until their message is stored they count among those that wait to be sent
HOLDER = "import"  # of the turns: no process runs them

# Called after each transaction with the seconds that it took; it may raise to end the import.
AfterWrite = Callable[[float], None]


@dataclass(slots=True)
class Stored:
    """What became of one conversation. Of its messages `added` are new, and `beside` of these
    stand on a branch that is not shown, because it was gone on with here; `known` were here before.
    `lost`: files that could not be kept, each with the reason."""

    conversation_id: UUID | None = None
    is_new: bool = False
    added: int = 0
    known: int = 0
    beside: int = 0
    files: int = 0
    lost: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Place:
    """Where a message of the export stands here. `pk` is None until its transaction."""

    pk: int | None
    position: int


@dataclass(slots=True)
class _New:
    """A message that waits for the next transaction, with its search entry. `earlier`: the message
    here of which it is a later version."""

    origins: Sequence[str]
    row: Message
    place: _Place
    parent: _Place | None
    files: Sequence[Attachment]
    entry: dict[str, Any] | None
    is_on_path: bool
    error: str
    earlier: int | None


class MessageWriter:
    """Stores what is new of one conversation. `path`: the origins of the branch that its export
    shows. `is_new`: the conversation is not listed yet, and nobody writes in it."""

    def __init__(
        self,
        owner: User,
        row: Conversation,
        conversation: ImportedConversation,
        *,
        is_new: bool,
        after_write: AfterWrite,
    ) -> None:
        self._owner = owner
        self._row = row
        self._after_write = after_write
        self._is_new = is_new
        self._messages = conversation.messages
        self._by_origin = {message.origin: message for message in conversation.messages}
        self.path = self._find_path(conversation.leaf)
        self._places, self._deleted, self._ends = self._load_places()
        self._earlier = self._find_earlier()
        self._head = self._find_head()
        self._goes_on = is_new or self._follows_head()
        self._batch: list[_New] = []
        self._characters = self._unlinked = 0
        self._latest = conversation.created_at or timezone.now()
        self._stored = Stored(row.pk, is_new=is_new)

    def store_all(self) -> Stored:
        for message in self._messages:
            self._add(message)
            if self._is_enough():
                self._flush()
        self._flush()
        return self._stored

    def _is_enough(self) -> bool:
        return (
            len(self._batch) >= BATCH_MESSAGES
            or self._characters >= BATCH_CHARACTERS
            or self._unlinked >= BATCH_FILES
        )

    # --- Where messages stand ---

    def _find_path(self, leaf: str | None) -> set[str]:
        current: str | None = leaf if leaf in self._by_origin else self._messages[-1].origin
        path: set[str] = set()
        while (message := self._by_origin.get(current or "")) and message.origin not in path:
            path.add(message.origin)
            current = message.parent
        return path

    def _load_places(self) -> tuple[dict[str, _Place], set[str], set[int | None]]:
        """Where the known messages are, the origins of those that were deleted here, and the
        messages that nothing of an import stands on."""
        known = MessageOrigin.objects.filter(conversation=self._row)
        here = known.filter(message__isnull=False)
        rows = here.values_list("origin", "message", "message__position", "message__parent")
        places, parents = {}, set()
        for origin, pk, position, parent in rows:
            places[origin] = _Place(pk, position)
            parents.add(parent)
        deleted = set(known.filter(message=None).values_list("origin", flat=True))
        return places, deleted, {place.pk for place in places.values()} - parents

    def _find_earlier(self) -> dict[str, int]:
        """Of each answer that had not ended when it was stored, and says more now: its message
        here."""
        earlier = {}
        for message in self._messages:
            origins = _origins(message)
            stored = {self._places[each].pk for each in origins if each in self._places}
            pk = next(iter(stored), None)
            if pk is None or pk not in self._ends or len(stored) > 1:
                continue
            if is_prompt(message) or not self._deleted.isdisjoint(origins):
                continue
            blocks = Message.objects.filter(pk=pk).values_list("blocks", flat=True).first()
            if _says_more(message.blocks, blocks or []):
                earlier[message.origin] = pk
        return earlier

    def _find_head(self) -> int | None:
        """The last message of the branch that is shown here."""
        shown = self._row.messages.filter(active=True).order_by("-position")
        return shown.values_list("pk", flat=True).first()

    def _follows_head(self) -> bool:
        """Whether the export's branch goes on where the shown branch ends: nothing was said here
        since, so what is new there can be shown."""
        new = (m for m in self._messages if m.origin in self.path and not self._is_known(m))
        first = next(new, None)
        if first and (earlier := self._earlier.get(first.origin)):
            is_summarised = Compaction.objects.filter(conversation=self._row, through=earlier)
            return earlier == self._head and not is_summarised.exists()
        parent = self._find_parent(first) if first else None
        return parent is not None and parent.pk == self._head

    def _is_known(self, message: ImportedMessage) -> bool:
        if message.origin in self._earlier:
            return False
        return any(each in self._places or each in self._deleted for each in _origins(message))

    def _find_parent(self, message: ImportedMessage) -> _Place | None:
        """The nearest message before it that is here."""
        origin = message.parent
        seen: set[str] = set()
        while origin is not None and origin not in seen:
            if place := self._places.get(origin):
                return place
            seen.add(origin)
            before = self._by_origin.get(origin)
            origin = before.parent if before else None
        return None

    # --- Collecting ---

    def _add(self, message: ImportedMessage) -> None:
        """Make the row of a new message, and find its files. Counting and finding words is slow, so
        it is done before the transaction."""
        if self._is_known(message):
            self._stored.known += 1
            return
        parent = self._find_parent(message)
        files, lost = self._keep_files(message.files)
        blocks: list[Block] = [*map(attachments.make_reference, files), *sanitise(message.blocks)]
        if lost and not blocks:  # the API takes no message without content
            blocks = [{"type": "text", "text": f"[{' '.join(lost)}]"}]
        self._latest = message.at or self._latest
        row = Message(
            conversation=self._row,
            position=parent.position + 1 if parent else 0,
            role=message.role,
            blocks=blocks,
            text=plain_text(blocks),
            tokens=get_counter().count_blocks(blocks),
            status=message.status,
            stop_reason=message.stop_reason[:40],
            model=message.model[:200],
            source=Message.Source.IMPORT,
            created_at=self._latest,
        )
        if before := self._by_origin.get(message.parent or ""):
            row.parent = Message(blocks=before.blocks)  # what its search entry asks of it
        place = _Place(None, row.position)
        origins = _origins(message)
        self._places |= dict.fromkeys(origins, place)
        entry = search_index.build_entry(self._owner.pk, row)
        on_path = message.origin in self.path
        earlier = self._earlier.get(message.origin)
        self._batch.append(
            _New(origins, row, place, parent, files, entry, on_path, message.error, earlier)
        )
        self._characters += len(row.text)

    def _keep_files(self, files: Sequence[ImportedFile]) -> tuple[list[Attachment], list[str]]:
        """The files that could be stored, and why the others could not."""
        kept, lost = [], []
        for file in files:
            try:
                kept.append(keep_file(self._owner, file))
            except FileLost as error:
                lost.append(str(error))
        self._stored.files += len(kept)
        self._stored.lost += lost
        self._unlinked += len(kept)
        return kept, lost

    # --- Storing ---

    def _flush(self) -> None:
        """Store what was collected, in one transaction."""
        if not self._batch:
            return
        began = perf_counter()
        with transaction.atomic():
            row = read_row(Conversation, lock=True, pk=self._row.pk)
            if row is None:
                raise Conversation.DoesNotExist  # deleted meanwhile
            self._goes_on = self._goes_on and (self._is_new or self._is_undisturbed())
            for number, new in enumerate(self._batch, row.next_number):
                self._insert(new, number)
            self._insert_what_belongs()
            after = row.next_number + len(self._batch)
            # What was reported there was of other requests: other tools, another system prompt.
            values: dict[str, Any] = {"next_number": after, "meter_valid_from": after}
            if not self._is_new:
                values["imported_at"] = timezone.now()
                values["updated_at"] = max(row.updated_at, self._batch[-1].row.created_at)
            change_history(row, **values)
        self._stored.added += len(self._batch)
        self._batch, self._characters, self._unlinked = [], 0, 0
        self._after_write(perf_counter() - began)

    def _is_undisturbed(self) -> bool:
        """Whether nobody has written in the conversation since the last transaction."""
        busy = Turn.objects.filter(conversation=self._row, status__in=Turn.ACTIVE).exists()
        return not busy and self._find_head() == self._head

    def _insert(self, new: _New, number: int) -> None:
        row = new.row
        row.number = number
        row.active = self._goes_on and new.is_on_path
        row.parent_id = new.parent.pk if new.parent else None
        if row.status != Message.Status.COMPLETE:
            row.turn = self._make_turn(row, new.error)
            insert_row(row.turn, as_given=("created_at",))
            row.turn_id = row.turn.pk
        if row.active and new.earlier:
            Message.objects.filter(pk=new.earlier).update(active=False)
        insert_row(row, as_given=("created_at",))
        new.place.pk = row.pk
        if row.active:
            self._head = row.pk
        elif new.is_on_path:
            self._stored.beside += 1

    def _make_turn(self, row: Message, error: str) -> Turn:
        """The turn of an answer that did not end well: it says how it ended."""
        stopped = row.status == Message.Status.INTERRUPTED
        problem = {"code": ErrorCode.IMPORTED, "message": error[:300], "retryable": False}
        return Turn(
            conversation=self._row,
            kind=Turn.Kind.ANSWER,
            status=Turn.Status.CANCELLED if stopped else Turn.Status.FAILED,
            holder=HOLDER,
            lease_expires=row.created_at,
            created_at=row.created_at,
            finished_at=row.created_at,
            error=None if stopped else problem,
        )

    def _insert_what_belongs(self) -> None:
        """Search entries, origins and the links to files."""
        link = Attachment.messages.through
        entries, links, origins = [], [], []
        for new in self._batch:
            pk = new.row.pk
            if new.entry:
                entries.append(SearchEntry(**new.entry | {"message_id": pk}))
            links += [link(attachment_id=file.pk, message_id=pk) for file in new.files]
            origins += [
                MessageOrigin(conversation=self._row, origin=each, message_id=pk)
                for each in new.origins
            ]
            if new.earlier:
                MessageOrigin.objects.filter(message=new.earlier).update(message=pk)
        SearchEntry.objects.bulk_create(entries)
        link.objects.bulk_create(links)
        MessageOrigin.objects.bulk_create(origins, ignore_conflicts=True)


def _origins(message: ImportedMessage) -> list[str]:
    return list(dict.fromkeys([message.origin, *message.origins]))


def is_prompt(message: ImportedMessage) -> bool:
    return message.role == "user" and not any(b["type"] == "tool_result" for b in message.blocks)


def _says_more(blocks: Sequence[Block], stored: Sequence[Block]) -> bool:
    """Whether blocks of an export are more than what was stored of them, files aside."""
    own = [block for block in stored if block["type"] not in ("image", "document")]
    return len(json.dumps(sanitise(blocks))) > len(json.dumps(own))
