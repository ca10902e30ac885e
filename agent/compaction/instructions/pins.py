"""Standing instructions and preferences of the user, kept word for word.

Search would not find them later (measured: recall@10 of 0.06), so they are pinned. Only what the
user typed counts: a pasted mail says what its writer wants. Where a model writes the summary, it
names them (`agent.compaction.instructions.named`); here they are found by their wording.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent.authorship.quoted import Range
from agent.authorship.typed import ITEM, TypedText, read_typed_texts
from agent.context.shortening.text_previews import shorten_text
from agent.messages import AgentMessage

SHORTEST, LONGEST = 4, 400  # characters of one pin


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


def find_pins_in(message: AgentMessage) -> list[Pin]:
    """The standing instructions in a message of the user's, by their wording."""
    return [pin for text in read_typed_texts(message) for pin in find_pins(message.number, text)]


def find_pins(number: int, text: TypedText) -> list[Pin]:
    """The typed sentences of a user's text that are worded like what holds beyond their own
    turn."""
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
