"""Finding in what the user typed the sentence that a model copied, as nearly as it did."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from agent.authorship.quoted import Range
from agent.authorship.typed import ITEM, TypedText, read_typed_texts
from agent.compaction.instructions.likeness import (
    Likeness,
    Words,
    find_like,
    find_telling,
    join_words,
)
from agent.compaction.instructions.named_lines import NamedLine
from agent.compaction.instructions.pins import LONGEST_PIN, Pin, PinState, make_pin
from agent.messages import AgentMessage

MOST_SENTENCES = 3  # over which one instruction is spread
LONGEST_SENTENCES = 2_000  # characters of these in which small edits are looked for
NEIGHBOURS = 4  # messages nearest to the cited one that are looked at for small edits
MOST_ALIKE = 5  # of all messages, those that share most words with what was copied
LEAST_SHARED = 0.7  # of its telling words
LONGEST_MARK = 20  # characters of what begins an item of a list
SHORTEST_WORDS = 2  # characters without marks: four are a sentence in Chinese
LEAST_WORDS = 2  # of a part of a line that is looked for by itself
LEAST_COVERED = 0.5  # of a sentence, by one of several that were named in one line

# What joins several in one line: ends of sentences and marks of lists, or else commas.
_STRONG = re.compile(r"(?<=[.!?])\s+|[。！？;；।•·|\n]+|\s+[/–—-]\s+")
_WEAK = re.compile(r"[,，、،]\s*(?:(?:and|und|et|y|e|и)\s+)?|\s+(?:and|und|et|y|и|और)\s+|\s+و\s*")

_Parts = list[tuple[str, list[Pin]]]


class TypedMessages:
    """The user's messages among those that a summary covers."""

    def __init__(self, covered: Sequence[AgentMessage]) -> None:
        self.covered = covered
        self._found: dict[str, list[Pin]] = {}  # by lines: each is looked for once
        self._prompts = {m.number: m for m in covered if m.is_prompt}
        self._latest = sorted(self._prompts, reverse=True)
        self._texts: dict[int, list[SearchedText]] = {}

    def find(self, line: NamedLine) -> list[Pin]:
        """Pins of what a line names, in the words of the messages: with the whole sentence, so that
        no “never” is lost. The cited messages come first, then those that have the very words, then
        those with small edits. What only others wrote becomes an offer. None: it stands nowhere, or
        not all of it."""
        if line.written not in self._found:
            self._found[line.written] = self._search(line)
        return self._found[line.written]

    def _search(self, line: NamedLine) -> list[Pin]:
        readings = list(dict.fromkeys(filter(_is_enough, line.readings)))
        ways = self._find_same, self._find_all_parts, self._find_like
        found = (way(words, line.numbers) for way in ways for words in readings)
        return next(filter(None, found), [])

    def find_parts(self, line: NamedLine) -> list[tuple[NamedLine, list[Pin]]]:
        """The several instructions that one line names, and the pins of each; nothing where none of
        them is found."""
        found = max(self._split(line.words, line.numbers), key=_count_found, default=[])
        if not _count_found(found):
            return []
        return [(replace(line, written=part, words=part), pins) for part, pins in found]

    def _find_same(self, words: str, cited: Sequence[int]) -> list[Pin]:
        """Where the very words stand; a single one only in the cited messages."""
        joined = join_words(words)
        offers: list[Pin] = []
        others = self._latest if _is_enough(words, LEAST_WORDS) else []
        for number in [*cited, *(each for each in others if each not in cited)]:
            for text in self._read(number):
                for part in text.words.find_same(joined):
                    if text.typed.is_typed(part):
                        return text.pin(number, part)
                    offers = offers or [_offer(make_pin(number, text.typed, part))]
        return offers

    def _find_all_parts(self, words: str, cited: Sequence[int]) -> list[Pin]:
        """The pins of several instructions that stand in one line; none where one is missing."""
        for found in self._split(words, cited):
            if _count_found(found) == len(found):
                return list(dict.fromkeys(pin for _, pins in found for pin in pins))
        return []

    def _split(self, words: str, cited: Sequence[int]) -> Iterator[_Parts]:
        """What is found of the parts of a line, by what may join them."""
        for between in _STRONG, _WEAK:
            parts = [part.strip() for part in between.split(words) if part and part.strip()]
            if len(parts) > 1 and all(_is_enough(part, LEAST_WORDS) for part in parts):
                yield [(part, self._find_part(part, cited)) for part in parts]

    def _find_part(self, words: str, cited: Sequence[int]) -> list[Pin]:
        pins = self._find_same(words, cited) or self._find_like(words, cited)
        wanted = len(Words(words).list)
        covered = all(wanted >= LEAST_COVERED * len(Words(pin.text).list) for pin in pins)
        return pins if covered else []

    def _find_like(self, words: str, cited: Sequence[int]) -> list[Pin]:
        copy = Words(words)
        known = [number for number in cited if number in self._prompts]
        if (found := self._find_nearest(copy, known)) or not _is_enough(words, LEAST_WORDS):
            return found
        found = self._find_nearest(copy, self._list_near(known))
        return found or self._find_nearest(copy, self._list_alike(copy))

    def _find_nearest(self, copy: Words, numbers: Sequence[int]) -> list[Pin]:
        """A pin of what is most alike in some messages."""
        found = [
            (best, number, text)
            for number in numbers
            for text in self._read(number)
            if (best := text.find_like(copy))
        ]
        if not found:
            return []
        best, number, text = max(found, key=lambda each: each[0].score)
        if text.typed.is_typed(best.place):
            return text.pin(number, best.place)
        return [_offer(make_pin(number, text.typed, best.place))]

    def _list_near(self, cited: Sequence[int]) -> list[int]:
        """The messages beside the cited ones."""
        near = sorted(self._latest, key=lambda each: min((abs(each - n) for n in cited), default=0))
        return near[: NEIGHBOURS + len(cited)] if cited else []

    def _list_alike(self, copy: Words) -> list[int]:
        """The messages that share most telling words with what was copied, the most first."""
        telling = find_telling(copy.list)
        shared = {
            number: sum(any(word in text.words.joined for text in texts) for word in telling)
            for number in self._latest
            if (texts := self._read(number))
        }
        least = max(1, LEAST_SHARED * len(telling))
        enough = [number for number, count in shared.items() if count >= least]
        return sorted(enough, key=lambda number: -shared[number])[:MOST_ALIKE]

    def _read(self, number: int) -> "list[SearchedText]":
        if number not in self._prompts:
            return []
        if number not in self._texts:
            texts = read_typed_texts(self._prompts[number])
            self._texts[number] = [SearchedText(text) for text in texts]
        return self._texts[number]


class SearchedText:
    """One text of a message, with its words and sentences."""

    def __init__(self, typed: TypedText) -> None:
        self.typed = typed
        self.words = Words(typed.text)

    @cached_property
    def sentences(self) -> list[Range]:
        return list(self.typed.sentences())

    @cached_property
    def _telling(self) -> list[set[str]]:
        """Of each sentence the words that carry its meaning."""
        text = self.typed.text
        return [find_telling(Words(text[start:end]).split) for start, end in self.sentences]

    def find_like(self, copy: Words) -> Likeness | None:
        """The best place among sentences and their neighbours for what was copied."""
        wanted = find_telling(copy.split)
        text, best = self.typed.text, None
        for first in range(len(self.sentences)):
            if wanted.isdisjoint(self._telling[first]):
                continue
            for last in range(first, min(first + MOST_SENTENCES, len(self.sentences))):
                start, end = self.sentences[first][0], self.sentences[last][1]
                if end - start > LONGEST_SENTENCES:
                    break
                found = find_like(copy, Words(text[start:end]))
                if found and (best is None or found.score > best.score):
                    a, b = found.place
                    best = Likeness(found.score, (start + a, start + b))
        return best

    def pin(self, number: int, part: Range) -> list[Pin]:
        """A part as pins: one, or one for each item of a list that it reaches over."""
        return [make_pin(number, self.typed, self._widen(item)) for item in self._items(part)]

    def _items(self, part: Range) -> Iterator[Range]:
        start, end = part
        text = self.typed.text
        lines = [start + match.end() for match in re.finditer(r"\n", text[start:end])]
        breaks = [at for at in lines if ITEM.match(text[at : at + LONGEST_MARK])]
        return zip([start, *breaks], [*breaks, end], strict=True)

    def _widen(self, part: Range) -> Range:
        """To whole sentences, where those are the user's and no longer than a pin."""
        touched = [s for s in self.sentences if s[0] < part[1] and part[0] < s[1]]
        whole = (touched[0][0], touched[-1][1])
        return whole if whole[1] - whole[0] <= LONGEST_PIN and self.typed.is_typed(whole) else part


def _offer(pin: Pin) -> Pin:
    return replace(pin, state=PinState.OFFERED)


def _count_found(parts: _Parts) -> int:
    return sum(bool(pins) for _, pins in parts)


def _is_enough(words: str, least: int = 1) -> bool:
    """Whether there is something to look for; in a script without spaces each character counts."""
    found = Words(words).list
    return len(found) >= least and sum(len(word.text) for word in found) >= SHORTEST_WORDS
