"""The HTML in which Open WebUI writes thoughts and tool calls into the text of an answer. Pure.

`<details type="reasoning">` holds quoted, escaped lines; `type="tool_calls"` has name, arguments
and result as attributes; `type="code_interpreter"` a block of code, and its output as an attribute.
"""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

KINDS = ("reasoning", "tool_calls", "code_interpreter")

# At the beginning of a line, as Open WebUI writes it. Attributes hold no bare quotes, so that a tag
# ends where it seems to; nothing here goes back over what it has read.
_OPENING = re.compile(
    r'^[ \t]*(<details((?:\s++[\w:-]++(?:="[^"]*+")?+)*+)\s*+>)', re.IGNORECASE | re.MULTILINE
)
_EDGE = re.compile(r"<details\b|</details\s*>", re.IGNORECASE)
_SUMMARY = re.compile(r"\s*<summary\b[^>]*>[^<]*</summary>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer: `kind` is one of KINDS, or "text"."""

    kind: str
    text: str
    attributes: dict[str, str]


class _Tag(HTMLParser):
    """The attributes of one tag, unescaped once."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self.attributes: dict[str, str] = {}
        self.feed(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes = {name: value or "" for name, value in attrs}


def split_details(text: str) -> Iterator[Piece]:
    """The pieces of an answer in order. Other `<details>` stay in the text; an element that is not
    closed ends with the text."""
    start = at = 0
    while opening := _OPENING.search(text, at):
        attributes = _Tag(opening[1]).attributes
        if attributes.get("type") not in KINDS:
            at = opening.end()
            continue
        yield Piece("text", text[start : opening.start()], {})
        end, after = _find_end(text, opening.end())
        body = text[opening.end() : end]
        summary = _SUMMARY.match(body)
        yield Piece(attributes["type"], body[summary.end() :] if summary else body, attributes)
        start = at = after
    yield Piece("text", text[start:], {})


def _find_end(text: str, at: int) -> tuple[int, int]:
    """Where an element's content ends, and where the text goes on."""
    depth = 1
    for edge in _EDGE.finditer(text, at):
        depth += -1 if edge[0].startswith("</") else 1
        if depth == 0:
            return edge.start(), edge.end()
    return len(text), len(text)


def read_thoughts(piece: Piece) -> str:
    """Thoughts without the marks of their quotation."""
    lines = html.unescape(piece.text).strip().splitlines()
    return "\n".join(re.sub(r"^> ?", "", line) for line in lines)


def read_call(piece: Piece) -> tuple[str, Any, str, str]:
    """Name, input, id and result of a call."""
    given = piece.attributes
    result = given.get("result") or html.unescape(piece.text).strip()
    return given.get("name", ""), given.get("arguments", ""), given.get("id", ""), _plain(result)


def read_code(piece: Piece) -> tuple[str, str]:
    """What a code interpreter ran, and what it printed."""
    code = re.search(r"```[^\n]*\n(.*?)(?:```|\Z)", piece.text, re.DOTALL)
    return (code[1] if code else piece.text).strip(), _plain(piece.attributes.get("output", ""))


def _plain(result: str) -> str:
    """A result is often JSON once more: a text in quotes, or an object, which stays as it is."""
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return result
    return value if isinstance(value, str) else result
