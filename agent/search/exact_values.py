"""Exact values in text: what a summary must not invent and a reader must be able to find again."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

# A run of letters and digits with a digit in it, its parts joined by hyphens or the like:
# HT-2024-118, INV/2024/7, 7AB-44-19, v1.2, api-2.example.org. A slash joins what has figures behind
# it, a colon what has a digit on both sides. Whether it is one value, `_is_one` says.
_PART = r"[^\W_]+"
_JOINED = rf"(?:[-\u2010\u2011_.]|/(?=\d|[A-Z]{{1,5}}/\d)|(?<=\d):(?=[^\W\d_]{{0,20}}\d)){_PART}"
_SERIAL = (
    rf"(?P<serial>(?<![\w])(?<!\w[-\u2010\u2011])(?=[\w.:/\u2010\u2011-]{{0,200}}\d)"
    rf"(?={_PART}(?:\.{_PART}){{0,20}}[-_:/\u2010\u2011]|[^\W\d_][^\W_]*\.\d){_PART}(?:{_JOINED})+)"
)
# Alternatives from the most specific to the least; the first that matches at a place counts.
_PATTERNS = (
    r"https?://[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]",  # URL
    r"[\w.+-]+@[\w-]+(?:\.[\w.-]*\w(?::[\w./~-]*\w)?|:\d{1,5}\b)",  # address, user@host:port
    r"\b[A-Za-z]:\\(?:[\w.\\+@~$%-]*[\w\\])?|\\\\[\w.-]+(?:\\[\w.+@~$-]*\w)+",  # Windows path
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",  # UUID
    r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?",  # path
    r"\b[\w.-]+/[\w./-]*\w\.\w{1,6}\b",  # relative path with an extension
    r"\b[\w-]+\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|md|txt|html?|css|sql|sh|go|rs|java|c|h|cpp|rb|"
    r"php|ini|cfg|conf|env|log|csv|pdf|docx?|xlsx?|png|jpe?g|svg|zip|db|sqlite3?)\b",  # file
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"[ -]\d{1,2}(?:st|nd|rd|th)?(?:,? ?-?\d{4})?\b",  # date in words
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b(?!-\w)",  # ISO date
    r"\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b",  # MAC address
    r"\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?\b",  # time of day
    r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5}|/\d{1,2})?\b",  # IPv4, with a port or a mask
    r"\[(?=[0-9A-Fa-f]*:[0-9A-Fa-f]*:)[0-9A-Fa-f:.]{2,45}\](?::\d{1,5}\b)?",  # IPv6 with a port
    r"(?<![\w:.])(?=[0-9A-Fa-f:]{0,35}::)[0-9A-Fa-f:]{2,39}(?:/\d{1,3})?(?![\w:])",  # IPv6
    # host:port, not a word and a number: the host is a name of several parts, or localhost
    r"(?<![\w.@/-])(?:localhost|[A-Za-z0-9](?=\w*[.-])[\w-]*(?:\.[\w-]+)*):\d{1,5}\b(?![:.]\d)",
    r"\b[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?\b",  # IBAN
    # telephone number
    r"(?<!\w)\+\d{1,3}[ -]?(?:\(\d{1,5}\)[ -]?)?\d{1,8}(?:[ ./-]\d{2,8}){1,5}\b",
    r"(?<!\w)\(0?\d{2,5}\) ?\d{2,8}(?:[ -]\d{2,8}){0,4}\b",
    r"(?<![\w.,-])0\d{1,4}(?:[ /-]\d{2,8}){1,4}\b(?![-.,:/]?\w)",
    r"\b(?!(?:19|20)\d\d (?:19|20))\d{4}(?: \d{4}){3}\b",  # number of a card
    r"\b\d+(?:\.\d+)?[eE][-+]?\d{1,3}\b(?!-\w)",  # power of ten
    r"\bv?\d+\.\d+(?:\.\d+)+(?:(?:a|b|rc|dev|post)\d+\b|(?:[-+][\w.]*\w)*)\b",  # version
    _SERIAL,
    r"[$€£¥] ?\d(?:[\d,]*\d)?(?:\.\d+)?[kKmMbB]?\b",  # money
    r"\b\d(?:[\d,]*\d)?(?:\.\d+)? ?(?:%|°[CF]|(?:ms|min|(?:hour|day|week|month|year|minute|"
    r"second)s?|[kKMGT]i?[Bb]|px|km|cm|mm|kg|mph|tokens|rows|users|points|"
    r"USD|EUR|s|h|m|g)\b)",  # with a unit
    r"\b[A-Z]\w*(?:Error|Exception|Warning)\b",  # error name
    r"\b[A-Z]{1,5}-?\d{2,}\b",  # ticket or error code
    r"\b[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]{5,}\b",  # hash
    r"`[^`\n]{2,80}`",  # code
    r"\b[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?",  # dotted name
    r"\b[A-Za-z][a-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b",  # snake, CONSTANT
    r"\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b(?:[A-Z][a-z0-9]+){2,}\b",  # camelCase
    r"\b(?:[A-Za-z]{2,}\d+|[A-Za-z]\d{2,}|\d+[A-Za-z]+\d)\w*\b",  # letters and digits: HTML5, 990v5
    r"\b\d(?:[\d,]*\d)?(?:\.\d+)?\b",  # number
)
_IDENTIFIER = re.compile("|".join(_PATTERNS))
_OF_SEVERAL = re.compile("|".join(each for each in _PATTERNS if each is not _SERIAL))
_SERIAL_ALONE = re.compile(rf"{_SERIAL}|{_PART}")
_PARTS = re.compile(r"[-_:/\u2010\u2011]")
_FIGURES = re.compile(r"\d+(?:\.\d+)*")
# Before figures these say when or how much, and make no name: mid-2024, sub-10.
_BEFORE_FIGURES = frozenset(
    ("pre", "post", "mid", "early", "late", "sub", "over", "under", "non", "anti", "über", "unter")
)
_BETWEEN_FIGURES = frozenset(  # 9-to-5
    ("to", "by", "in", "on", "of", "and", "or", "bis", "zu", "a", "à", "al", "по", "до", "на")
)
_UNITS = frozenset("h m s g k")
_YEARS = range(1500, 2100)
# Every match has one of these in it, behind at most one space. They are found ten times sooner.
_SIGN = re.compile(
    r"\d|[/@\\_`]|\.\w|[a-z][A-Z]|:[0-9A-Fa-f]*:|[0-9a-f]{4}-[0-9a-f]{4}-|Error|Exception|Warning"
)
# Chinese, Japanese and Korean write values between characters without a space.
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PROVENANCE = re.compile(r"\[#\d+[^\]]{0,200}\]")
# Base64 and the like, in which each place would be tried to the end.
_DATA = re.compile(r"[\w.+/@-]{201,}")
LONGEST = 200  # characters; longer matches are data, not names
MOST_INDEXED = 40_000  # characters of one message: what is longer was not typed, and is searched
UNIT = 20  # characters behind a number in which its unit stands
LONG_GROUP = 4  # figures of a group that no small range or fraction has
WORDS_AROUND = 5
CHARACTERS_AROUND = 200
LONGEST_WORD = 30  # characters; longer ones are values themselves
_PUNCTUATION = ".,;:!?()[]{}<>\"'`*|#=→-"


class Weight(IntEnum):
    """How much the user's sentence with a value settles. Stored. See
    `agent.compaction.extraction.decisions`."""

    NONE = 0
    BRIEF = 1  # a short sentence has it
    STATED = 2  # and says that something is the value
    AGREED = 3  # a decision without a value
    DECIDED = 4
    CHANGED = 5  # in place of another value


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One line of the index: a value, the message that it stands in, a few words around it. Where
    it has a `weight` these are its whole sentence, and the value may be the sentence itself."""

    value: str
    number: int
    words: str
    weight: Weight = Weight.NONE

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> "IndexEntry":
        """From its stored form."""
        value, number, words, *weight = data
        return cls(value, number, words, Weight(weight[0]) if weight else Weight.NONE)

    def as_list(self) -> list[Any]:
        """For storage; `from_list` reads it back."""
        weight = [self.weight.value] if self.weight else []
        return [self.value, self.number, self.words, *weight]

    def render_settled(self) -> str:
        """With its sentence, as the user wrote it."""
        return f"- “{self.words}” [#{self.number}]"

    def render(self) -> str:
        words = self.words
        if self.weight:
            words = "" if self.value == words else _last_words(words.partition(self.value)[0])
        return f"- {self.value} [#{self.number}] {words}".rstrip()


def find_identifiers(text: str) -> list[str]:
    """The exact values of a text, each once, in order: URLs, paths, names in code, versions, dates,
    numbers (single digits left out), ids, errors."""
    found: dict[str, str] = {}
    for value, _ in _matches(text):
        found.setdefault(normalise(value), value)
    return list(found.values())


def _matches(text: str) -> Iterator[tuple[str, str]]:
    """Values in order, each with what stands before it."""
    text = _DATA.sub(" ", _PROVENANCE.sub(" ", text))
    for match in _find_all(_CJK.sub(" ", text)):
        value = match.group().strip("`").strip()
        if 1 < len(value) <= LONGEST:
            yield value, text[max(0, match.start() - CHARACTERS_AROUND) : match.start()]


def _find_all(text: str) -> Iterator[re.Match[str]]:
    """`_IDENTIFIER.finditer`, tried from two words before a sign on and nowhere else."""
    at = 0
    while sign := _SIGN.search(text, at):
        word = text.rfind(" ", at, sign.start())
        word_before = text.rfind(" ", at, max(at, word))
        match = _IDENTIFIER.search(text, max(at, word_before))
        if not match:
            return
        if match["serial"] and not _is_one(match["serial"]):
            run, match = match, _OF_SEVERAL.search(text, match.start(), match.end() + UNIT)
            if not match or match.start() >= run.end():
                at = run.end()
                continue
        yield match
        at = match.end()


def _is_one(run: str) -> bool:
    """Whether a run of letters and digits is one value: neither a range, a ratio or a fraction, nor
    a number in a compound, as in 12-inch, 30-Tage-Frist, mid-2024."""
    parts = _PARTS.split(run)
    figures = [_FIGURES.fullmatch(part) is not None for part in parts]
    if all(figures):
        return len(parts) > 2 or _is_number_of_two(run, *parts)
    if len(parts) == 1:
        return True
    if figures[0] and not any(figures[1:]):
        return not all(map(_is_word, parts[1:]))
    if parts[0].casefold() in _BEFORE_FIGURES and all(figures[1:]):
        return False
    return not any(
        figures[at - 1] and figures[at + 1] and parts[at] in _BETWEEN_FIGURES
        for at in range(1, len(parts) - 1)
    )


def _is_number_of_two(run: str, first: str, second: str = "") -> bool:
    """Whether two groups of figures are one number, as an account's or a telephone's is. Where
    they may be a range, they are one."""
    if any(len(each) > 1 and each[0] == "0" and each[1] != "." for each in (first, second)):
        return True
    if ":" in run or max(len(first), len(second)) < LONG_GROUP:
        return False
    try:
        begin, end = float(first), float(second)
    except ValueError:  # a version
        return True
    is_range = "." in run or end % 10 == 0 or (begin in _YEARS and end in _YEARS)
    return "/" in run or not (begin < end and is_range)


def _is_word(part: str) -> bool:
    """Whether it is a word and no letter of a number, as the X in 3456-X is."""
    if len(part) == 1 and part.isascii():
        return part in _UNITS
    return part.isalpha() and not part.isupper() and (len(part) > 2 or part.islower())


@lru_cache(20_000)  # a long conversation's index is looked through more than once a compaction
def normalise(value: str) -> str:
    """A form in which equal values are equal: case, thousands separators and spaces dropped."""
    return re.sub(r"[\s`()]+", "", simplify_numbers(value)).rstrip("/.")


def simplify_numbers(text: str) -> str:
    """In lower case, without thousands separators and the endings of ordinals."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.casefold())
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", text)


def is_serial(value: str) -> bool:
    """Whether it is a number with letters, such as HT-2024-118 or 990v5, or one of several groups,
    such as an account's."""
    if not any(map(str.isdigit, value)) or not _SERIAL_ALONE.fullmatch(value):
        return False
    return any(map(str.isalpha, value)) or ("-" in value and _is_one(value))


def find_index_entries(number: int, text: str) -> list[IndexEntry]:
    """Index entries for what a user typed in one message, of a very long one for its beginning."""
    entries: dict[str, IndexEntry] = {}
    for value, before in _matches(text[:MOST_INDEXED]):
        key = normalise(value)
        # Small counts say nothing without their sentence.
        if key not in entries and not (key.isdigit() and len(key) < 3):
            entries[key] = IndexEntry(value, number, _last_words(before))
    return list(entries.values())


def _last_words(before: str) -> str:
    """A few words before a value, which say what it is."""
    words = (word.strip(_PUNCTUATION) for word in before.rsplit("\n", 1)[-1].split())
    return " ".join([word for word in words if 0 < len(word) <= LONGEST_WORD][-WORDS_AROUND:])


def keep_newest(entries: Sequence[IndexEntry]) -> list[IndexEntry]:
    """One entry for each value: its last mention, in the order of first mention."""
    latest: dict[str, IndexEntry] = {}
    for entry in entries:
        latest[normalise(entry.value)] = entry
    return list(latest.values())
