"""What linked threads have to be told, and who somebody of Slack is here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from allauth.account.models import EmailAddress
from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat

from accounts.models import User
from agent.compaction.policy import Origin, Trigger
from chat.engine.recent_messages import read_original
from chat.models import (
    Compaction,
    Message,
    QueuedPrompt,
    SlackEvent,
    SlackMessage,
    SlackPost,
    SlackThread,
    Turn,
)

BACKGROUND = (Trigger.PREPARED, Trigger.IDLE)  # told only when they are used


def find_person(address: str) -> User | None:
    """The one whose own, verified address it is. Of several, nobody: it would be a guess."""
    found = EmailAddress.objects.filter(email__iexact=address, verified=True)
    people = {each.user_id: each.user for each in found.select_related("user")}
    return next(iter(people.values())) if len(people) == 1 else None


def find_thread(team: str, channel: str, ts: str) -> SlackThread | None:
    """The thread with its conversation and that one's owner."""
    return _threads().filter(team=team, channel=channel, ts=ts).first()


def _threads() -> QuerySet[SlackThread]:
    return SlackThread.objects.select_related("conversation__owner").filter(
        conversation__deleted_at=None
    )


def find_unposted() -> list[SlackThread]:
    """Threads to which something of their conversation may be missing."""
    of_it = {"conversation": OuterRef("conversation")}
    posts = SlackPost.objects.filter(thread=OuterRef("pk"))
    post = Concat(Value("q"), Cast("pk", CharField()), Value(":0"))
    waiting = QueuedPrompt.objects.filter(problem__isnull=False, **of_it).order_by("position")
    first_waiting = waiting.annotate(post=post).values("post")[:1]
    return list(
        _threads()
        .annotate(waiting=Subquery(first_waiting))
        .filter(
            Q(ts="")
            | Q(history_version=None)
            | ~Q(history_version=F("conversation__history_version"))
            | ~Q(compactions=F("conversation__compactions_completed"))
            | Exists(Turn.objects.filter(status__in=Turn.ACTIVE, **of_it))
            | Q(waiting__isnull=False) & ~Exists(posts.filter(key=OuterRef("waiting")))
            | Exists(posts.filter(final=False))
            | Exists(posts.filter(message=None, key__startswith="m"))
        )
    )


def find_recent(limit: int) -> list[SlackThread]:
    """The threads that were used last."""
    used = _threads().exclude(ts="").order_by("-conversation__updated_at")
    return list(used[:limit])


def list_known(thread: SlackThread, since: str) -> list[str]:
    """Which messages of a thread were taken, that are not older than `since`."""
    return list(thread.messages.filter(ts__gte=since).values_list("ts", flat=True))


def list_waiting_places(limit: int) -> list[str]:
    """Where there are events that are not dealt with; first where one has waited longest."""
    rows = SlackEvent.objects.filter(done=False).order_by("order", "pk")
    return list(dict.fromkeys(rows.values_list("place", flat=True)[:limit]))


def list_waiting(place: str) -> list[SlackEvent]:
    """Events of a place that are not dealt with, in their order."""
    rows = SlackEvent.objects.filter(done=False, place=place)
    return list(rows.select_related("thread__conversation__owner").order_by("order", "pk"))


@dataclass(frozen=True, slots=True)
class Entry:
    """What a thread is to have as one post, or several where it is long: a prompt that came by
    another door, all of an answer between two prompts, a compaction, or why a prompt waits."""

    key: str
    messages: Sequence[Message] = ()
    compaction: Compaction | None = None
    waiting: QueuedPrompt | None = None

    @property
    def at(self) -> datetime:
        """Where it belongs; what was prepared, where it was used."""
        if self.messages:
            return self.messages[0].created_at
        if self.compaction:
            used = self.compaction.finished_at if self.compaction.trigger in BACKGROUND else None
            return used or self.compaction.created_at
        assert self.waiting
        return self.waiting.created_at

    @property
    def is_prompt(self) -> bool:
        return bool(self.messages) and self.messages[0].role == Message.Role.USER

    @property
    def turn(self) -> Turn | None:
        """The newest one that wrote the answer."""
        return self.messages[-1].turn if self.messages and not self.is_prompt else None

    @property
    def is_final(self) -> bool:
        """Whether it will not change any more."""
        if self.compaction:
            return self.compaction.status != Compaction.Status.RUNNING
        return self.turn is None or self.turn.status not in Turn.ACTIVE


@dataclass(frozen=True, slots=True)
class Unposted:
    """The entries in their order, and the state of the conversation that they are of."""

    entries: list[Entry] = field(default_factory=list)
    through: int = 0
    history_version: int = 0
    compactions: int = 0


def load_unposted(thread: SlackThread) -> Unposted:
    """What the thread is to have of what was written after its `through`."""
    conversation = thread.conversation
    conversation.refresh_from_db(fields=["history_version", "compactions_completed"])
    version, compactions = conversation.history_version, conversation.compactions_completed
    rows = Message.objects.filter(
        conversation=conversation, active=True, number__gt=thread.through
    ).select_related("turn")
    written = list(rows.order_by("position"))
    entries = [
        *_split(written, set(thread.messages.values_list("client_id", flat=True))),
        *_list_compactions(thread),
        *_list_problems(thread),
    ]
    return Unposted(
        sorted(entries, key=lambda entry: entry.at),
        max((row.number for row in written), default=thread.through),
        version,
        compactions,
    )


def _split(rows: Sequence[Message], of_thread: set[str]) -> list[Entry]:
    """Prompts, and what was answered to each."""
    entries: list[Entry] = []
    answer: list[Message] = []
    for row in rows:
        if row.role == Message.Role.ASSISTANT:
            if not answer:
                entries.append(Entry(f"m{row.pk}", answer))
            answer.append(row)
        elif read_original(row).is_prompt:
            answer = []
            if not _is_from(row, of_thread):
                entries.append(Entry(f"m{row.pk}", [row]))
    return entries


def _is_from(row: Message, of_thread: set[str]) -> bool:
    """Whether the thread has this prompt: it was written there, or is the edit of such a one."""
    if row.source != Message.Source.SLACK:
        return False
    return row.client_id is None or row.client_id in of_thread


def _list_compactions(thread: SlackThread) -> list[Entry]:
    told = SlackPost.objects.filter(thread=thread, compaction=OuterRef("pk"))
    rows = Compaction.objects.filter(
        conversation=thread.conversation_id,
        origin=Origin.COMPACTION,
        created_at__gte=thread.linked_at,
    )
    begun = Q(status=Compaction.Status.RUNNING) & ~Q(trigger__in=BACKGROUND)
    done = Q(status=Compaction.Status.COMPLETED)
    ended = Q(status__in=(Compaction.Status.FAILED, Compaction.Status.CANCELLED))
    shown = rows.filter(begun | done | (ended & Exists(told.filter(final=False))))
    new = shown.exclude(Exists(told.filter(final=True)))
    return [
        Entry(f"c{row.pk}", compaction=row)
        for row in new.select_related("first", "through").defer("summary", "chapters", "audit")
    ]


def _list_problems(thread: SlackThread) -> list[Entry]:
    """Why what the owner wrote does not go out: the first says it for those behind it."""
    rows = QueuedPrompt.objects.filter(conversation=thread.conversation_id, problem__isnull=False)
    return [Entry(f"q{row.pk}", waiting=row) for row in rows.order_by("position")[:1]]


def is_expected(place: str) -> bool:
    """Whether an event waits there that may link the thread."""
    return SlackEvent.objects.filter(place=place, done=False).exists()


def find_known(team: str, channel: str, root: str, ts: str) -> SlackMessage | None:
    """What the owner wrote there, with its thread, conversation and owner."""
    rows = SlackMessage.objects.select_related("thread__conversation__owner", "message")
    return rows.filter(
        thread__team=team,
        thread__channel=channel,
        thread__ts=root,
        thread__conversation__deleted_at=None,
        ts=ts,
    ).first()


def list_posts(thread: SlackThread, entries: Sequence[Entry]) -> list[SlackPost]:
    """The posts of some entries."""
    if not entries:
        return []
    wanted = Q()
    for entry in entries:
        wanted |= Q(key__startswith=f"{entry.key}:")
    return list(SlackPost.objects.filter(wanted, thread=thread))


def list_gone(thread: SlackThread) -> list[SlackPost]:
    """Posts of messages that were deleted here."""
    return list(SlackPost.objects.filter(thread=thread, message=None, key__startswith="m"))
