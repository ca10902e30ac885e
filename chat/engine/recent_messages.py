"""The recent messages of a conversation: those after its summary, sent word for word by requests.

A process keeps those that it has read, so that a turn costs the same however many there are. Every
write to the messages of a conversation gives its row a new `history_version` in the same
transaction (`chat.services.turns.message_changes`): what is kept under another one is read again.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery

from agent.context.message_list import MessageList, starts_within_turn
from agent.messages import AgentMessage, RawTokens, RealTokens, Role
from chat.db.rows import make_row
from chat.models import Conversation, Message, Turn

# Raw tokens of all that is kept, and what the objects of a message take beside its text: some 20
# MB.
KEPT_TOKENS = 2_000_000
MESSAGE_OVERHEAD = 400

# What is read of a message for a request.
COLUMNS = (
    *("id", "conversation_id", "number", "position", "role", "blocks", "tokens", "pasted"),
    *("sent_in_part", "cut_factor", "left_out", "status", "stop_reason", "model", "usage"),
    *("created_at", "time_zone", "time_line", "time_told", "turn_id"),
)
# Looked up row by row: for a join, PostgreSQL reads the turns of the whole site.
_TURN_ENDED = Subquery(Turn.objects.filter(pk=OuterRef("turn_id")).values("finished_at"))


@dataclass(frozen=True, slots=True)
class RecentMessages:
    """The messages after `through`, the id, number and position of the last one in the summary;
    None: there is no summary. `rows` and `messages` go together. A row has the columns of `COLUMNS`
    and `turn_ended_at`; threads share it, so nobody changes it. `first` is the conversation's first
    message, of a user, and `prompt` what the rows' turn answers, each only where the summary covers
    it. `pauses`: seconds from the end of a turn to what the user said next. `imported_through`: the
    number of the last answer that was imported, -1 for none."""

    history_version: int
    through: tuple[int, int, int] | None
    rows: Sequence[Message]
    messages: MessageList
    pauses: Sequence[float]
    weight: int  # raw tokens, the overhead included
    imported_through: int = -1
    first: AgentMessage | None = None
    prompt: AgentMessage | None = None

    @property
    def through_id(self) -> int | None:
        return self.through[0] if self.through else None


class _Kept:
    """Those of the conversations that were used last, of `KEPT_TOKENS` in all. For all threads."""

    def __init__(self) -> None:
        self._recent: OrderedDict[UUID, RecentMessages] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[tuple[UUID, RecentMessages]]:
        with self._lock:
            return iter(list(self._recent.items()))

    def find(self, conversation_id: UUID, history_version: int) -> RecentMessages | None:
        with self._lock:
            recent = self._recent.get(conversation_id)
            if recent is None or recent.history_version != history_version:
                return None
            self._recent.move_to_end(conversation_id)
            return recent

    def keep(self, conversation_id: UUID, recent: RecentMessages) -> None:
        with self._lock:
            old = self._recent.pop(conversation_id, None)
            self._weight += recent.weight - (old.weight if old else 0)
            self._recent[conversation_id] = recent
            while self._weight > KEPT_TOKENS:
                _, last = self._recent.popitem(last=False)
                self._weight -= last.weight


kept = _Kept()


def new_history_version() -> int:
    """One that no conversation ever had: what is kept under it is never taken for anything else,
    even if the transaction that it belongs to is rolled back."""
    return secrets.randbits(63)


def load_recent_messages(conversation: Conversation) -> RecentMessages:
    """Those of a conversation whose row was just read: without a query where this process has
    them, else with one to four, however many they are."""
    recent = kept.find(conversation.pk, conversation.history_version)
    if recent is None or recent.through_id != conversation.compressed_through_id:
        recent = read_recent_messages([conversation])[conversation.pk]
        kept.keep(conversation.pk, recent)
    return recent


def extend_recent_messages(conversation: Conversation, before: int, message: Message) -> None:
    """Keep what a write has made by storing `message` at the end, where this process has what was
    there under the history version `before`. The conversation has its new one already."""
    recent = kept.find(conversation.pk, before)
    if recent is None or (recent.rows and recent.rows[-1].position >= message.position):
        return
    ended = message.turn.finished_at if message.turn else None
    row = _make_row([*(getattr(message, name) for name in COLUMNS), ended])
    messages = recent.messages.followed_by(to_agent_message(row))
    within = recent.through is not None and starts_within_turn(messages)
    if within and not recent.prompt:
        return  # what it answers has to be read
    kept.keep(
        conversation.pk,
        replace(
            recent,
            history_version=conversation.history_version,
            rows=[*recent.rows, row],
            messages=messages,
            pauses=[*recent.pauses, *find_pauses([*recent.rows[-1:], row])],
            weight=recent.weight + _weigh([row]),
            prompt=recent.prompt if within else None,
        ),
    )


def read_recent_messages(conversations: Sequence[Conversation]) -> dict[UUID, RecentMessages]:
    """Those of conversations whose rows were just read, from the database: in one to three queries,
    and one more for each whose summary covers the prompt that its last messages answer."""
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
        row.pk: _make_recent(row, ends.get(row.pk), rows.get(row.pk, []), firsts.get(row.pk, []))
        for row in conversations
    }


def _make_recent(
    conversation: Conversation,
    through: tuple[int, int, int] | None,
    after: Sequence[Message],
    first_rows: Sequence[Message],
) -> RecentMessages:
    # The one that is being written is left out here: as a condition it would cost more.
    rows = [row for row in after if row.status != Message.Status.STREAMING]
    messages = MessageList(map(to_agent_message, rows))
    first = next(map(to_agent_message, first_rows), None)
    prompt = None
    if through and starts_within_turn(messages):
        branch = Message.objects.filter(conversation=conversation, active=True)
        row = find_prompt_before(branch, through[2])
        prompt = to_agent_message(row) if row and not row.left_out else None
    return RecentMessages(
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
    """Where each summary ends: see `RecentMessages.through`."""
    if not summarised:
        return {}
    last = {row.compressed_through_id: row.pk for row in summarised}
    found = Message.objects.filter(pk__in=last).values_list("pk", "number", "position")
    return {last[end[0]]: end for end in found}


def _read(messages: QuerySet[Message]) -> Iterator[Message]:
    return map(_make_row, messages.values_list(*COLUMNS, _TURN_ENDED))


def _make_row(values: Sequence[Any]) -> Message:
    return make_row(Message, (*COLUMNS, "turn_ended_at"), values)


def _group(messages: QuerySet[Message]) -> dict[UUID, list[Message]]:
    """The rows by conversation."""
    grouped: dict[UUID, list[Message]] = {}
    for row in _read(messages):
        grouped.setdefault(row.conversation_id, []).append(row)
    return grouped


def find_prompt_before(branch: QuerySet[Message], position: int) -> Message | None:
    """The last message of a person up to a position; the rounds of its turn follow."""
    users = branch.filter(position__lte=position, role=Message.Role.USER)
    last = users.exclude(blocks__0__type="tool_result").order_by("-position")
    return next(_read(last[:1]), None)


def _weigh(rows: Sequence[Message]) -> int:
    return sum(row.tokens + MESSAGE_OVERHEAD for row in rows)


def _find_imported(rows: Sequence[Message]) -> int:
    """What was imported has no turn."""
    imported = (r.number for r in rows if r.turn_id is None and r.role == Message.Role.ASSISTANT)
    return max(imported, default=-1)


def find_pauses(rows: Sequence[Message]) -> list[float]:
    """Seconds from the end of each turn to what the user said next, but not to what was said while
    it ran; imported messages have no turn."""
    return [
        (row.created_at - (before.turn_ended_at or before.created_at)).total_seconds()
        for before, row in pairwise(rows)
        if row.role == Message.Role.USER
        and to_agent_message(row).is_prompt
        and (row.turn_id is None or row.turn_id != before.turn_id)
    ]


def to_agent_message(row: Message) -> AgentMessage:
    """A message as requests see it: empty, where the model declined to write it or the user has
    left it out."""
    message = read_original(row)
    return replace(message, blocks=[], tokens=RawTokens(0)) if _is_unsent(row) else message


def read_original(row: Message) -> AgentMessage:
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


def name_zone(row: Message) -> str:
    """Where the author of a message was; the site's zone, where nobody knows."""
    return row.time_zone or settings.TIME_ZONE


def _is_unsent(row: Message) -> bool:
    return row.left_out or row.stop_reason == Message.REFUSED


def find_thinking(row: Message) -> RealTokens:
    """What was reported of the thinking that is sent of a message."""
    usage = {} if _is_unsent(row) else row.usage or {}
    details = usage.get("output_tokens_details") or {}
    return RealTokens(int(details.get("thinking_tokens") or 0))
