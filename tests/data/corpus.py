"""Texts that were written to break pages: XSS payloads, Markdown cases, naughty strings."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


def load(directory: Path) -> Corpus:
    """Everything in xss/, markdown/ and unicode/; fails where a file is missing."""
    xss = directory / "xss"
    return Corpus(
        xss=[
            *_strings(xss / "payloadbox.json"),
            *_strings(xss / "markdown_xss_lines.json"),
            *[
                Case(f"dompurify {i}", c["payload"])
                for i, c in _read(xss / "dompurify_expect.json")
            ],
            *_cases(xss / "markdown_it_xss.json"),
        ],
        markdown=[
            case
            for path in sorted((directory / "markdown").glob("*.json"))
            if path.name != "SOURCE.json"
            for case in _cases(path)
        ],
        unicode=_strings(directory / "unicode" / "blns.json"),
    )


def _read(path: Path) -> list[tuple[int, Any]]:
    return list(enumerate(json.loads(path.read_text("utf-8"))))


def _strings(path: Path) -> list[Case]:
    return [Case(f"{path.stem} {i}", text) for i, text in _read(path)]


def _cases(path: Path) -> list[Case]:
    return [
        Case(f"{path.stem} {c.get('example', i)}", c["markdown"], c["html"], c.get("section", ""))
        for i, c in _read(path)
    ]
