"""The user's standing instructions as a model names them in a summary: it proposes, code disposes.

What stands in no message word for word is not pinned, and what stands only in what others wrote is
offered to the user and not sent.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from agent.compaction.evidence import FENCE
from agent.compaction.pins import LONGEST, Pin, PinState, TypedText, make_pin, read_texts
from agent.compaction.quoted import Range
from agent.compaction.skills import INSTRUCTIONS
from agent.messages import Message

MOST_NAMED = 60  # lines of one text that are looked at
MOST_OFFERED = 10  # of one chapter
LONGEST_LINE = 1_000  # characters: the patterns below may look at each several times
SHORTEST = 2  # characters; a sentence in Chinese may have four

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$")
_NUMBER = r"\[#(\d{1,9})[^\]]*\]"
_NAMED = re.compile(rf"^(.+?)\s*(?:{_NUMBER})?[.\s]*$")
_RETIRED = re.compile(
    rf"^\W{{0,9}}Retired\W{{0,9}}:\W{{0,9}}(.+?)\s*(?:{_NUMBER})?\s*\bby:\s*(.+?)\s*{_NUMBER}", re.I
)
_AROUND = " \t*_`\"'“”„«»‘’‚「」『』"  # quotes and marks that a model may add
_QUOTE = "[\"'“”„«»‘’‚]"
_DASH = "[-‐‑–—]"


@dataclass(frozen=True, slots=True)
class Retirement:
    """An instruction that the user took back, by the `key` of its pin, in message `by`."""

    key: str
    by: int


@dataclass
class Named:
    """What the calls for one summary named, as far as code found it. `not_pinned`: lines that stand
    in no message."""

    pins: list[Pin] = field(default_factory=list)
    retired: list[Retirement] = field(default_factory=list)
    not_pinned: list[str] = field(default_factory=list)

    def add(self, lines: Sequence[str], covered: Sequence[Message]) -> None:
        """Look for the lines of a text's section in the messages that the summary covers."""
        typed = _TypedMessages(covered)
        for line in lines[:MOST_NAMED]:
            line = " ".join(line[:LONGEST_LINE].split())
            if retired := _RETIRED.match(line):
                old, _, words, by = retired.groups()
                pin = typed.find(words, int(by))
                if pin and pin.state == PinState.STANDING:
                    self.retired.append(Retirement(_key(old), pin.number))
                    continue
            elif (named := _NAMED.match(line)) and len(_strip(named[1])) >= SHORTEST:
                number = int(named[2] or 0)
                if 0 < number < covered[0].number:
                    continue  # an earlier chapter has it
                if pin := typed.find(named[1], number):
                    self._keep(pin)
                    continue
            if line not in self.not_pinned:
                self.not_pinned.append(line)

    def _keep(self, pin: Pin) -> None:
        offered = sum(each.state == PinState.OFFERED for each in self.pins)
        if pin not in self.pins and (pin.state != PinState.OFFERED or offered < MOST_OFFERED):
            self.pins.append(pin)

    @property
    def in_order(self) -> tuple[Pin, ...]:
        """The pins as they were said, so that later ones come later."""
        return tuple(sorted(self.pins, key=lambda pin: pin.number))


def split_instructions(text: str) -> tuple[str, list[str]]:
    """A summary's text without the section of the instructions, and the lines of that section."""
    kept, lines, inside, code = [], [], False, False
    for line in text.splitlines():
        code ^= FENCE.match(line) is not None
        if line.startswith("## ") and not code:
            inside = line[3:].strip().casefold() == INSTRUCTIONS.casefold()
        if not inside:
            kept.append(line)
        elif bullet := _BULLET.match(line):
            lines.append(bullet[1])
    return "\n".join(kept), lines


class _TypedMessages:
    def __init__(self, covered: Sequence[Message]) -> None:
        self._prompts = {m.number: m for m in covered if m.is_prompt}
        self._texts: dict[int, list[_Searched]] = {}

    def find(self, words: str, number: int) -> Pin | None:
        """A pin of what the model copied, in the words of the message: with the whole sentence, so
        that no “never” is lost. Its number is corrected where another message has the words; where
        only others wrote them, the pin is an offer. None: they stand nowhere."""
        pattern = _compile(words)
        order = sorted(self._prompts, key=lambda each: (each != number, -each))
        offer = None
        for each in order:
            for text in self._read(each):
                for part in text.find_all(pattern):
                    if text.typed.is_typed(part):
                        return make_pin(each, text.typed, text.widen(part))
                    offer = offer or make_pin(each, text.typed, part)
        return replace(offer, state=PinState.OFFERED) if offer else None

    def _read(self, number: int) -> list["_Searched"]:
        if number not in self._texts:
            texts = read_texts(self._prompts[number])
            self._texts[number] = [_Searched(text) for text in texts]
        return self._texts[number]


class _Searched:
    def __init__(self, typed: TypedText) -> None:
        self.typed = typed

    @cached_property
    def _sentences(self) -> list[Range]:
        return list(self.typed.sentences())

    def find_all(self, pattern: re.Pattern[str]) -> Iterator[Range]:
        return (match.span() for match in pattern.finditer(self.typed.text))

    def widen(self, part: Range) -> Range:
        """To whole sentences, where those are the user's and no longer than a pin."""
        touched = [s for s in self._sentences if s[0] < part[1] and part[0] < s[1]]
        whole = (touched[0][0], touched[-1][1])
        return whole if whole[1] - whole[0] <= LONGEST and self.typed.is_typed(whole) else part


def _compile(words: str) -> re.Pattern[str]:
    """The words with any white space between them and any form of quotes and dashes."""
    return re.compile(r"\s++".join(map(_any_form, _strip(words).split())), re.I)


def _any_form(word: str) -> str:
    return "".join(
        _QUOTE if re.match(_QUOTE, c) else _DASH if re.match(_DASH, c) else re.escape(c)
        for c in word
    )


def _key(words: str) -> str:
    return Pin(0, " ".join(_strip(words).split())).key


def _strip(words: str) -> str:
    return words.strip(_AROUND).rstrip(".!。！।…").strip(_AROUND)
