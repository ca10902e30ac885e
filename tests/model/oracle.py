"""What holds for every summary, checked without the code that made it so."""

import re
from collections.abc import Iterator, Sequence

UNVERIFIED = "(unverified)"
CITATIONS = re.compile(r"\[[#\d ,;–-]+\]")
NUMBER = re.compile(r"\d[\d.,]*\d{2}")  # three digits and more: what nobody counts by themselves


def find_invented(summary: str, said: Sequence[str]) -> list[str]:
    """The lines of a summary with a number that is in no message and that no mark follows."""
    known = {_digits(number) for text in said for number in NUMBER.findall(text)}
    return [
        line
        for line in _unmarked(summary)
        if any(_digits(n) not in known for n in NUMBER.findall(CITATIONS.sub("", line)))
    ]


def _unmarked(summary: str) -> Iterator[str]:
    """Lines without a mark; the one of code stands behind its fence."""
    code: list[str] = []
    inside = False
    for line in summary.splitlines():
        if not inside and code:
            yield from [] if UNVERIFIED in line else code
            code = []
        if line.startswith("```") or inside:
            inside ^= line.startswith("```")
            code.append(line)
        elif UNVERIFIED not in line:
            yield line
    yield from code


def _digits(number: str) -> str:
    return re.sub(r"\D", "", number)
