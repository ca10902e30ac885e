"""The messages after a conversation's summary, as requests are made of them.

A process keeps the tails that it has read, so that a turn costs the same however many messages
there are. Every write to the messages of a conversation gives its row a new `history_version` in
the same transaction (`chat.services.turns.history`): what is kept under another one is read again.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, Self, cast
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery

from agent.context.message_list import MessageList, begin_within_turn
from agent.messages import Block, RawTokens, RealTokens, Role
from agent.messages import Message as AgentMessage
from chat.models import Conversation, Message, Turn

# Raw tokens of all tails that are kept, and what the objects of a message take beside its text:
# some 20 MB.
KEPT_TOKENS = 2_000_000
MESSAGE_OVERHEAD = 300


@dataclass(frozen=True, slots=True)
class Row:
    """What is read of a message for a request. `turn_ended_at`: None for an imported one, and where
    its turn had not ended when it was read."""

    pk: int
    number: int
    position: int
    role: str
    blocks: list[Block]
    tokens: int
    pasted: Sequence[tuple[int, int]] | None
    sent_in_part: bool
    cut_factor: float
    left_out: bool
    status: str
    stop_reason: str
    model: str
    usage: dict[str, Any] | None
    created_at: datetime
    time_zone: str
    time_line: str
    time_told: datetime | None
    turn_id: int | None
    turn_ended_at: datetime | None = field(compare=False)

    @classmethod
    def of(cls, message: Message) -> Self:
        """The row of a message that was just stored, with its turn."""
        ended = message.turn.finished_at if message.turn else None
        return cls(**{name: getattr(message, name) for name in _STORED}, turn_ended_at=ended)


_STORED = Row.__slots__[:-1]
# Looked up row by row: for a join, PostgreSQL reads the turns of the whole site.
_TURN_ENDED = Subquery(Turn.objects.filter(pk=OuterRef("turn_id")).values("finished_at"))


@dataclass(frozen=True, slots=True)
class Tail:
    """The messages after `through`, the id, number and position of the last one in the summary;
    None: there is no summary. `rows` and `messages` go together. `first` is the conversation's
    first message, of a user, and `prompt` what the rows' turn answers, each only where the summary
    covers it. `pauses`: seconds from the end of a turn to what the user said next.
    `imported_through`: the number of the last answer that was imported, -1 for none."""

    version: int
    through: tuple[int, int, int] | None
    rows: Sequence[Row]
    messages: MessageList
    pauses: Sequence[float]
    weight: int  # raw tokens, the overhead included
    imported_through: int = -1
    first: AgentMessage | None = None
    prompt: AgentMessage | None = None

    @property
    def through_id(self) -> int | None:
        return self.through[0] if self.through else None


class _KeptTails:
    """The tails that were used last, of `KEPT_TOKENS` in all. For all threads."""

    def __init__(self) -> None:
        self._tails: OrderedDict[UUID, Tail] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[tuple[UUID, Tail]]:
        with self._lock:
            return iter(list(self._tails.items()))

    def find(self, conversation_id: UUID, version: int) -> Tail | None:
        with self._lock:
            tail = self._tails.get(conversation_id)
            if tail is None or tail.version != version:
                return None
            self._tails.move_to_end(conversation_id)
            return tail

    def keep(self, conversation_id: UUID, tail: Tail) -> None:
        with self._lock:
            old = self._tails.pop(conversation_id, None)
            self._weight += tail.weight - (old.weight if old else 0)
            self._tails[conversation_id] = tail
            while self._weight > KEPT_TOKENS:
                _, last = self._tails.popitem(last=False)
                self._weight -= last.weight


kept_tails = _KeptTails()


def new_version() -> int:
    """One that no conversation ever had: a tail that is kept under it is never taken for another,
    even if the transaction that it belongs to is rolled back."""
    return secrets.randbits(63)


def load_tail(conversation: Conversation) -> Tail:
    """The tail of a conversation whose row was just read: without a query where this process has
    it, else with one to four, whatever the length."""
    tail = kept_tails.find(conversation.pk, conversation.history_version)
    if tail is None or tail.through_id != conversation.compressed_through_id:
        tail = read_tail(conversation)
        kept_tails.keep(conversation.pk, tail)
    return tail


def extend_tail(conversation: Conversation, before: int, message: Message) -> None:
    """Keep the tail that a write has made by storing `message` at its end, where this process has
    that of the version `before`. The conversation has its new version already."""
    tail = kept_tails.find(conversation.pk, before)
    if tail is None or (tail.rows and tail.rows[-1].position >= message.position):
        return
    row = Row.of(message)
    new = to_agent_message(row)
    messages = tail.messages.followed_by(new)
    within = tail.through is not None and begin_within_turn(messages)
    if within and not tail.prompt:
        return  # what it answers has to be read
    kept_tails.keep(
        conversation.pk,
        replace(
            tail,
            version=conversation.history_version,
            rows=[*tail.rows, row],
            messages=messages,
            pauses=[*tail.pauses, *find_pauses([*tail.rows[-1:], row])],
            weight=tail.weight + _weigh([row]),
            prompt=tail.prompt if within else None,
        ),
    )


def read_tail(conversation: Conversation) -> Tail:
    """`load_tail` from the database."""
    return read_tails([conversation])[conversation.pk]


def read_tails(conversations: Sequence[Conversation]) -> dict[UUID, Tail]:
    """`read_tail` of several conversations, whose rows were just read: in one to three queries, and
    one more for each whose summary covers the prompt that its last messages answer."""
    if not conversations:
        return {}
    branches = Message.objects.filter(active=True)
    summarised = [row for row in conversations if row.compressed_through_id]
    ends = _read_ends(summarised)
    after = (
        Q(conversation=row, position__gt=ends[row.pk][2]) if row.pk in ends else Q(conversation=row)
        for row in conversations
    )
    rows = _group(branches.filter(reduce(or_, after)).order_by("position"))
    firsts = _group(branches.filter(conversation__in=ends, position=0)) if ends else {}
    return {
        row.pk: _make_tail(row, ends.get(row.pk), rows.get(row.pk, []), firsts.get(row.pk, []))
        for row in conversations
    }


def _make_tail(
    conversation: Conversation,
    through: tuple[int, int, int] | None,
    after: Sequence[Row],
    first_rows: Sequence[Row],
) -> Tail:
    # The one that is being written is left out here: as a condition it would cost more.
    rows = [row for row in after if row.status != Message.Status.STREAMING]
    messages = MessageList(map(to_agent_message, rows))
    first = next(map(to_agent_message, first_rows), None)
    prompt = None
    if through and begin_within_turn(messages):
        branch = Message.objects.filter(conversation=conversation, active=True)
        row = find_prompt_before(branch, through[2])
        prompt = to_agent_message(row) if row and not row.left_out else None
    return Tail(
        conversation.history_version,
        through,
        rows,
        messages,
        find_pauses(rows),
        _weigh(rows),
        _find_imported(rows),
        first=first if first and first.role == "user" and first.blocks else None,
        prompt=prompt,
    )


def _read_ends(summarised: Sequence[Conversation]) -> dict[UUID, tuple[int, int, int]]:
    """Where each summary ends: see `Tail.through`."""
    if not summarised:
        return {}
    last = {row.compressed_through_id: row.pk for row in summarised}
    found = Message.objects.filter(pk__in=last).values_list("pk", "number", "position")
    return {last[end[0]]: end for end in found}


def _group(messages: QuerySet[Message]) -> dict[UUID, list[Row]]:
    """The rows by conversation."""
    grouped: dict[UUID, list[Row]] = {}
    for conversation, *values in messages.values_list("conversation", *_STORED, _TURN_ENDED):
        grouped.setdefault(conversation, []).append(Row(*values))
    return grouped


def find_prompt_before(branch: QuerySet[Message], position: int) -> Row | None:
    """The last message of a person up to a position; the rounds of its turn follow."""
    users = branch.filter(position__lte=position, role=Message.Role.USER)
    last = users.exclude(blocks__0__type="tool_result").order_by("-position")
    return next((Row(*values) for values in last.values_list(*_STORED, _TURN_ENDED)[:1]), None)


def _weigh(rows: Sequence[Row]) -> int:
    return sum(row.tokens + MESSAGE_OVERHEAD for row in rows)


def _find_imported(rows: Sequence[Row]) -> int:
    """What was imported has no turn."""
    imported = (r.number for r in rows if r.turn_id is None and r.role == Message.Role.ASSISTANT)
    return max(imported, default=-1)


def find_pauses(rows: Sequence[Row]) -> list[float]:
    """Seconds from the end of each turn to what the user said next; imported messages have no
    turn."""
    return [
        (row.created_at - (before.turn_ended_at or before.created_at)).total_seconds()
        for before, row in pairwise(rows)
        if row.role == Message.Role.USER and to_agent_message(row).is_prompt
    ]


def to_agent_message(row: Row | Message) -> AgentMessage:
    """A message as requests see it: empty, where the model declined to write it or the user has
    left it out."""
    message = read_original(row)
    return replace(message, blocks=[], tokens=RawTokens(0)) if _is_unsent(row) else message


def read_original(row: Row | Message) -> AgentMessage:
    """A message as it was written, whatever requests hold of it."""
    return AgentMessage(
        row.number,
        cast(Role, row.role),
        row.blocks,
        RawTokens(row.tokens),
        row.pasted,
        find_thinking(row),
        row.created_at.timestamp(),
        cut_factor=row.cut_factor,
        zone=name_zone(row),
        time_line=row.time_line,
    )


def name_zone(row: Row | Message) -> str:
    """Where the author of a message was; the site's zone, where nobody knows."""
    return row.time_zone or settings.TIME_ZONE


def _is_unsent(row: Row | Message) -> bool:
    return row.left_out or row.stop_reason == Message.REFUSED


def find_thinking(row: Row | Message) -> RealTokens:
    """What was reported of the thinking that is sent of a message."""
    usage = {} if _is_unsent(row) else row.usage or {}
    details = usage.get("output_tokens_details") or {}
    return RealTokens(int(details.get("thinking_tokens") or 0))
