"""What people do with the standing instructions of a conversation: add, edit, remove, keep.

Each makes a new version of the summary, which can be reverted. What a person did holds over what a
model writes later.
"""

from collections.abc import Callable
from dataclasses import replace

from django.utils.translation import gettext

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.standing_pins import add_pins, change_pins
from agent.compaction.instructions.pins import LONGEST_PIN, Pin, PinState
from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.models import Compaction
from chat.services.summary.summaries import store_edit


def add_instruction(compaction_id: int, text: str) -> Compaction:
    """One that the user wrote on the page, after all others.

    This and the others are refused for a version that is not current, an empty text and one that
    is too long.
    """
    pin = Pin(0, _checked(text), edited=True)
    return _store(compaction_id, lambda chapters: add_pins(chapters, [pin]))


def edit_instruction(compaction_id: int, pin: Pin, text: str) -> Compaction:
    """Other words for one, in its place. The old ones stay as removed, so that a summary that is
    written again does not bring them back."""
    changed = replace(pin, text=_checked(text), state=PinState.STANDING, by=0, edited=True)
    if changed.text == pin.text:
        return keep_instruction(compaction_id, pin)
    return _store(compaction_id, lambda chapters: _replace(chapters, pin, changed))


def remove_instruction(compaction_id: int, pin: Pin) -> Compaction:
    """It is not sent any more, and the page can bring it back."""
    return _set_state(compaction_id, pin, PinState.REMOVED)


def keep_instruction(compaction_id: int, pin: Pin) -> Compaction:
    """Send one that was taken back or removed, or that was only offered; or go on sending one that
    may have been taken back."""
    return _set_state(compaction_id, pin, PinState.STANDING)


def _set_state(compaction_id: int, pin: Pin, state: PinState) -> Compaction:
    def change(each: Pin) -> Pin:
        return replace(each, state=state, by=0, edited=True) if each.key == pin.key else each

    return _store(compaction_id, lambda chapters: change_pins(chapters, change))


def _replace(chapters: list[Chapter], pin: Pin, changed: Pin) -> list[Chapter]:
    """The latest that says it gets its new words beside it; all that say it are removed."""
    *_, (place, at) = (
        (place, at)
        for place, chapter in enumerate(chapters)
        for at, each in enumerate(chapter.pins, 1)
        if (each.number, each.key) == (pin.number, pin.key)
    )
    removed = change_pins(
        chapters,
        lambda each: (
            replace(each, state=PinState.REMOVED, by=0, edited=True)
            if each.key == pin.key != changed.key
            else each
        ),
    )
    pins = removed[place].pins
    removed[place] = replace(removed[place], pins=(*pins[:at], changed, *pins[at:]))
    return removed


def _store(compaction_id: int, change: Callable[[list[Chapter]], list[Chapter]]) -> Compaction:
    return store_edit(compaction_id, change, audit={})


def _checked(text: str) -> str:
    text = " ".join(sanitise_text(text).split())
    if not text:
        raise Refused(RefusalCode.EMPTY_INSTRUCTION, gettext("Write what should hold."))
    if len(text) > LONGEST_PIN:
        raise Refused(
            RefusalCode.INSTRUCTION_TOO_LONG,
            gettext("An instruction has at most {most} characters; this one has {count}.").format(
                most=LONGEST_PIN, count=len(text)
            ),
        )
    return text
