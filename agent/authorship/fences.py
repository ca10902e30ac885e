"""Fenced code in what a person typed, which is not Markdown otherwise."""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

_BACKTICKS = re.compile(r"^(`{3,})([^\n]*)", re.M)
_ANY = re.compile(r"^(`{3,}|~{3,})([^\n]*)", re.M)


class Fence(NamedTuple):
    """A block of code, and where it stands in the text with its markers."""

    start: int
    end: int
    info: str
    code: str


def find_fences(text: str, *, tildes: bool = False, unclosed: bool = False) -> Iterator[Fence]:
    """The blocks between two lines of ``` (or `tildes`) that begin at the margin, in order. A block
    that is never closed goes on to the end where `unclosed` ones count, and is text otherwise."""
    markers = list((_ANY if tildes else _BACKTICKS).finditer(text))
    # From each marker on, the longest one that can close a block: it saves searches in vain.
    ahead = {mark: [*accumulate((_closes(m, mark) for m in markers[::-1]), max)] for mark in "`~"}
    index = 0
    while index < len(markers):
        opening = markers[index]
        mark, long = opening[1][0], len(opening[1])
        index += 1
        if mark in opening[2] and mark == "`":
            continue
        begin = min(opening.end() + 1, len(text))
        if index < len(markers) and ahead[mark][len(markers) - 1 - index] >= long:
            while _closes(markers[index], mark) < long:
                index += 1
            closing = markers[index]
            index += 1
            end = min(closing.end() + 1, len(text))
            yield Fence(opening.start(), end, opening[2], text[begin : closing.start()])
        elif unclosed:
            yield Fence(opening.start(), len(text), opening[2], text[begin:])
            return


def _closes(marker: re.Match[str], mark: str) -> int:
    """How long a block's marker this one can close; 0 where it cannot."""
    return len(marker[1]) if marker[1][0] == mark and not marker[2].strip(" \t") else 0
