"""LaTeX formulas as MathML, which browsers draw without any script."""

import re
from collections.abc import Callable
from functools import lru_cache
from html import escape, unescape
from xml.etree import ElementTree

import structlog
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.texmath.index import make_block_func, make_inline_func, rules

from chat.html.dollars import find_formula, is_prose

log = structlog.get_logger(__name__)

MAX_FORMULA = 2_000  # characters; a longer one is shown as its source
MAX_LINES = 60  # of a formula between $$ and $$

# Environments that the converter does not know, each with one that it knows and that looks alike.
_LOOKS_LIKE = {
    "aligned": "align*",
    "eqnarray": "align*",
    "eqnarray*": "align*",
    "gathered": "matrix",
    "gather": "matrix",
    "gather*": "matrix",
}
_ENVIRONMENT = re.compile(r"\\(begin|end)\{([a-z]+\*?)\}")

BlockRule = Callable[[StateBlock, int, int, bool], bool]
InlineRule = Callable[[StateInline, bool], bool]

# For the sanitiser. Elements that could load, link or cover the page are not among them.
_TAGS = """
    math merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace
    msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none
"""
TAGS = set(_TAGS.split())
ATTRIBUTES = {
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {"fence", "form", "largeop", "movablelimits", "separator", "stretchy"},
    "mover": {"accent"},
    "mtable": {"columnalign"},
    "mtd": {"columnalign"},
}
ATTRIBUTE_VALUES = {"mfrac": {"linethickness": {"0", "0px", "0pt"}}}


@lru_cache(maxsize=256)
def render_formula(formula: str, *, block: bool) -> str:
    """A formula as HTML, to be sanitised; its source where it cannot be converted."""
    if len(formula) > MAX_FORMULA:
        return read_formula_source(formula)
    try:
        root = convert_to_element(_with_known(formula), display="block" if block else "inline")
        for element in root.iter():  # it writes symbols as entities, and leaves text raw
            element.text = unescape(element.text) if element.text else None
        return ElementTree.tostring(root, encoding="unicode")
    # Its own errors have no common base, and other errors leak out of it (StopIteration, …).
    except Exception as error:  # noqa: BLE001 - whatever the text, its source can be shown
        log.info("formula shown as its source", error=type(error).__name__)
        return read_formula_source(formula)


def _with_known(formula: str) -> str:
    return _ENVIRONMENT.sub(
        lambda found: rf"\{found[1]}{{{_LOOKS_LIKE.get(found[2], found[2])}}}", formula
    )


def read_formula_source(formula: str) -> str:
    """A formula as it was written."""
    return f'<code class="math-source">{escape(formula)}</code>'


def add_formulas(markdown: MarkdownIt) -> None:
    """A plugin: `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`. Amounts of dollars stay text.

    The two libraries' rules look for a formula's end in all that follows, from each place where one
    might begin: here only as far as a formula may go.
    """
    markdown.use(dollarmath_plugin, allow_labels=False)
    markdown.inline.ruler.at("math_inline", _dollars)
    markdown.block.ruler.at("math_block", _bounded(math_block_dollar(allow_labels=False)))
    for rule in rules["brackets"]["inline"]:
        bracketed = make_inline_func(rule)
        markdown.inline.ruler.before("escape", f"bracket_{rule['name']}", _if_closed(bracketed))
    for rule in rules["brackets"]["block"]:
        block = _if_block_closed(make_block_func(rule))
        markdown.block.ruler.before("fence", f"bracket_{rule['name']}", block)
    for name in ("math_inline", "math_inline_double", "math_block"):
        markdown.add_render_rule(name, _inline if name == "math_inline" else _block)


def _dollars(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "$" or not (found := find_formula(state.src, state.pos)):
        return False
    mark, source, end = found
    if not silent:
        token = state.push("math_inline_double" if mark == "$$" else "math_inline", "math", 0)
        token.content, token.markup = source, mark
    state.pos = end
    return True


def _bounded(rule: BlockRule) -> BlockRule:
    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
        first, *rest = line.removeprefix("$$").split("$$", 1)
        if rest and is_prose(first):
            return False
        return rule(state, start, min(end, start + MAX_LINES), silent)

    return bounded


def _if_closed(rule: InlineRule) -> InlineRule:
    def checked(state: StateInline, silent: bool) -> bool:
        return _ends(state.src, "\\)", state.pos) and rule(state, silent)

    return checked


def _if_block_closed(rule: BlockRule) -> BlockRule:
    def checked(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        begin = state.bMarks[start] + state.tShift[start]
        return _ends(state.src, "\\]", begin) and rule(state, start, end, silent)

    return checked


def _ends(text: str, closing: str, begin: int) -> bool:
    return text.find(closing, begin, begin + MAX_FORMULA) >= 0


def _inline(self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
    return _formula(tokens[idx], env, block=False)


def _block(self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
    # A span: `$$…$$` may stand within a paragraph.
    formula = _formula(tokens[idx], env, block=True)
    return f'<span class="math-block" tabindex="0">{formula}</span>\n'


def _formula(token: Token, env: EnvType, *, block: bool) -> str:
    formula = token.content.strip()
    return (
        render_formula(formula, block=block)
        if env["work"].spend_on_formula(formula)
        else read_formula_source(formula)
    )
