"""Footnotes. The sanitiser lets through neither ids nor links within the page, so they are put into
its output: only this module makes the classes that are looked for there."""

import re
from collections.abc import Callable
from html import escape
from itertools import count
from zlib import crc32

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin

_REFERENCE = re.compile(r'<sup class="footnote-ref">(\d+)</sup>')
_NOTE = re.compile(r'<li class="footnote">')
_BACK = re.compile(r'<span class="footnote-back"></span>')


def add_footnotes(markdown: MarkdownIt) -> None:
    """A plugin: `[^1]` and its definition."""
    markdown.use(footnote_plugin, inline=False)
    for name, html in {
        "footnote_block_open": '<section class="footnotes"><ol>\n',
        "footnote_block_close": "</ol></section>\n",
        "footnote_open": '<li class="footnote">',
        "footnote_close": "</li>\n",
    }.items():
        markdown.add_render_rule(name, _always(html))
    markdown.add_render_rule("footnote_anchor", _anchor)
    markdown.add_render_rule("footnote_ref", _reference)


def _always(html: str) -> Callable[..., str]:
    def render(
        self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return html

    return render


def _anchor(self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
    """The way back, once: to the first of several references."""
    return "" if tokens[idx].meta["subId"] else ' <span class="footnote-back"></span>'


def _reference(
    self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    return f'<sup class="footnote-ref">{tokens[idx].meta["id"] + 1}</sup>'


def link_footnotes(html: str, text: str) -> str:
    """Sanitised HTML with its references and notes linked to each other; `text`, which it was made
    from, makes the ids different from other messages'."""
    if "footnote-ref" not in html:
        return html
    key = f"{crc32(text.encode('utf-8', 'replace')):08x}"
    seen: set[str] = set()

    def reference(match: re.Match[str]) -> str:
        number = match[1]
        anchor = "" if number in seen else f' id="fnref-{key}-{number}"'
        seen.add(number)
        return f'<sup class="footnote-ref"><a href="#fn-{key}-{number}"{anchor}>{number}</a></sup>'

    html = _REFERENCE.sub(reference, html)
    notes, backs = count(1), count(1)
    html = _NOTE.sub(
        lambda _: f'<li class="footnote" dir="auto" id="fn-{key}-{next(notes)}">', html
    )
    label = escape(gettext("Back to the text"))
    return _BACK.sub(
        lambda _: f'<a href="#fnref-{key}-{next(backs)}" aria-label="{label}">↩</a>', html
    )
