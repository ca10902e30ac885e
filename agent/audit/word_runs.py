"""Runs of words in a text: whether some stand there, whole and in a row, whatever marks and spaces
are between them."""

import re
from functools import cached_property
from itertools import takewhile
from unicodedata import category

from agent.audit.facts.words import CJK, clean, is_cjk

LONGEST = 500  # characters of what is looked for, and of a sentence on either side
MOST_SIGNS = 4  # beside a word, that are a part of what it says
_TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
# Not after a number: it may be a day.
_STOP = re.compile(r"(?<=[^\d\s][.!?…])\s+|[。！？；।؟\n]+")


class WordRuns:
    """A text as its words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places = [match.span() for match in _TOKEN.finditer(text)]

    @cached_property
    def tokens(self) -> str:
        """The words, each between spaces; "" for none."""
        words = (clean(self._text[start:end]).casefold() for start, end in self._places)
        return "".join(f" {word.replace(' ', '')}" for word in words) + " " if self._places else ""

    @property
    def length(self) -> float:
        """In words, of which a Chinese, Japanese or Korean character is half a one."""
        return sum(0.5 if is_cjk(self._text[start]) else 1 for start, _ in self._places)

    def find(self, tokens: str) -> tuple[str, str] | None:
        """The part of the text that has some words in a row, as it is written, and the whole
        sentences around it: a quote may begin after a “not”. None where they are not there."""
        at = self.tokens.find(tokens)
        if at < 0:
            return None
        first = self.tokens.count(" ", 0, at)
        start, _ = self._places[first]
        _, end = self._places[first + tokens.count(" ") - 2]
        if end - start > 2 * LONGEST:  # with a drawing or so between the words
            return None
        start -= _count_signs(self._text[max(0, start - MOST_SIGNS) : start][::-1])
        end += _count_signs(self._text[end : end + MOST_SIGNS])
        begin = max(0, start - LONGEST)
        for stop in _STOP.finditer(self._text, begin, start):
            begin = stop.end()
        after = _STOP.search(self._text, end, end + LONGEST)
        passage = self._text[begin : after.start() if after else end + LONGEST]
        return " ".join(self._text[start:end].split()), passage


def _count_signs(signs: str) -> int:
    """How many of the signs beside a word, the nearest first, are a part of what it says: a
    currency, a minus, a vowel."""
    belong = (sign in "+-−%‰°#" or category(sign) in ("Mn", "Mc", "Sc") for sign in signs)
    return len(list(takewhile(bool, belong)))
