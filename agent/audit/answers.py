"""The answers to statements that were given back, in whatever form a model writes them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.audit.quotes import Given

_NUMBERED = re.compile(r"^\W{0,3}(\d{1,3})[.):]\W{0,2}\s+(?=\S)", re.M)
_NUMBER = re.compile(r"#(\d{1,9})")
_OPENING = '"“”„«»‹「『`'
_CLOSING = '"“”»«›」』`'
# The messages that are named before a quote, up to its first mark.
_NUMBERS = r"#\d{1,9}(?:[,; ]{1,2}#\d{1,9}){0,9}"
_BEFORE_QUOTE = re.compile(
    rf"(?:\b(?:message|quote|see|from)s?:?\s){{0,2}}[(\[]?(?P<numbers>{_NUMBERS})[)\]]?"
    rf"[\s:：,.;(–—-]{{0,4}}(?:(?:user|assistant|says?|said|quotes?|words)\b[\s:：]{{0,3}}){{0,2}}"
    rf"(?=[{_OPENING}])",
    re.I,
)
# A quote whose messages are named behind it.
_AFTER_QUOTE = re.compile(
    rf"^\W*(?:quotes?\W{{0,3}})?(?P<words>[{_OPENING}].*[{_CLOSING}])\W{{0,4}}"
    rf"(?:(?:from|in|message)s?\s){{0,2}}[(\[]?(?P<numbers>{_NUMBERS})?[)\]]?[\s.]*$",
    re.I,
)
_ONLY_NUMBERS = re.compile(rf"\W*{_NUMBERS}\W*$")
_ELLIPSIS = re.compile(r"^[\s.…]+|[\s.…]+$")
LONGEST_LINE = 4_000  # characters; what is longer is no answer


@dataclass(frozen=True, slots=True)
class Answer:
    """A mended statement, "" for none, and what is quoted for it."""

    statement: str
    quotes: Sequence[Given] = ()


def read_answers(text: str) -> dict[int, Answer]:
    """By the numbers of the statements; the last answer to each counts, after what a model may have
    thought aloud. Quotes may follow in lines of their own."""
    answers: dict[int, Answer] = {}
    starts = list(_NUMBERED.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=False):
        first, *rest = text[start.end() : end].splitlines()
        if rest and _ONLY_NUMBERS.match(first):
            first, *rest = f"{first} {rest[0].strip()}", *rest[1:]
        answer = _read_line(first)
        more = [quote for line in rest for quote in _read_line(line).quotes]
        answers[int(start[1])] = Answer(answer.statement, [*answer.quotes, *more])
    return answers


def _read_line(line: str) -> Answer:
    line = line.strip()
    if len(line) > LONGEST_LINE:
        return Answer("")
    if alone := _AFTER_QUOTE.match(line):
        return Answer("", [Given(_read_numbers(alone["numbers"] or ""), _unquote(alone["words"]))])
    marks = list(_BEFORE_QUOTE.finditer(line))
    if not marks:
        return Answer(line)
    ends = [*(mark.start() for mark in marks[1:]), len(line)]
    quotes = [
        Given(_read_numbers(mark["numbers"]), _unquote(line[mark.end() : end]))
        for mark, end in zip(marks, ends, strict=True)
    ]
    return Answer(_read_statement(line, marks[0]), [each for each in quotes if each.words])


def _read_statement(line: str, mark: re.Match[str]) -> str:
    """What stands before the first quote. Numbers in brackets are the statement's too."""
    before = line[: mark.start()].rstrip(" \t-–—:(")
    if not re.search(r"\w", before):
        return ""
    numbers = mark["numbers"]
    bracketed = line[mark.start("numbers") - 1] == "["
    cites = bracketed and not before.endswith("]")
    return f"{before} [{numbers}]" if cites else before


def _read_numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(text)))


def _unquote(words: str) -> str:
    """What stands between the first mark and the last one."""
    inside = words.strip()[1:]
    end = max(map(inside.rfind, _CLOSING))
    return _ELLIPSIS.sub("", inside[:end] if end >= 0 else inside)
