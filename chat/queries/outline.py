"""The way through a conversation: chapters, what the user said, standing instructions. Writes
nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.db.models.functions import Left

from agent.compaction.chapters.chapter import WrittenPart
from agent.compaction.chapters.outlook import read_headline
from agent.compaction.chapters.standing_pins import list_standing
from agent.compaction.instructions.pins import Pin
from agent.context.shortening.text_previews import shorten_text
from chat.models import Conversation, Message
from chat.queries.summary_versions import read_chapters

PAGE = 100  # turns that are listed at once
WORDS = 80  # characters of each


@dataclass(frozen=True, slots=True)
class OwnTurn:
    """A message of the user's by its first words, or the names of its files."""

    number: int
    words: str
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class OwnTurns:
    """The newest of a part of the conversation. `before`: the number before which there are more,
    0 for none."""

    turns: Sequence[OwnTurn]
    after: int
    before: int


@dataclass(frozen=True, slots=True)
class ChapterEntry:
    """A chapter as it was written, whatever of it the record still holds: by its message numbers
    and times, None where those messages are gone, and by the positions that it takes on the
    branch."""

    first: int
    through: int
    began: datetime | None
    ended: datetime | None
    headline: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Outline:
    """`length`: positions of the branch; `covered`: those of the chapters. `pinned`: positions of
    the messages that the pins stand in. `left_out`: runs of positions, as (start, length), of what
    the context does without."""

    chapters: Sequence[ChapterEntry]
    recent: OwnTurns
    pins: Sequence[Pin]
    pinned: Sequence[int]
    left_out: Sequence[tuple[int, int]]
    covered: int
    length: int


def load_outline(conversation: Conversation) -> Outline:
    """In five statements, whatever the conversation holds."""
    chapters = read_chapters(conversation.compaction)
    written = [part for chapter in chapters for part in chapter.written]
    pins = list_standing(chapters)
    ends = [number for each in written for number in (each.first, each.through)]
    places = _load_places(conversation, {*ends, *(pin.number for pin in pins)})
    entries = _place_chapters(written, places)
    head = _load_branch(conversation).order_by("-position").values_list("position", flat=True)
    return Outline(
        chapters=entries,
        recent=list_own_turns(conversation, after=chapters[-1].through if chapters else 0),
        pins=pins,
        pinned=sorted({places[pin.number][0] for pin in pins if pin.number in places}),
        left_out=_find_runs(_load_left_out(conversation)),
        covered=sum(each.length for each in entries),
        length=next(iter(head[:1]), -1) + 1,
    )


def list_own_turns(
    conversation: Conversation, *, after: int = 0, before: int | None = None
) -> OwnTurns:
    """What the user said after one number and before another, None for no end. One statement."""
    rows = _load_branch(conversation).filter(role=Message.Role.USER, number__gt=after)
    if before is not None:
        rows = rows.filter(number__lt=before)
    # The results of tools are messages of the user's too.
    said = rows.exclude(blocks__0__type="tool_result").order_by("-position")
    columns = said.values_list("number", Left("text", 4 * WORDS), "left_out")
    found = list(columns[: PAGE + 1])
    turns = [
        OwnTurn(number, shorten_text(" ".join(text.split()), WORDS), left_out)
        for number, text, left_out in reversed(found[:PAGE])
    ]
    return OwnTurns(turns, after, turns[0].number if len(found) > PAGE else 0)


def find_number_at(conversation: Conversation, position: int) -> int | None:
    """The number of the branch's message at a position, or the next one where that is deleted; None
    after its end."""
    rows = _load_branch(conversation).filter(position__gte=position).order_by("position")
    return rows.values_list("number", flat=True).first()


def _load_branch(conversation: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(conversation=conversation, active=True)


def _load_left_out(conversation: Conversation) -> Iterable[int]:
    """Positions of the messages that are left out, in order."""
    rows = _load_branch(conversation).filter(left_out=True).order_by("position")
    return rows.values_list("position", flat=True)


def _find_runs(positions: Iterable[int]) -> list[tuple[int, int]]:
    """Neighbouring positions as (start, length)."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        start, length = runs[-1] if runs else (position, 0)
        if position == start + length:
            runs[-1:] = [(start, length + 1)]
        else:
            runs.append((position, 1))
    return runs


def _load_places(
    conversation: Conversation, numbers: Iterable[int]
) -> dict[int, tuple[int, datetime]]:
    """Positions and times of messages by their numbers."""
    rows = _load_branch(conversation).filter(number__in=numbers)
    return {
        number: (position, written)
        for number, position, written in rows.values_list("number", "position", "created_at")
    }


def _place_chapters(
    chapters: Sequence[WrittenPart], places: dict[int, tuple[int, datetime]]
) -> list[ChapterEntry]:
    entries = []
    start = 0
    for each in chapters:
        last, ended = places.get(each.through, (start - 1, None))
        _, began = places.get(each.first, (0, None))
        length = last + 1 - start
        entries.append(
            ChapterEntry(
                each.first, each.through, began, ended, read_headline(each.text), start, length
            )
        )
        start += length
    return entries
