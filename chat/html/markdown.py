"""Markdown to sanitised HTML: the only HTML that model output can become.

`render_markdown` turns a whole text into HTML. `chat.html.markdown_stream` does the same piece by
piece while an answer arrives. Raw HTML in the text is never HTML in the page: markdown-it runs with
`html=False`, and `chat.html.sanitiser` lets through exactly what the modules here can produce.
"""

import re
from collections.abc import Sequence
from html import escape

from django.urls import reverse
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from chat.html import bare_links, footnotes
from chat.html.code_blocks import draw_code_block
from chat.html.directions import add_directions
from chat.html.emphasis import add_cjk_emphasis
from chat.html.failsafe import draw_safely
from chat.html.formulas import add_formulas
from chat.html.markdown_fences import add_markdown_fences
from chat.html.markdown_pieces import split_pieces
from chat.html.render_budget import RenderBudget
from chat.html.sanitiser import clean_text, escape_in_parts, sanitise_html, takes_address
from chat.html.table_dates import add_unbroken_dates
from chat.html.tasklists import add_tasklists

MAX_INLINE = 8_000  # characters of one paragraph or cell; inline rules can be quadratic

_PROVENANCE = re.compile(
    r"\[(#\d+(?:[ ,]+#\d+)*)(?: in ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?\]"
)
_MESSAGE_NUMBER = re.compile(r"#(\d+)")
_OPAQUE = re.compile(r"(<pre\b.*?</pre>|<code\b.*?</code>|<a\b.*?</a>)", re.S)


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
    html = link_numbers(footnotes.link_footnotes(sanitise_html(html), marked))
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


def _plain(text: str) -> str:
    return f'<p class="plain" dir="auto">{escape(text)}</p>\n'


class _Renderer(RendererHTML):
    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        info = token.info.split(maxsplit=1)
        return draw_code_block(token.content, info[0] if info else "", env["work"])

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return draw_code_block(tokens[idx].content, "", env["work"])

    def long_text(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return escape_in_parts(tokens[idx].content)

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


def _make_markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"]).disable(["image", "html_inline", "html_block"])
    markdown.use(add_markdown_fences).use(add_cjk_emphasis).use(add_tasklists).use(
        add_formulas
    ).use(footnotes.add_footnotes)
    markdown.use(bare_links.add_bare_links).use(add_unbroken_dates).use(add_directions)
    # What our inline rules begin or end with. By default the parser also stops at what others may
    # look for, which takes most of the time for text like `a-b=c`.
    markdown.inline.terminator_re = re.compile(r"[\n$&*<\[\]\\_`~]|" + bare_links.BEFORE)
    markdown.core.ruler.before("inline", "cap_inline", _cap_inline)
    markdown.core.ruler.push("adapt", _adapt)
    # What is no link stays as it was written, with its address.
    markdown.validateLink = takes_address  # type: ignore[method-assign]
    return markdown


_markdown = _make_markdown()
