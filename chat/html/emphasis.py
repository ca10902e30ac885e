"""Emphasis beside Chinese, Japanese and Korean, which have no spaces between words.

By CommonMark `**` beside punctuation is only a mark where a space or punctuation stands on its
other side. Here a character of these scripts there is enough, and their own punctuation counts as
letters (https://github.com/tats-u/markdown-cjk-friendly). Text without them is read as ever.
"""

from unicodedata import category, east_asian_width

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType


def add_cjk_emphasis(markdown: MarkdownIt) -> None:
    """A plugin."""
    markdown.inline.parse = _parse  # type: ignore[method-assign]


def _parse(src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
    """`ParserInline.parse`, with another state."""
    state = _State(src, md, env, tokens)
    md.inline.tokenize(state)
    for rule in md.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        scanned = super().scanDelims(start, canSplitWord)
        if self.src.isascii() or not canSplitWord:  # `_` marks no part of a word
            return scanned
        end = start + scanned.length
        before = self.src[start - 1] if start > 0 else " "
        after = self.src[end] if end < self.posMax else " "
        if not (_is_cjk(before) or _is_cjk(after)):
            return scanned
        # Beside one of these, punctuation never keeps a mark from opening or closing.
        opens, closes = not isWhiteSpace(ord(after)), not isWhiteSpace(ord(before))
        if _is_other_punctuation(after):
            opens = opens and (not closes or _is_cjk(before) or _is_other_punctuation(before))
        if _is_other_punctuation(before):
            closes = closes and (
                isWhiteSpace(ord(after)) or _is_cjk(after) or _is_other_punctuation(after)
            )
        return Scanned(opens, closes, scanned.length)


def _is_cjk(character: str) -> bool:
    """Whether it is of these scripts, their punctuation included; wide symbols like emoji are
    not."""
    return east_asian_width(character) in "WFH" and not (
        category(character) == "So" and not "\u3000" <= character <= "\uffff"
    )


def _is_other_punctuation(character: str) -> bool:
    ascii_mark = isMdAsciiPunct(ord(character))
    return (ascii_mark or isPunctChar(character)) and not _is_cjk(character)
