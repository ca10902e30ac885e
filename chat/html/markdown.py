"""Markdown to sanitised HTML: the only HTML that model output can become.

`render_markdown` turns a whole text into HTML. `chat.html.markdown_stream` does the same piece by
piece while an answer arrives. Raw HTML in the text is never HTML in the page: markdown-it runs with
`html=False`, and nh3 lets through exactly what this module itself can produce.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import escape
from io import StringIO
from time import thread_time
from typing import Any

import nh3
from django.urls import reverse
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from chat.html import bare_links, footnotes
from chat.html.dates import add_unbroken_dates
from chat.html.directions import BLOCKS, add_directions
from chat.html.failsafe import draw_safely
from chat.html.formulas import ATTRIBUTE_VALUES, ATTRIBUTES, TAGS, add_formulas
from chat.html.markdown_pieces import Piece, split_pieces
from chat.html.tasklists import add_tasklists

MAX_INLINE = 8_000  # characters of one paragraph or cell; inline rules can be quadratic
MAX_HIGHLIGHT = 20_000  # characters of one code block: mostly 60 ms
HIGHLIGHT_SECONDS = 0.12  # of CPU, for so many; code that takes longer is shown plainly
# Of one text. A long answer (64,000 characters with headings, lists, tables and links) has less.
MOST_WEIGHT = 200_000  # microseconds, see `chat.html.markdown_pieces`
MOST_HIGHLIGHTED = 60_000  # characters of code
MOST_FORMULAS = 5_000  # characters: 50 ms

_UNSAFE_CHARACTERS = re.compile("[\0\ud800-\udfff]")
_SCHEMES = {"http", "https", "mailto"}
_PROVENANCE = re.compile(
    r"\[(#\d+(?:[ ,]+#\d+)*)(?: in ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?\]"
)
_MESSAGE_NUMBER = re.compile(r"#(\d+)")
_OPAQUE = re.compile(r"(<pre\b.*?</pre>|<code\b.*?</code>|<a\b.*?</a>)", re.S)


@dataclass
class RenderBudget:
    """How much work may still be done for one text: what exceeds it is shown plainly. Counted, not
    timed, so that a text looks the same while it is written, when it is done, and after a reload.

    `outline` are the levels of the headings that the text stands below; what comes after the text
    is rendered with the same.
    """

    outline: list[int] = field(default_factory=list)
    weight: float = MOST_WEIGHT
    highlighted: int = MOST_HIGHLIGHTED
    formulas: int = MOST_FORMULAS

    def spend_on_piece(self, piece: Piece) -> bool:
        """Spend what rendering a piece takes; False from the first one that does not fit."""
        self.weight = self.weight - piece.weight if piece.weight <= self.weight else -1
        return self.weight >= 0

    def spend_on_highlighting(self, code: str) -> bool:
        """Spend what highlighting takes; False where the code does not fit."""
        fits = len(code) <= min(MAX_HIGHLIGHT, self.highlighted)
        self.highlighted -= fits * len(code)
        return fits

    def spend_on_formula(self, formula: str) -> bool:
        """Spend what converting a formula takes; False where it does not fit."""
        fits = len(formula) <= self.formulas
        self.formulas -= fits * len(formula)
        return fits


def render_markdown(text: str, work: RenderBudget | None = None) -> str:
    """The sanitised HTML of a Markdown text; its source where it cannot be rendered. Never raises
    for any `str`."""
    text = clean_text(text)
    work = RenderBudget() if work is None else work
    return draw_safely("Markdown", lambda: _render(text, work), lambda: _plain(text))


def _render(text: str, work: RenderBudget) -> str:
    if work.weight < 0:
        return _plain(text) if text.strip() else ""
    end = 0
    for piece in split_pieces(text):
        if not work.spend_on_piece(piece):
            break
        end += len(piece.text)
    marked, rest = text[:end], text[end:]
    try:
        html = _markdown.render(marked, {"work": work}) if marked else ""
    except RecursionError:  # nesting deeper than the parser's own limits catch
        return _plain(text)
    html = link_numbers(footnotes.link_footnotes(_cleaner.clean(html), marked))
    return html + _plain(rest) if rest.strip() else html


def link_numbers(html: str) -> str:
    """Make `[#12 #15]` in sanitised HTML links to the messages, and `[#12 in <id>]` to those of
    another conversation, but not in code and in links.

    A `[` cannot stand inside an attribute here: URLs come percent-encoded, and no other
    attribute takes text from the model.
    """
    if "[#" not in html:
        return html
    parts = _OPAQUE.split(html)
    parts[::2] = [_PROVENANCE.sub(_linked, part) for part in parts[::2]]
    return "".join(parts)


def _linked(cited: re.Match[str]) -> str:
    numbers, elsewhere = cited.groups()
    page = reverse("conversation", args=[elsewhere]) if elsewhere else ""
    links = _MESSAGE_NUMBER.sub(rf'<a href="{page}#message-\1">#\1</a>', numbers)
    return f"[{links}]"


def render_code(code: str, language: str, work: RenderBudget) -> str:
    """A code block with its header, as sanitised HTML."""
    return _cleaner.clean(_code_block(clean_text(code), language, work))


def clean_text(text: str) -> str:
    """Without NUL and lone surrogates, which neither nh3 nor a socket frame can carry.

    Each becomes U+FFFD, one UTF-16 unit like the original, so offsets stay true.
    """
    return _UNSAFE_CHARACTERS.sub("\ufffd", text)


def _plain(text: str) -> str:
    return f'<p class="plain" dir="auto">{escape(text)}</p>\n'


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


def _in_parts(text: str) -> str:
    """A text escaped: a long one in elements of its own, as the sanitiser takes quadratic time for
    one that is full of "&" or of spaces that do not break."""
    if len(text) <= MAX_INLINE:
        return escape(text)
    parts = (text[at : at + MAX_INLINE] for at in range(0, len(text), MAX_INLINE))
    return "".join(f"<span>{escape(part)}</span>" for part in parts)


def _code_block(code: str, language: str, work: RenderBudget) -> str:
    language = language[:40]
    marked = _highlight(code, language.lower()) if work.spend_on_highlighting(code) else None
    body = _in_parts(code) if marked is None else marked
    name = language or gettext("text")
    if language.lower() == "mermaid":  # drawing it would take megabytes of script
        name = gettext("%(language)s · diagram source") % {"language": language}
    return (
        '<div class="code-block"><div class="code-header">'
        f'<span class="code-language">{escape(name)}</span></div>'
        f'<pre tabindex="0"><code>{body}</code></pre></div>\n'
    )


# --- Parser ---------------------------------------------------------------------------------------


class _Renderer(RendererHTML):
    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        info = token.info.split(maxsplit=1)
        return _code_block(token.content, info[0] if info else "", env["work"])

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return _code_block(tokens[idx].content, "", env["work"])

    def long_text(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return _in_parts(tokens[idx].content)

    def table_open(self, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        table = f"<table{self.renderAttrs(tokens[idx])}>\n"
        return f'<div class="table-block"><div class="table-scroll" tabindex="0">{table}'

    def table_close(self, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div></div>\n"


def _cap_inline(state: StateCore) -> None:
    """Show over-long inline content as it is."""
    for token in state.tokens:
        if token.type == "inline" and len(token.content) > MAX_INLINE:
            token.type = "long_text"  # no inline rule runs


def _adapt(state: StateCore) -> None:
    """The page's differences from plain CommonMark."""
    for token in state.tokens:
        if token.type == "heading_open":
            token.tag = tag = _heading(int(token.tag[1]), state.env["work"].outline)
        elif token.type == "heading_close":
            token.tag = tag
        elif token.type in ("th_open", "td_open"):
            style = str(token.attrs.pop("style", ""))  # the CSP forbids inline styles
            if style:
                token.attrs["class"] = f"align-{style.rpartition(':')[2]}"
        elif token.type == "inline" and token.children:
            _mark_images(token.children)


def _heading(level: int, outline: list[int]) -> str:
    """The tag of a heading by its depth: the page has its own h1 and h2, and people who go from
    heading to heading miss a level that a text leaves out."""
    while outline and outline[-1] >= level:
        outline.pop()
    outline.append(level)
    return f"h{min(6, len(outline) + 2)}"


def _mark_images(children: list[Token]) -> None:
    """`![alt](url)` parses as "!" and a link, since images are off: drop the "!".

    Remote images are not loaded: they would tell a third party who reads what, and when.
    """
    for text, link in zip(children, children[1:], strict=False):
        if (
            link.type == "link_open"
            and link.info != "auto"
            and text.type == "text"
            and text.content.endswith("!")
        ):
            text.content = text.content[:-1]
            link.attrs |= {"class": "image-link", "data-label": gettext("Image: ")}


def _allowed_link(url: str) -> bool:
    scheme, colon, _ = url.partition(":")
    return bool(colon) and scheme.strip().lower() in _SCHEMES


def _make_markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"]).disable(["image", "html_inline", "html_block"])
    markdown.use(add_tasklists).use(add_formulas).use(footnotes.add_footnotes)
    markdown.use(bare_links.add_bare_links).use(add_unbroken_dates).use(add_directions)
    # What our inline rules begin or end with. By default the parser also stops at what others may
    # look for, which takes most of the time for text like `a-b=c`.
    markdown.inline.terminator_re = re.compile(r"[\n$&*<\[\]\\_`~]|" + bare_links.BEFORE)
    markdown.core.ruler.before("inline", "cap_inline", _cap_inline)
    markdown.core.ruler.push("adapt", _adapt)
    markdown.validateLink = _allowed_link  # type: ignore[method-assign]
    return markdown


_markdown = _make_markdown()

# --- Sanitiser ------------------------------------------------------------------------------------

_TAGS = """
    a blockquote br code del div em h3 h4 h5 h6 hr input label li ol p pre s span
    section strong sup table tbody td th thead tr ul
"""
_cleaner = nh3.Cleaner(
    tags=set(_TAGS.split()) | TAGS,
    attributes={
        "*": set(),
        "a": {"href", "data-label"},
        "ol": {"start"},
        "input": {"checked", "disabled"},
        **ATTRIBUTES,
    },
    tag_attribute_values={
        # Content that is wider than the page can be scrolled by keyboard too.
        "div": {"tabindex": {"0"}},
        "pre": {"tabindex": {"0"}},
        "span": {"tabindex": {"0"}},
        "input": {"type": {"checkbox"}},
        **dict.fromkeys(BLOCKS, {"dir": {"auto"}}),
        **ATTRIBUTE_VALUES,
    },
    set_tag_attribute_values={
        "a": {"target": "_blank"},
        "code": {"dir": "ltr"},
        "input": {"disabled": ""},
        "pre": {"dir": "ltr"},
    },
    allowed_classes={
        "a": {"image-link"},
        "code": {"math-source"},
        "div": {"code-block", "code-header", "table-block", "table-scroll"},
        "input": {"task-list-item-checkbox"},
        "li": {"footnote", "task-list-item"},
        "ol": {"contains-task-list"},
        "p": {"plain"},
        "section": {"footnotes"},
        "span": {
            "code-language",
            "date",
            "footnote-back",
            "math-block",
            *filter(None, STANDARD_TYPES.values()),
        },
        "sup": {"footnote-ref"},
        "td": {"align-left", "align-center", "align-right"},
        "th": {"align-left", "align-center", "align-right"},
        "ul": {"contains-task-list"},
    },
    link_rel="noopener noreferrer nofollow",
    url_schemes=_SCHEMES,
    url_relative="deny",
)
