"""Texts that were written to break pages: XSS payloads, Markdown cases, naughty strings."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A Markdown text and the HTML that its source expects; "" where it says nothing."""

    name: str
    text: str
    html: str = ""
    section: str = ""


@dataclass(frozen=True)
class Corpus:
    xss: list[Case]
    markdown: list[Case]
    unicode: list[Case]

    @property
    def texts(self) -> list[str]:
        """All, each once."""
        cases = [*self.xss, *self.markdown, *self.unicode, *OWN]
        return list(dict.fromkeys(case.text for case in cases))


# What no list has: bytes that neither UTF-8 nor the database carries, and endless nesting.
OWN = [
    Case("own: NUL", "before\0after **bold\0** [link](http://a.b/\0)"),
    Case("own: lone surrogates", "high \ud83d low \ude00 pair \U0001f600 reversed \ude00\ud83d"),
    Case("own: quotes", "> " * 500 + "deep"),
    Case("own: lists", "- " * 300 + "deep"),
    Case("own: brackets", "[" * 5_000),
    Case("own: emphasis", "*a_ " * 2_000),
    Case("own: one word", "W" * 20_000),
    Case("own: a wide table", "|a" * 200 + "|\n" + "|-" * 200 + "|\n" + "|b" * 200 + "|"),
    Case("own: bidi", "\u202e\u2066override\u2069 \u200f\u061c" * 50),
    Case("own: zalgo", "Z" + "\u0300\u0489" * 2_000),
]


FOLDERS = ("xss", "markdown", "unicode")


def load(directory: Path) -> Corpus:
    """Everything in xss/, markdown/ and unicode/, as far as they are there. A folder that holds no
    text, and a file that cannot be read, is an error."""
    xss, markdown, unicode = (_folder(directory / name) for name in FOLDERS)
    return Corpus(xss, markdown, unicode)


def _folder(folder: Path) -> list[Case]:
    if not folder.is_dir():
        return []
    paths = [path for path in sorted(folder.glob("*.json")) if path.name != "SOURCE.json"]
    cases = [_case(path.stem, i, entry) for path in paths for i, entry in _read(path)]
    assert cases, f"{folder} holds no text"
    return cases


def _read(path: Path) -> list[tuple[int, Any]]:
    return list(enumerate(json.loads(path.read_text("utf-8"))))


def _case(name: str, index: int, entry: Any) -> Case:
    """A text alone, a payload with what a sanitiser makes of it, or Markdown with its HTML."""
    if isinstance(entry, str):
        return Case(f"{name} {index}", entry)
    if "payload" in entry:
        return Case(f"{name} {index}", entry["payload"])
    number = entry.get("example", index)
    return Case(f"{name} {number}", entry["markdown"], entry["html"], entry.get("section", ""))


def spread(cases: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them, from the beginning to the end."""
    return cases[:: max(1, len(cases) // most)][:most]
