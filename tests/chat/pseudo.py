"""A language whose every translatable text stands between ⟦ and ⟧, and a reader of what does not.

What users write is Greek in these tests, so Latin letters outside the marks are ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from html.parser import HTMLParser

import pytest
from django.utils.translation import trans_real

LANGUAGE = "eo"  # any that Django knows
ATTRIBUTES = "title", "aria-label", "placeholder", "alt", "data-label", "data-drop-label"
UNSEEN = {"script", "style", "svg", "kbd"}  # and the names of keys
WORD = re.compile(r"[A-Za-z]{2,}")
NAMES = {"Everlong"}


class Pseudo(NullTranslations):
    """Marks every text."""

    def gettext(self, message: str) -> str:
        return f"⟦{message.rpartition(trans_real.CONTEXT_SEPARATOR)[2]}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)

    def to_language(self) -> str:
        return LANGUAGE


@contextmanager
def pseudo_language(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Readers who ask for `LANGUAGE` get the marks."""
    with monkeypatch.context() as patch:
        patch.setitem(trans_real._translations, LANGUAGE, Pseudo())
        yield


class Reader(HTMLParser):
    """`unmarked`: the words of texts and attributes that did not go through gettext."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.unmarked: list[str] = []
        self._depth = 0
        self._unseen: list[str] = []
        self.feed(html)
        assert not self._depth, "a mark was not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNSEEN:
            self._unseen.append(tag)
        for name, value in attrs:
            if name in ATTRIBUTES and value:
                self._read(value)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen and self._unseen[-1] == tag:
            self._unseen.pop()

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._read(data)

    def _read(self, text: str) -> None:
        for piece in re.split("([⟦⟧])", text):
            if piece in ("⟦", "⟧"):
                self._depth += 1 if piece == "⟦" else -1
            elif not self._depth and set(WORD.findall(piece)) - NAMES:
                self.unmarked.append(" ".join(piece.split()))
