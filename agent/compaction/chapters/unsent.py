"""What was written of a conversation and is no longer in the record: listed from the state of the
summary, whatever made it leave, and put back statement by statement. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.statements import Statement, join_statements, list_statements
from agent.context.summary import CURRENT_WORK, FACTS

# In place of a chapter of which nothing fits.
NOTHING_FITS = "Nothing of these messages fits here. Search has them."


@dataclass(frozen=True, slots=True)
class Unsent:
    """A statement that no request holds, the chapter (its place) whose range it is of, and the
    messages of the part that it was written in."""

    place: int
    first: int
    through: int
    statement: Statement

    @property
    def text(self) -> str:
        """Its words, as a page shows them alone."""
        return self.statement.text.strip().removeprefix("- ")

    @property
    def key(self) -> str:
        """By which a page names it: of the same part and words, whatever else was put back."""
        return f"{self.first}-{crc32(self.statement.text.encode()):08x}"


def list_sent(chapters: Sequence[Chapter], place: int) -> list[Statement]:
    """The statements of a chapter that requests hold: of the current work only the newest's."""
    newest = place == len(chapters) - 1
    said = list_statements(chapters[place].text)
    return [each for each in said if newest or each.heading != CURRENT_WORK]


def list_unsent(chapters: Sequence[Chapter]) -> list[Unsent]:
    """What was written and is not sent, in the order of the conversation. What another chapter says
    in the same words is."""
    sent = {each.text for place in range(len(chapters)) for each in list_sent(chapters, place)}
    return [
        Unsent(place, part.first, part.through, each)
        for place, chapter in enumerate(chapters)
        if not chapter.gap
        for part in chapter.written
        for each in list_statements(part.text)
        if each.text not in sent and each.text != NOTHING_FITS
    ]


def put_back_unsent(chapters: Sequence[Chapter], left: Unsent) -> list[Chapter]:
    """The chapters with a statement in its range again, as a person's own from now on: it goes
    last. What was current work once is a fact by now."""
    chapter = chapters[left.place]
    newest = left.place == len(chapters) - 1
    was_work = left.statement.heading == CURRENT_WORK and not newest
    back = replace(left.statement, heading=FACTS) if was_work else left.statement
    said = [each for each in list_statements(chapter.text) if each.text != NOTHING_FITS]
    stands = left.statement in said  # as current work
    kept = [back if each == left.statement else each for each in said]
    made = replace(
        chapter,
        text=join_statements(kept if stands else [*kept, back]),
        own=(*chapter.own, back.text),
        parts=chapter.written,
    )
    return [*chapters[: left.place], made, *chapters[left.place + 1 :]]
