"""The user's standing instructions as a model names them in a summary: it proposes, code disposes.

What the user typed is pinned as they typed it. What no message has as the model wrote it, and what
only others wrote, is offered to the user and not sent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.audit.evidence import FENCE
from agent.audit.quotes import Given
from agent.compaction.instructions.likeness import join_words
from agent.compaction.instructions.named_lines import (
    NamedLine,
    names_nothing,
    parse_line,
    read_lines,
)
from agent.compaction.instructions.pins import LONGEST, Pin, PinState, find_pins_in
from agent.compaction.instructions.revocations import find_revocations
from agent.compaction.instructions.typed_sentences import TypedMessages
from agent.compaction.skills import INSTRUCTIONS
from agent.context.shortening.text_previews import shorten_text
from agent.messages import AgentMessage

MOST_NAMED = 100  # lines of one text that are looked for
MOST_OFFERED = 10  # of one chapter

_RETIRED = re.compile(r".{0,20}\bRetired\b.*?\bby:", re.I)  # as the form asks for it


@dataclass(frozen=True, slots=True)
class Retirement:
    """An instruction that the user took back, by the `key` of its pin, in message `by`. What the
    model wrote need not be all of the pin: `number` is the message that it cites, `line` all that
    it wrote."""

    key: str
    by: int
    number: int = field(default=0, compare=False)
    line: str = field(default="", compare=False)


@dataclass
class Named:
    """What the calls for one summary named, as far as code found it. `offers`: what it did not
    find, in the model's words, and what no call named. `doubted`: the user's words for taking it
    back were not found. `not_pinned`: lines that stand in no message, or take back what is not
    there."""

    pins: list[Pin] = field(default_factory=list)
    offers: list[Pin] = field(default_factory=list)
    retired: list[Retirement] = field(default_factory=list)
    doubted: list[Retirement] = field(default_factory=list)
    not_pinned: list[str] = field(default_factory=list)
    _typed: TypedMessages | None = None

    def add(
        self,
        lines: Sequence[str],
        covered: Sequence[AgentMessage],
        earlier: Sequence[Pin] | None = None,
    ) -> None:
        """Look for the lines of a text's section in the messages that the summary covers.
        `earlier`: the pins of the chapters before; None where they are not known."""
        for line in lines[MOST_NAMED:]:
            self.tell(line)
        for named, pins in _look_up(lines, self._read(covered), earlier):
            if named.old:
                by = next((pin.number for pin in pins if pin.state == PinState.STANDING), 0)
                self._retire(named, by, covered)
            elif pins:
                for pin in pins:
                    self._keep(pin, self.pins)
            else:
                self.tell(named.written)
                cited = next(iter(named.numbers), 0)
                words = shorten_text(named.words, LONGEST)
                self._keep(Pin(cited, words, PinState.RESTATED), self.offers)

    def list_unfound(
        self, lines: Sequence[str], covered: Sequence[AgentMessage], earlier: Sequence[Pin]
    ) -> list[str]:
        """The lines of which no message has the words: the model may say them once more."""
        return [
            named.written
            for named, pins in _look_up(lines, self._read(covered), earlier)
            if not pins or (named.old and pins[0].state != PinState.STANDING)
        ]

    def add_by_rule(self, prompts: Sequence[AgentMessage], earlier: Sequence[Pin]) -> None:
        """Pin what is worded like an instruction in the user's messages, and retire what is worded
        like taken back, where no model names them."""
        standing = [pin for pin in earlier if pin.state == PinState.STANDING]
        for message in prompts:
            found = find_pins_in(message)
            for taking, meant in find_revocations(message, standing):
                self.retired += [Retirement(pin.key, taking.number) for pin in meant]
                found += [] if taking in found else [taking]
            self.pins += found
            standing += found

    def add_unnamed(self, prompts: Sequence[AgentMessage], earlier: Sequence[Pin]) -> None:
        """Offer what is worded like an instruction in the user's messages, and doubt what is worded
        like taken back, where the model did not name it."""
        known = {join_words(pin.text) for pin in (*self.pins, *earlier)}
        known |= {join_words(each.key) for each in (*self.retired, *self.doubted)}
        for pin in (pin for message in prompts for pin in find_pins_in(message)):
            if self._offered >= MOST_OFFERED:
                break
            words = join_words(pin.text)
            if not any(words in each or (each in words and each) for each in known):
                known.add(words)
                self.offers.append(replace(pin, state=PinState.UNNAMED))
        told = {each.by for each in (*self.retired, *self.doubted)}
        told |= {pin.number for pin in self.pins}
        standing = [pin for pin in (*earlier, *self.pins) if pin.state == PinState.STANDING]
        for message in (each for each in prompts if each.number not in told):
            for taking, meant in find_revocations(message, standing):
                self.doubted += [Retirement(pin.key, taking.number) for pin in meant]

    def _read(self, covered: Sequence[AgentMessage]) -> TypedMessages:
        """What the user typed in some messages, read once for all that is looked for in them."""
        if self._typed is None or self._typed.covered is not covered:
            self._typed = TypedMessages(covered)
        return self._typed

    def _retire(self, named: NamedLine, by: int, covered: Sequence[AgentMessage]) -> None:
        """Where the user's words for it are not found, that it may be taken back is told."""
        if not by:
            self.tell(named.written)
        cited = (n for n in named.numbers if covered[0].number <= n <= covered[-1].number)
        if number := by or next(cited, 0):
            old = next(iter(named.old_numbers), 0)
            retirement = Retirement(Pin(0, named.old).key, number, old, named.written)
            (self.retired if by else self.doubted).append(retirement)

    def tell(self, line: str) -> None:
        """Note a line of which nothing came."""
        if line not in self.not_pinned:
            self.not_pinned.append(line)

    def _keep(self, pin: Pin, among: list[Pin]) -> None:
        if pin not in among and (not pin.is_offer or self._offered < MOST_OFFERED):
            among.append(pin)

    @property
    def _offered(self) -> int:
        return sum(pin.is_offer for pin in (*self.pins, *self.offers))

    @property
    def in_order(self) -> tuple[Pin, ...]:
        """The pins and offers as they were said, so that later ones come later."""
        return tuple(sorted((*self.pins, *self.offers), key=lambda pin: pin.number))


def _look_up(
    lines: Sequence[str], typed: TypedMessages, earlier: Sequence[Pin] | None
) -> Iterator[tuple[NamedLine, list[Pin]]]:
    """What each line names, and the pins that it is in the user's words; for one that takes
    something back, those of the words that do. What an earlier chapter has, and what stands in a
    message after these, which is sent as it is, is left out."""
    first, last = typed.covered[0].number, typed.covered[-1].number
    for named in (parse_line(line) for line in lines[:MOST_NAMED] if not names_nothing(line)):
        if named.old:
            yield named, typed.find(named)
            continue
        before = bool(named.numbers) and max(named.numbers) < first
        if not join_words(named.words) or (before and _is_known(named, earlier)):
            continue
        if pins := typed.find(named):
            yield named, pins
        elif parts := typed.find_parts(named):
            yield from parts
        elif not named.numbers or min(named.numbers) <= last:
            yield named, []


def mend_lines(lines: Sequence[str], quoted: Mapping[str, Sequence[Given]]) -> list[str]:
    """The lines with the words of messages that the model answered with, by the lines that it was
    asked about."""
    mended: list[str] = []
    for line in lines:
        asked = [said for said in quoted if said in line]
        retired = _RETIRED.match(line) if asked else None
        for words in (_cite(quote) for said in asked for quote in quoted[said]):
            mended.append(f"{retired[0]} {words}" if retired else words)
        for said in asked:
            line = line.replace(said, "", 1)
        mended += [line] if not asked or any(c.isalpha() for c in line) else []
    return mended


def _cite(quote: Given) -> str:
    return " ".join([quote.words, *(f"[#{number}]" for number in quote.numbers)])


def _is_known(named: NamedLine, earlier: Sequence[Pin] | None) -> bool:
    """Whether a line repeats what an earlier chapter has."""
    if earlier is None:
        return True
    words = join_words(named.words)
    said = [join_words(pin.text) for pin in earlier]
    return any(words in each or (each and each in words) for each in said)


def split_instructions(text: str) -> tuple[str, list[str]]:
    """A summary's text without the section of the instructions, and the lines of that section."""
    kept: list[str] = []
    section: list[str] = []
    inside = code = False
    for line in text.splitlines():
        code ^= FENCE.match(line) is not None
        if line.startswith("## ") and not code:
            inside = line[3:].strip().casefold() == INSTRUCTIONS.casefold()
            if inside:
                continue
        (section if inside else kept).append(line)
    return "\n".join(kept), read_lines(section)
