"""Chapters that lose their text, because what they rest on was deleted, left out of the context or
put back, and get it again. Pure; `chat.services.summary.gaps` stores it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.audit.audit import rests_on
from agent.audit.facts.words import find_content_words
from agent.compaction.chapters.chapter import Chapter, Withheld
from agent.compaction.chapters.standing_pins import change_pins, reinstate
from agent.compaction.chapters.statements import (
    Statement,
    edit_chapter,
    join_statements,
    list_statements,
)
from agent.compaction.instructions.pins import Pin, PinState
from agent.context.summary import FACTS
from agent.messages import AgentMessage, plain_text

# In place of a gap's text, under the line with the numbers of its messages.
GAP = (
    "These messages are being summarised again, because the user deleted, left out or put back one "
    "of them. Until then, search has them."
)
# In place of the text of a chapter whose messages are all left out.
NOTHING_LEFT = "Nothing is left of these messages that could be summarised."


def forget_message(
    chapters: Sequence[Chapter], gone: AgentMessage, *, before: int, after: int
) -> list[Chapter]:
    """The chapters without anything of a message that is deleted: those that rest on it become
    gaps, and one that covered nothing else is left out. `before` and `after`: the numbers of the
    messages beside it, whether they exist or not."""
    standing = change_pins(chapters, lambda pin: reinstate(pin, gone.number))
    left = [_forget(chapter, gone, before, after) for chapter in standing]
    return [chapter for chapter in left if chapter.first <= chapter.through]


def _forget(chapter: Chapter, gone: AgentMessage, before: int, after: int) -> Chapter:
    number = gone.number
    told = (each for each in chapter.withheld if number not in each.numbers)
    chapter = replace(chapter, withheld=tuple(told))
    covered = chapter.first <= number <= chapter.through
    if not covered and not _rests_on(chapter, gone):
        return chapter
    return replace(
        _empty(chapter, gone),
        first=after if chapter.first == number else chapter.first,
        through=before if chapter.through == number else chapter.through,
        pins=tuple(pin for pin in chapter.pins if not _may_tell(pin, gone)),
        index=tuple(entry for entry in chapter.index if entry.number != number),
        left_out=tuple(each for each in chapter.left_out if each != number),
    )


def _may_tell(pin: Pin, gone: AgentMessage) -> bool:
    """Whether a pin is of a message, or in a model's words that may be of it."""
    restated = pin.state == PinState.RESTATED and bool(_Telling([gone]).find(pin.text))
    return restated or pin.number == gone.number


def leave_out_messages(chapters: Sequence[Chapter], gone: Sequence[AgentMessage]) -> list[Chapter]:
    """The chapters while messages are left out: those that rest on one of them become gaps, and no
    pin and no value of theirs counts. All of them are kept, for when a message is put back."""
    numbers = {message.number for message in gone}

    def leave_out(chapter: Chapter) -> Chapter:
        covered = _select_covered(chapter, numbers)
        if not covered and not _rests_on(chapter, *gone):
            return chapter
        left = tuple(sorted(covered.union(chapter.left_out)))
        return replace(_empty(chapter, *gone), left_out=left, withheld=_withhold(chapter, gone))

    return [leave_out(chapter) for chapter in chapters]


def put_back_messages(chapters: Sequence[Chapter], numbers: set[int]) -> list[Chapter]:
    """The chapters after messages are put back: those of their range become gaps, because they were
    written without them, and their pins and values count again. So does what a person wrote of
    them."""

    def put_back(chapter: Chapter) -> Chapter:
        chapter = _give_back(chapter, numbers)
        if not _select_covered(chapter, numbers):
            return chapter
        still = tuple(each for each in chapter.left_out if each not in numbers)
        return replace(_empty(chapter), left_out=still)

    return [put_back(chapter) for chapter in chapters]


def _select_covered(chapter: Chapter, numbers: Iterable[int]) -> set[int]:
    return {number for number in numbers if chapter.first <= number <= chapter.through}


def _empty(chapter: Chapter, *gone: AgentMessage) -> Chapter:
    """A gap. What a person wrote in it comes back with its text, but nothing that has a word in
    common with messages that are gone: it may tell of them."""
    telling = _Telling(gone)
    own = tuple(said for said in chapter.own if not telling.find(said))
    withheld = tuple(each for each in chapter.withheld if not telling.find(each.said))
    return replace(chapter, text=GAP, gap=True, own=own, withheld=withheld, parts=(), quotes=())


def _withhold(chapter: Chapter, gone: Sequence[AgentMessage]) -> tuple[Withheld, ...]:
    """What a person wrote that waits for messages to be put back, with those of `gone`."""
    telling = _Telling(gone)
    waiting = [*chapter.withheld, *(Withheld(said, ()) for said in chapter.own)]
    found = (
        Withheld(said, tuple(sorted({*numbers, *telling.find(said)}))) for said, numbers in waiting
    )
    return tuple(each for each in found if each.numbers)


def _give_back(chapter: Chapter, numbers: set[int]) -> Chapter:
    """The chapter with what a person wrote of messages of which all are put back by now."""
    still = [
        Withheld(said, tuple(number for number in told if number not in numbers))
        for said, told in chapter.withheld
    ]
    back = [each.said for each in still if not each.numbers]
    chapter = replace(chapter, withheld=tuple(each for each in still if each.numbers))
    if chapter.gap:
        return replace(chapter, own=tuple(dict.fromkeys([*chapter.own, *back])))
    return edit_chapter(chapter, _add_own(chapter.text, back)) if back else chapter


class _Telling:
    """Finds the messages that a person's statement may tell of: it has a word in common with
    them."""

    def __init__(self, messages: Sequence[AgentMessage]) -> None:
        self._words = [
            (message, find_content_words(plain_text(message.blocks))) for message in messages
        ]

    def find(self, said: str) -> set[int]:
        """Their numbers."""
        words = find_content_words(said)
        return {
            message.number
            for message, others in self._words
            if rests_on(said, message) or not words.isdisjoint(others)
        }


def _rests_on(chapter: Chapter, *messages: AgentMessage) -> bool:
    return any(rests_on(part.text, *messages) for part in chapter.written)


def fill_gap(chapters: Sequence[Chapter], written: Sequence[Chapter]) -> list[Chapter] | None:
    """The chapters with the last of the `written` ones in the place of the gap of its range, or of
    what was recorded by rule; None where there is neither. Pins and values that the chapter has are
    kept. It gets those of messages that it has none of, and their force over earlier pins: they
    were left out when it was written first."""
    *_, new = written
    places = (
        i for i, c in enumerate(chapters) if (c.gap or c.by_rule) and _range(c) == _range(new)
    )
    place = next(places, None)
    if place is None:
        return None
    gap = chapters[place]
    # By their wording they may be none: a model that reads the messages decides.
    kept = [
        pin for pin in gap.pins if not gap.by_rule or pin.edited or pin.state != PinState.STANDING
    ]
    pinned = {pin.number for pin in kept}
    entered = {entry.number for entry in gap.index}
    retired = {
        (pin.number, pin.key): pin
        for chapter in written
        for pin in chapter.pins
        if pin.state == PinState.RETIRED and new.first <= pin.by <= new.through
    }

    def retire(pin: Pin) -> Pin:
        holds = pin.edited or pin.state != PinState.STANDING
        return pin if holds else retired.get((pin.number, pin.key), pin)

    filled = list(chapters)
    filled[place] = replace(
        gap,
        text=_add_own(new.text, gap.own),
        gap=False,
        by_rule=new.by_rule,
        depth=1,  # written from the originals, whatever it was before
        days=new.days,
        parts=tuple(part._replace(text=_add_own(part.text, gap.own)) for part in new.parts),
        pins=(*kept, *(pin for pin in new.pins if pin.number not in pinned)),
        index=(*gap.index, *(entry for entry in new.index if entry.number not in entered)),
        quotes=new.quotes,
    )
    return change_pins(filled, retire)


def _add_own(text: str, own: Sequence[str]) -> str:
    """A text with the statements that a person wrote of its messages before."""
    said = list_statements(text)
    missing = [each for each in own if each not in {other.text for other in said}]
    return (
        join_statements([*said, *(Statement(FACTS, each) for each in missing)]) if missing else text
    )


def _range(chapter: Chapter) -> tuple[int, int]:
    return chapter.first, chapter.through
