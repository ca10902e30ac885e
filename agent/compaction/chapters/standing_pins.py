"""The pins of all chapters: which of them hold, and what takes one back. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.compaction.chapters.chapter import Chapter, list_left_out
from agent.compaction.instructions.named import Named, Retirement
from agent.compaction.instructions.pins import Pin, PinState
from agent.compaction.instructions.retirement import find_meant_pins, read_other_half


def list_pins(chapters: Sequence[Chapter]) -> list[Pin]:
    """All of them, the latest last; of those that say the same the latest, though an offer takes no
    other's place."""
    found: dict[str, Pin] = {}
    left_out = list_left_out(chapters)
    for pin in (pin for chapter in chapters for pin in chapter.pins):
        if pin.number in left_out:
            continue
        pin = reinstate(pin, pin.by) if pin.by in left_out else pin
        if not pin.is_offer or pin.key not in found:
            found.pop(pin.key, None)
            found[pin.key] = pin
    return list(found.values())


def reinstate(pin: Pin, number: int) -> Pin:
    """A pin without what a message did to it, which may have taken it back."""
    return replace(pin, state=PinState.STANDING, by=0) if pin.by == number else pin


def list_standing(chapters: Sequence[Chapter]) -> list[Pin]:
    """Those that hold, the latest last."""
    return [pin for pin in list_pins(chapters) if pin.state == PinState.STANDING]


def keep_edits(chapters: Sequence[Chapter], edited: Sequence[Pin]) -> list[Chapter]:
    """The chapters with what the user did to pins on the page before they were written again."""
    done = {(pin.number, pin.key): pin for pin in edited}
    there = {(pin.number, pin.key) for chapter in chapters for pin in chapter.pins}
    changed = change_pins(chapters, lambda pin: done.get((pin.number, pin.key), pin))
    missing = [pin for place, pin in done.items() if place not in there]
    return add_pins(changed, missing)


def change_pins(chapters: Sequence[Chapter], change: Callable[[Pin], Pin]) -> list[Chapter]:
    return [replace(chapter, pins=tuple(map(change, chapter.pins))) for chapter in chapters]


def add_pins(chapters: Sequence[Chapter], pins: Sequence[Pin]) -> list[Chapter]:
    """The chapters with more pins, which come after the others."""
    *before, last = chapters
    return [*before, replace(last, pins=(*last.pins, *pins))]


def retire_pins(chapters: Sequence[Chapter], named: Named) -> list[Chapter]:
    """The chapters without the force of what the user took back later. What the user did to a pin
    on the page holds, and the page asks about it. What fits no pin is told in `named`."""
    changed = list(chapters)
    for retirement in (*named.retired, *named.doubted):
        standing = [pin for pin in list_standing(changed) if pin.number < retirement.by]
        meant, certain = find_meant_pins(standing, retirement)
        if not meant:
            named.tell(retirement.line or retirement.key)
        certain = certain and retirement not in named.doubted
        keys = {pin.key: pin for pin in meant}
        changed = [_retire_in(each, keys, retirement, certain=certain) for each in changed]
    return changed


def _retire_in(
    chapter: Chapter, meant: dict[str, Pin], retirement: Retirement, *, certain: bool
) -> Chapter:
    pins: list[Pin] = []
    for pin in chapter.pins:
        if pin.key not in meant or pin.state != PinState.STANDING or pin.number >= retirement.by:
            pins.append(pin)
        elif pin.edited or not certain:
            pins.append(replace(pin, by=retirement.by))
        else:
            pins.append(replace(pin, state=PinState.RETIRED, by=retirement.by))
            if rest := read_other_half(pin, retirement):
                pins.append(rest)
    return replace(chapter, pins=tuple(pins))
