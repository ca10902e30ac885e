"""Standing instructions and preferences of the user, kept word for word.

Search would not find them later (measured: recall@10 of 0.06), so they are pinned. Only what the
user typed counts: a pasted mail says what its writer wants. Where a model writes the summary, it
names them (`agent.compaction.instructions.named`); here they are found by their wording.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from agent.authorship.instruction_wordings import instructs
from agent.authorship.quoted import Range, blank_out, find_foreign
from agent.authorship.reported import find_reported
from agent.context.pruning import shorten_text
from agent.messages import AgentMessage, block_text, file_name, is_file

# A mark ends a sentence before a space, in scripts without spaces anywhere, and a line's end does.
_STOP = re.compile(
    r"[.!?؟]+[\"'”’»)\]]*(?=\s|$)|[。！？।॥]+[」』”）]*|\n",
)
# After these a full stop ends no sentence; after “etc.” it does where a capital follows.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|(?:\w+\.\s?)+\w|vs|cf|approx|incl|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|bzw|ca|ggf"
    r"|inkl|evtl|ex|ej|Sr|Sra|Ud|Uds|pág|напр|см|стр|etc|usw|usf)$",
    re.I,
)
_LONGEST_ABBREVIATION = 12
_AT_THE_END = re.compile(r"(?:etc|usw|usf)$", re.I)
ITEM = re.compile(r"^\s*(?:[-*+•·–—]|\d{1,3}[.)])\s+")
SHORTEST, LONGEST = 4, 400  # characters of one pin
FOREIGN_WORDS = 3  # that a sentence of the user's may hold: a pasted name, a path
# A word, or a character of a script that writes no spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
# Stands for a character that the user did not type: no wording matches it.
_NOT_TYPED = "\ue000"
_GAP = re.compile(rf"{_NOT_TYPED}[{_NOT_TYPED}\s]*")


class PinState(StrEnum):
    """Only what stands is sent. The page lists all of them and can let any stand again."""

    STANDING = "standing"
    RETIRED = "retired"  # taken back by the user, in the message `by`
    REMOVED = "removed"  # by the user, on the page
    # Not sent either, unless the user keeps it:
    OFFERED = "offered"  # named by the model, but of others' words
    RESTATED = "restated"  # named by the model, in words that no message has
    UNNAMED = "unnamed"  # worded like an instruction, but the model did not name it


OFFERS = frozenset({PinState.OFFERED, PinState.RESTATED, PinState.UNNAMED})


@dataclass(frozen=True, slots=True)
class Pin:
    """A standing instruction, and the number of the message that it stands in; 0: the user wrote it
    on the page. `by`: the message in which the user took it back; where it still stands, they may
    have. `edited`: what the user did to it there holds, whatever a model writes."""

    number: int
    text: str
    state: PinState = PinState.STANDING
    by: int = 0
    edited: bool = False

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> "Pin":
        """From its stored form."""
        number, text, *more = data
        state, by, edited = more or (PinState.STANDING, 0, False)
        return cls(number, text, PinState(state), by, edited)

    def as_list(self) -> list[Any]:
        """For storage; `from_list` reads it back."""
        return [self.number, self.text, self.state.value, self.by, self.edited]

    @property
    def key(self) -> str:
        """By which it is told whether two say the same."""
        return self.text.casefold().rstrip(".!。！।")

    @property
    def is_offer(self) -> bool:
        """Whether it is sent only if the user keeps it."""
        return self.state in OFFERS

    @property
    def is_undecided(self) -> bool:
        """Whether the page asks the user about it."""
        return self.is_offer or (self.state == PinState.STANDING and self.by > 0)

    def render(self) -> str:
        return f"- {self.text} [#{self.number}]" if self.number else f"- {self.text}"


class TypedText:
    """One text of a user's message, and which parts of it they typed. `pasted`: see
    `agent.authorship.quoted.find_foreign`."""

    def __init__(self, text: str, pasted: Sequence[Range] | None = None) -> None:
        self.text = text
        self._own = blank_out(text, find_foreign(text, pasted), _NOT_TYPED)

    @cached_property
    def _said(self) -> str:
        """What the user says themselves, without what they report that others said."""
        return blank_out(self._own, find_reported(self.text), _NOT_TYPED)

    def sentences(self) -> Iterator[Range]:
        """Where its sentences are, with what ends them."""
        start = 0
        for stop in _STOP.finditer(self.text):
            if not _ends_sentence(self.text, stop):
                continue
            yield start, stop.end()
            start = stop.end()
        yield start, len(self.text)

    def read_said(self, part: Range) -> str:
        """A part on one line as the user says it themselves, with a mark in place of each other
        character."""
        return _read_line(self._said[slice(*part)])

    def instructs(self, part: Range) -> bool:
        """Whether a part is worded like what holds beyond its turn, in the user's own words."""
        own = _read_line(self._own[slice(*part)])
        if not instructs(own):
            return False
        said = self.read_said(part)
        return said == own or instructs(said)

    def is_typed(self, part: Range) -> bool:
        """Whether a part is the user's own: a pasted name or path in it does not matter. What they
        report of others is not, except beside an instruction of their own."""
        own, typed = self._own[slice(*part)], self.text[slice(*part)]
        foreign = "".join(
            character if mark == _NOT_TYPED else " "
            for character, mark in zip(typed, own, strict=True)
        )
        words = len(_WORD.findall(foreign))
        if words > FOREIGN_WORDS or words >= len(_WORD.findall(own.replace(_NOT_TYPED, " "))):
            return False
        said = self._said[slice(*part)]
        return said == own or instructs(_read_line(said))


def _read_line(own: str) -> str:
    """A part on one line, with a mark in place of each character that was not typed."""
    return ITEM.sub("", " ".join(own.split()))[:LONGEST]


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    if stop[0][0] != ".":
        return True
    before = text[max(0, stop.start() - _LONGEST_ABBREVIATION) : stop.start()]
    if not _ABBREVIATION.search(before):
        return True
    return bool(_AT_THE_END.search(before)) and text[stop.end() :][:2].strip().istitle()


def read_typed_text(message: AgentMessage) -> str:
    """What a person wrote in a message, and the names of files. Not the files' contents, and not
    the results of tools, which imported messages may also hold."""
    written = (b for b in message.blocks if b["type"] == "text" or is_file(b))
    return "\n\n".join(file_name(b) if is_file(b) else block_text(b) for b in written)


def read_texts(message: AgentMessage) -> list[TypedText]:
    """The texts of a user's message; neither files nor results of tools."""
    texts = [block_text(block) for block in message.blocks if block["type"] == "text"]
    return [TypedText(text, message.pasted) for text in texts]


def find_pins_in(message: AgentMessage) -> list[Pin]:
    """The standing instructions in a message of the user's, by their wording."""
    return [pin for text in read_texts(message) for pin in _find_pins(message.number, text)]


def find_pins(number: int, text: str, pasted: Sequence[Range] | None = None) -> list[Pin]:
    """The typed sentences of a user's text that are worded like what holds beyond their own
    turn."""
    return _find_pins(number, TypedText(text, pasted))


def _find_pins(number: int, text: TypedText) -> list[Pin]:
    return [
        make_pin(number, text, sentence)
        for sentence in text.sentences()
        if sentence[1] - sentence[0] >= SHORTEST
        and text.instructs(sentence)
        and text.is_typed(sentence)
    ]


def make_pin(number: int, text: TypedText, part: Range) -> Pin:
    """A part of a text as a pin: on one line, without the mark of a list's item."""
    words = ITEM.sub("", " ".join(text.text[slice(*part)].split()))
    return Pin(number, shorten_text(words, LONGEST))


def read_own_words(message: AgentMessage) -> str:
    """What the user typed in a message, the names that they put in quotation marks too, with `[…]`
    for each part that others wrote; "" where they typed nothing."""
    texts = [block_text(block) for block in message.blocks if block["type"] == "text"]
    foreign = (find_foreign(text, message.pasted, names=False) for text in texts)
    typed_parts = [
        _GAP.sub(" […] ", blank_out(text, parts, _NOT_TYPED)).strip()
        for text, parts in zip(texts, foreign, strict=True)
    ]
    return "\n\n".join(part for part in typed_parts if part.replace("[…]", "").strip())
