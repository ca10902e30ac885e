"""Blocks of code as HTML, their parts marked where the language is known and the time allows."""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from html import escape
from io import StringIO
from time import thread_time
from typing import Any

from django.utils.translation import gettext
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from chat.html.render_budget import MAX_HIGHLIGHT, RenderBudget
from chat.html.sanitiser import clean_text, escape_in_parts, sanitise_html

HIGHLIGHT_SECONDS = 0.12  # of CPU, for MAX_HIGHLIGHT; code that takes longer is shown plainly
# Lexers that were tried with hostile input. Others may spend seconds inside one match, where
# HIGHLIGHT_SECONDS cannot stop them.
_LANGUAGES = """
    asm awk bash bat c c# c++ clojure cmake cpp cs csharp css dart diff django docker dockerfile
    elixir erlang fsharp go graphql groovy haskell hcl html http java javascript jinja js json
    json5 jsx julia kotlin latex less lisp lua makefile markdown md mysql nasm nginx
    nim objective-c perl php postgresql powershell protobuf ps1 py python python3 r rb
    rst ruby rust scala scheme scss sh shell solidity sql swift terraform tex toml ts tsx
    typescript vim xml yaml yml zig zsh
"""
_languages = frozenset(_LANGUAGES.split())
_formatter: HtmlFormatter = HtmlFormatter(nowrap=True)


class _TooSlow(Exception):
    """Highlighting takes too long."""


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        # handlecodeblocks: Markdown and reStructuredText would call any lexer for code inside.
        return get_lexer_by_name(language, stripnl=False, ensurenl=False, handlecodeblocks=False)
    except ClassNotFound:
        return None


def _timed(tokens: Iterable[tuple[Any, str]], seconds: float) -> Iterator[tuple[Any, str]]:
    """The tokens, as long as they come in time: lexers are quadratic for some input."""
    deadline = thread_time() + seconds
    for token in tokens:
        if thread_time() > deadline:
            raise _TooSlow
        yield token


# A streamed block comes again a moment later, in the final HTML of its message.
@lru_cache(maxsize=64)
def _highlight(code: str, language: str) -> str | None:
    """The code with its parts marked; None where no lexer knows it, or not in time."""
    lexer = _lexer(language) if language in _languages else None
    if lexer is None:
        return None
    out = StringIO()
    try:
        seconds = HIGHLIGHT_SECONDS * (0.1 + len(code) / MAX_HIGHLIGHT)
        _formatter.format(_timed(lexer.get_tokens(code), seconds), out)
    except _TooSlow:
        return None
    return out.getvalue()


def render_code(code: str, language: str, work: RenderBudget) -> str:
    """A code block with its header, as sanitised HTML."""
    return sanitise_html(draw_code_block(clean_text(code), language, work))


def draw_code_block(code: str, language: str, work: RenderBudget) -> str:
    """A code block with its header, not sanitised yet."""
    language = language[:40]
    marked = _highlight(code, language.lower()) if work.spend_on_highlighting(code) else None
    body = escape_in_parts(code) if marked is None else marked
    name = language or gettext("text")
    if language.lower() == "mermaid":  # drawing it would take megabytes of script
        name = gettext("%(language)s · diagram source") % {"language": language}
    return (
        '<div class="code-block"><div class="code-header">'
        f'<span class="code-language">{escape(name)}</span></div>'
        f'<pre tabindex="0"><code>{body}</code></pre></div>\n'
    )
