"""Dates in tables, marked so that a narrow column does not break them after their hyphens."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_DATE = re.compile(r"(?<![\d-])(\d{4}-\d\d-\d\d)(?![\d-])")


def add_unbroken_dates(markdown: MarkdownIt) -> None:
    """A plugin."""
    markdown.core.ruler.push("dates", _mark)


def _mark(state: StateCore) -> None:
    for before, token in zip(state.tokens, state.tokens[1:], strict=False):
        if before.type in ("th_open", "td_open") and _DATE.search(token.content):
            token.children = [part for child in token.children or [] for part in _split(child)]


def _split(child: Token) -> list[Token]:
    """A text with its dates as elements of their own; any other token as it is."""
    if child.type != "text":
        return [child]
    marked = []
    for place, text in enumerate(_DATE.split(child.content)):
        part = Token("text", "", 0, content=text)
        marked += [_html('<span class="date">'), part, _html("</span>")] if place % 2 else [part]
    return marked


def _html(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)
