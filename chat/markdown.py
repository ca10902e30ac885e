"""Markdown to sanitised HTML: the only HTML that model output can become.

`render` turns a whole text into HTML. `MarkdownStream` does the same piece by piece while an answer
arrives. Raw HTML in the text is never HTML in the page: markdown-it runs with `html=False`, and nh3
lets through exactly what this module itself can produce.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from io import StringIO
from time import thread_time
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.tasklists import tasklists_plugin
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

MAX_TEXT = 200_000  # characters; a longer text is shown as it is, without Markdown
MAX_INLINE = 8_000  # characters of one paragraph or cell; inline rules can be quadratic
MAX_HIGHLIGHT = 20_000  # characters of one code block: mostly 60 ms, and the loop waits for it
HIGHLIGHT_SECONDS = 0.2  # of CPU; what takes longer is shown plainly

_UNSAFE_CHARACTERS = re.compile("[\0\ud800-\udfff]")
_SCHEMES = {"http", "https", "mailto"}


def render(text: str) -> str:
    """The sanitised HTML of a Markdown text. Never raises for any `str`."""
    text = clean_text(text)
    if len(text) > MAX_TEXT:
        return _plain(text)
    try:
        html = _markdown.render(text)
    except RecursionError:  # nesting that the parser's own limits do not cover
        return _plain(text)
    return _cleaner.clean(html)


def render_code(code: str, language: str = "") -> str:
    """A code block with its header, as sanitised HTML."""
    return _cleaner.clean(_code_block(clean_text(code), language))


def clean_text(text: str) -> str:
    """Without NUL and lone surrogates, which neither nh3 nor a socket frame can carry.

    Each becomes U+FFFD, one UTF-16 unit like the original, so offsets stay true.
    """
    return _UNSAFE_CHARACTERS.sub("\ufffd", text)


def _plain(text: str) -> str:
    return f'<p class="plain">{escape(text)}</p>\n'


# --- Code -----------------------------------------------------------------------------------------

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


def _timed(tokens: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    """The tokens, as long as they come in time: lexers are quadratic for some input."""
    deadline = thread_time() + HIGHLIGHT_SECONDS
    for token in tokens:
        if thread_time() > deadline:
            raise _TooSlow
        yield token


# A streamed block comes again a moment later, in the final HTML of its message.
@lru_cache(maxsize=64)
def _highlight(code: str, language: str) -> str:
    lexer = _lexer(language) if language in _languages else None
    if lexer is None:
        return escape(code)
    out = StringIO()
    try:
        _formatter.format(_timed(lexer.get_tokens(code)), out)
    except _TooSlow:
        return escape(code)
    return out.getvalue()


def _code_block(code: str, language: str) -> str:
    language = language[:40]
    body = _highlight(code, language.lower()) if len(code) <= MAX_HIGHLIGHT else escape(code)
    return (
        '<div class="code-block"><div class="code-header">'
        f'<span class="code-language">{escape(language or "text")}</span>'
        '<button type="button" class="copy-code">Copy</button></div>'
        f"<pre><code>{body}</code></pre></div>\n"
    )


# --- Parser ---------------------------------------------------------------------------------------


class _Renderer(RendererHTML):
    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        info = token.info.split(maxsplit=1)
        return _code_block(token.content, info[0] if info else "")

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return _code_block(tokens[idx].content, "")

    def table_open(self, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="table-scroll"><table>\n'

    def table_close(self, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"


def _cap_inline(state: StateCore) -> None:
    """Show over-long inline content as it is."""
    for token in state.tokens:
        if token.type == "inline" and len(token.content) > MAX_INLINE:
            token.type = "text"  # the block renderer writes it escaped, and no inline rule runs


def _adapt(state: StateCore) -> None:
    """What the page needs to differ from plain CommonMark."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            # The page has its own h1 and h2.
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        elif token.type in ("th_open", "td_open"):
            style = str(token.attrs.pop("style", ""))  # the CSP forbids inline styles
            if style:
                token.attrs["class"] = f"align-{style.rpartition(':')[2]}"
        elif token.type == "inline" and token.children:
            _mark_images(token.children)


def _mark_images(children: list[Token]) -> None:
    """`![alt](url)` parses as "!" and a link, since images are off: drop the "!".

    Remote images are not loaded: they would tell a third party who reads what, and when.
    """
    for text, link in zip(children, children[1:], strict=False):
        if link.type == "link_open" and text.type == "text" and text.content.endswith("!"):
            text.content = text.content[:-1]
            link.attrs["class"] = "image-link"


def _allowed_link(url: str) -> bool:
    scheme, colon, _ = url.partition(":")
    return bool(colon) and scheme.strip().lower() in _SCHEMES


def _make_markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"]).disable(["image", "html_inline", "html_block"])
    markdown.use(tasklists_plugin)
    markdown.core.ruler.before("inline", "cap_inline", _cap_inline)
    markdown.core.ruler.push("adapt", _adapt)
    markdown.validateLink = _allowed_link  # type: ignore[method-assign]
    return markdown


_markdown = _make_markdown()

# --- Sanitiser ------------------------------------------------------------------------------------

_TAGS = """
    a blockquote br button code del div em h3 h4 h5 h6 hr input li ol p pre s span
    strong table tbody td th thead tr ul
"""
_cleaner = nh3.Cleaner(
    tags=set(_TAGS.split()),
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}, "input": {"checked", "disabled"}},
    tag_attribute_values={"button": {"type": {"button"}}, "input": {"type": {"checkbox"}}},
    set_tag_attribute_values={"a": {"target": "_blank"}, "input": {"disabled": ""}},
    allowed_classes={
        "a": {"image-link"},
        "button": {"copy-code"},
        "div": {"code-block", "code-header", "table-scroll"},
        "input": {"task-list-item-checkbox"},
        "li": {"task-list-item"},
        "ol": {"contains-task-list"},
        "p": {"plain"},
        "span": {"code-language", *filter(None, STANDARD_TYPES.values())},
        "td": {"align-left", "align-center", "align-right"},
        "th": {"align-left", "align-center", "align-right"},
        "ul": {"contains-task-list"},
    },
    link_rel="noopener noreferrer nofollow",
    url_schemes=_SCHEMES,
    url_relative="deny",
)

# --- Streaming ------------------------------------------------------------------------------------

# Containers (quotes, list markers, indentation) may stand before a fence.
_FENCE = re.compile(r"^((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}|~{3,})(.*)$")
_LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """A finished piece. `through`: UTF-16 code units of the whole text that are now HTML."""

    through: int
    html: str


class MarkdownStream:
    """Cuts a growing text where a top-level block surely ends, and renders each piece once.

    It looks only at whole lines, so the cuts do not depend on how the text was split into deltas.
    A blank line ends what stands before it, except in a fence, a list or indented code; those end
    at the first later line that begins at the margin. Link definitions work only within a piece:
    the final HTML of the whole text, which replaces the pieces, has them right.
    """

    def __init__(self) -> None:
        self._line: list[str] = []  # the parts of the unfinished last line
        self._lines: list[str] = []  # the unfinished piece
        self._through = 0
        self._fence: tuple[str, bool] | None = None  # the marker; whether it stands in a quote
        self._held = False  # a list or indented code: a blank line does not end it
        self._blank = False  # the last line was blank

    def feed(self, text: str) -> list[Block]:
        """Take the next delta; give the pieces that are now finished, mostly none."""
        if "\n" not in text:
            self._line.append(text)
            return []
        *lines, rest = text.split("\n")
        lines[0] = "".join(self._line) + lines[0]
        self._line = [rest]
        return [block for line in lines for block in self._take(line)]

    def _take(self, line: str) -> list[Block]:
        """Take one whole line without its newline."""
        done = []
        blank = not line or line.isspace()
        if self._fence and self._fence[1] and ">" not in line[:4]:
            self._fence = None  # the quote ended, and the fence with it
        if self._fence:
            marker = self._fence[0]
            bare = line.lstrip(" \t>").rstrip()
            if len(bare) >= len(marker) and bare == marker[0] * len(bare):
                self._fence = None
                self._lines.append(line)
                self._blank = False
                return [] if self._held else [self._finish()]
        elif blank:
            self._lines.append(line)
            self._blank = True
            return [] if self._held or len(self._lines) == 1 else [self._finish()]
        else:
            if self._held and self._blank and line[0] not in " \t" and not _LIST_ITEM.match(line):
                done.append(self._finish())
            self._open(line)
        self._lines.append(line)
        self._blank = blank
        return done

    def _open(self, line: str) -> None:
        """Note what the line opens, if anything."""
        fence = _FENCE.match(line)
        if fence and not (fence[2][0] == "`" and "`" in fence[3]):
            self._fence = (fence[2], ">" in fence[1])
        if _LIST_ITEM.match(line) or line.startswith(("    ", "\t")):
            self._held = True

    def _finish(self) -> Block:
        source = "\n".join(self._lines) + "\n"
        self._lines = []
        self._held = self._blank = False
        self._through += utf16_length(source)
        return Block(self._through, render(source))


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts."""
    if text.isascii():
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)
