"""Which pins the user took back: a model names one in nearly their words, and code finds it.

By the message that it cites and by its words: the same, a part of them, or small edits. Where that
is not certain, the pin stands, and the page asks.
"""

import re
from collections.abc import Sequence

from agent.authorship.quoted import Range
from agent.compaction.instructions.likeness import Words, find_like, find_telling
from agent.compaction.instructions.named import Retirement
from agent.compaction.instructions.pins import Pin

LEAST_SHARED = 0.5  # telling words of what is named that a pin of the cited message has
LEAST_REST = 2  # telling words of the other half of a sentence

# Between two halves of a sentence of which each stands by itself.
_AND = r"(?:and|und|et|y|e|и|و|और|以及|并且|並且|而且|それと|また)"
_REST_BEFORE = re.compile(rf"^(.*\S)\W+{_AND}\W*$", re.I | re.S)
_REST_BEHIND = re.compile(
    rf"^\W*(?:(?:please|bitte|por favor|пожалуйста|s['’]il (?:te|vous) pla[iî]t)\W+)?{_AND}(?!\w)"
    r"\W*(\S.*)$",
    re.I | re.S,
)


def find_meant_pins(standing: Sequence[Pin], retirement: Retirement) -> tuple[list[Pin], bool]:
    """The pins that a retirement means, and whether that is certain."""
    if same := [pin for pin in standing if pin.key == retirement.key]:
        return same, True
    old = Words(retirement.key)
    cited = [pin for pin in standing if pin.number == retirement.number]
    for among in cited, standing:
        alike = [pin for pin in among if _find_part(old, pin)]
        if alike:
            return alike, among is cited or len(alike) == 1
    wanted = find_telling(old.split)
    shared = {pin: len(wanted & find_telling(Words(pin.text).split)) for pin in cited}
    most = max(shared.values(), default=0)
    if not most or most < LEAST_SHARED * len(wanted):
        return (cited, False) if len(cited) == 1 and not wanted else ([], False)
    return [pin for pin in cited if shared[pin] == most], False


def _find_part(old: Words, pin: Pin) -> Range | None:
    """The part of a pin that is named."""
    said = Words(pin.text)
    if same := next(said.find_same(old.joined), None):
        return same
    if like := find_like(old, said):
        return like.place
    whole = next(old.find_same(said.joined), None) or find_like(said, old)
    return (0, len(pin.text)) if whole else None


def read_other_half(pin: Pin, retirement: Retirement) -> Pin | None:
    """The other half of a sentence of which one was taken back, in the user's words."""
    said = Words(pin.text)
    part = None if said.denies else _find_part(Words(retirement.key), pin)
    if not part:
        return None
    start, end = part
    before, behind = _REST_BEFORE.match(pin.text[:start]), _REST_BEHIND.match(pin.text[end:])
    for half in before, behind:
        if half and len(find_telling(Words(half[1]).split)) >= LEAST_REST:
            return Pin(pin.number, half[1])
    return None
