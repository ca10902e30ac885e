"""Storing the turns and messages of a conversation that comes back, as they were: a few in a
transaction, so that nobody who writes meanwhile waits for it."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from accounts.models import User
from agent.messages import plain_text
from chat.db.rows import insert_row
from chat.engine.model_server import get_counter
from chat.errors import RefusalCode, Refused
from chat.importers.everlong_records import MessageRecord, TurnRecord
from chat.models import Attachment, Conversation, Message, MessageOrigin, SearchEntry, Turn
from chat.services.library import search_index
from chat.services.library.importing_messages import (
    BATCH_CHARACTERS,
    BATCH_MESSAGES,
    HOLDER,
    AfterWrite,
)
from chat.services.library.restoring_files import RestoredFiles


@dataclass(slots=True)
class _Place:
    """Where a message stands. `pk` is None until its transaction."""

    pk: int | None
    position: int


@dataclass(slots=True)
class _New:
    """A message that waits for the next transaction, with its search entry."""

    row: Message
    place: _Place
    parent: _Place | None
    turn: int | None
    entry: dict[str, Any] | None


class HistoryWriter:
    """Stores the history of one conversation that is not listed yet."""

    def __init__(
        self, owner: User, row: Conversation, files: RestoredFiles, after_write: AfterWrite
    ) -> None:
        self._owner = owner
        self._row = row
        self._files = files
        self._after_write = after_write
        self._turns: dict[int, int] = {}  # the ids that they have now, by those that they had
        self._places: dict[int, _Place] = {}  # by number
        self._shown: tuple[int, int] | None = None  # number and position of the last shown message
        self._new_turns: list[tuple[int, Turn]] = []
        self._batch: list[_New] = []
        self._last: Message | None = None
        self._characters = 0
        self.count = 0

    def add_turn(self, record: TurnRecord) -> None:
        """One that had not ended has been interrupted: nothing works on it here."""
        over = record.status not in Turn.ACTIVE
        turn = Turn(
            conversation=self._row,
            kind=record.kind,
            status=record.status if over else Turn.Status.INTERRUPTED,
            model=record.model,
            holder=HOLDER,
            lease_expires=record.created_at,
            focus=record.focus,
            error=record.error.model_dump(exclude_unset=True) if record.error else None,
            notice=record.notice,
            notice_about=record.notice_about,
            created_at=record.created_at,
            finished_at=record.finished_at if over else record.created_at,
        )
        self._new_turns.append((record.id, turn))
        if len(self._new_turns) >= BATCH_MESSAGES:
            self.flush()

    def add_message(self, record: MessageRecord) -> None:
        """The next message by its number. Refused where it does not follow those before it.

        Counting and finding words is slow, so it is done before the transaction."""
        parent = self._find_parent(record)
        blocks = self._files.map(record.blocks)
        calls = {key: end.model_dump(exclude_unset=True) for key, end in record.calls.items()}
        over = record.status != Message.Status.STREAMING
        row = Message(
            conversation=self._row,
            number=record.number,
            position=record.position,
            active=record.shown,
            role=record.role,
            blocks=blocks,
            text=plain_text(blocks),
            pasted=record.pasted,
            tokens=get_counter().count_blocks(blocks) + get_counter().count(record.time_line),
            sent_in_part=record.sent_in_part,
            cut_factor=record.cut_factor,
            left_out=record.left_out,
            calls=self._files.map(calls),
            status=record.status if over else Message.Status.INTERRUPTED,
            stop_reason=record.stop_reason,
            model=record.model,
            usage=record.usage,
            source=record.source,
            created_at=record.created_at,
            time_zone=record.time_zone,
            time_line=record.time_line,
            time_told=record.time_told,
        )
        if self._last and self._last.number == record.parent:
            row.parent = self._last  # what its search entry asks of it
        self._last = row
        entry = search_index.build_entry(self._owner.pk, row)
        place = self._places[record.number] = _Place(None, record.position)
        self._batch.append(_New(row, place, parent, record.turn, entry))
        self._characters += len(row.text)
        if len(self._batch) >= BATCH_MESSAGES or self._characters >= BATCH_CHARACTERS:
            self.flush()

    def _find_parent(self, record: MessageRecord) -> _Place | None:
        """Where the message before it stands; Refused where the tree of messages is none."""
        parent = self._places.get(record.parent) if record.parent is not None else None
        fits = (
            record.number not in self._places
            and (parent is not None) == (record.parent is not None)
            and (parent is None or parent.position < record.position)
        )
        if record.shown:
            last = self._shown
            fits = fits and record.parent == (last[0] if last else None)
            self._shown = record.number, record.position
        if not fits:
            words = gettext(
                "Message {number} does not follow the messages before it. Export it again, and do "
                "not change the file."
            )
            raise Refused(RefusalCode.FILE_DAMAGED, words.format(number=record.number))
        return parent

    def flush(self) -> None:
        """Store what was collected, in one transaction."""
        if not self._batch and not self._new_turns:
            return
        began = perf_counter()
        with transaction.atomic():
            for before, turn in self._new_turns:
                insert_row(turn, as_given=("created_at",))
                self._turns[before] = turn.pk
            for new in self._batch:
                self._insert(new)
            self._insert_what_belongs()
        self.count += len(self._batch)
        self._new_turns, self._batch, self._characters = [], [], 0
        self._after_write(perf_counter() - began)

    def _insert(self, new: _New) -> None:
        new.row.parent_id = new.parent.pk if new.parent else None
        new.row.turn_id = self.find_turn(new.turn)
        insert_row(new.row, as_given=("created_at",))
        new.place.pk = new.row.pk

    def _insert_what_belongs(self) -> None:
        """Search entries, origins and the links to files."""
        link = Attachment.messages.through
        entries, links, origins = [], [], []
        for new in self._batch:
            pk = new.row.pk
            if new.entry:
                entries.append(SearchEntry(**new.entry | {"message_id": pk}))
            files = {file.pk for file in self._files.find(new.row.blocks)}
            links += [link(attachment_id=file, message_id=pk) for file in files]
            number = str(new.row.number)
            origins.append(MessageOrigin(conversation=self._row, origin=number, message_id=pk))
        SearchEntry.objects.bulk_create(entries)
        link.objects.bulk_create(links)
        MessageOrigin.objects.bulk_create(origins)

    # --- For what refers to it ---

    def find_turn(self, before: int | None) -> int | None:
        """The id that a turn has now, by that which it had; None for one that is not known."""
        return self._turns.get(before) if before is not None else None

    def find_message(self, number: int) -> tuple[int, int] | None:
        """The id and the position of a stored message."""
        place = self._places.get(number)
        return (place.pk, place.position) if place and place.pk is not None else None
