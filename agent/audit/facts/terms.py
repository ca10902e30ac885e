"""What a short statement is about: its words without those that name nothing, and its values."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from agent.audit.facts.dates import agree
from agent.audit.facts.function_words import FUNCTION_WORDS
from agent.audit.facts.values import Value, find_values
from agent.audit.facts.words import (
    CJK,
    TOKEN,
    WORD,
    clean,
    find_content_words,
    is_cjk,
    is_same_word,
    make_stem,
)

BEFORE = 2  # tokens before a number that may say what it is of
MOST_PAIRS = 0.6  # of the pairs of characters, where no spaces tell words apart
_LETTER = re.compile(r"(?<=\w )[A-Z](?!\w)")
_NEXT = re.compile(rf"[ -]({WORD.pattern}|[{CJK}])")


@dataclass(frozen=True)
class Terms:
    """A text that `clean` has gone over, its words in a stemmed form and its values."""

    text: str
    values: Sequence[Value]

    @classmethod
    def read(cls, text: str) -> "Terms":
        text = clean(text)
        return cls(text, [value for value in find_values(text) if not value.loose])

    @cached_property
    def words(self) -> Set[str]:
        """Of any length, but a single letter only as a name ("disk A"); of a script without spaces
        pairs of characters."""
        text = self.text
        for value in reversed(self.values):
            text = f"{text[: value.start]} {text[value.end :]}"
        found = {word for word in WORD.findall(text) if word.lower() not in FUNCTION_WORDS}
        pairs = {word for word in find_content_words(text) if is_cjk(word)}
        return {make_stem(word.lower()) for word in found if len(word) > 1} | self.letters | pairs

    @cached_property
    def letters(self) -> Set[str]:
        """Single letters that are names."""
        return set(_LETTER.findall(self.text))

    @property
    def all(self) -> float:
        """The share of its words that a statement about the same has: all, but of pairs of
        characters those that are within words."""
        return MOST_PAIRS if any(map(is_cjk, self.words)) else 1.0

    def measure_share(self, other: "Terms") -> float:
        """The share of its words that another one has, up to their endings; 0 without words."""
        if not self.words:
            return 0.0
        return sum(other.has_any({word}) for word in self.words) / len(self.words)

    def has_any(self, words: Set[str]) -> bool:
        return not self.words.isdisjoint(words) or any(
            is_same_word(one, other) for one in self.words for other in words
        )

    def has_value(self, value: Value, of: "Terms") -> bool:
        """Whether a value of other terms stands here, and not as the number of another thing:
        "8443 invoices" is no port."""
        return any(
            _are_same(value, each) and not (each.is_bare and self._counts(each, value, of))
            for each in self.values
        )

    def _counts(self, own: Value, value: Value, of: "Terms") -> bool:
        """Whether a number counts what comes after it, and neither terms say that of it."""
        after = _NEXT.match(self.text, own.end)
        if not after or after[1].lower() in FUNCTION_WORDS or own.noun == value.noun:
            return False
        tokens = [*TOKEN.finditer(self.text, 0, own.start)][-BEFORE:]
        before = Terms(self.text[tokens[0].start() : own.start] if tokens else "", ())
        return not before.has_any(of.words) and not of.has_any({make_stem(after[1].lower())})


def _are_same(one: Value, other: Value) -> bool:
    """Whether two values agree; a unit may be left out."""
    if not one.readings.isdisjoint(other.readings):
        return True
    if one.days or other.days:
        return any(agree(day, each) for day in one.days for each in other.days)
    units = {unit for each in (one, other) for unit, _ in each.readings}
    bare = one.is_bare or other.is_bare
    return bare and "time" not in units and not one.amounts.isdisjoint(other.amounts)
