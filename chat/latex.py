"""LaTeX formulas as MathML, which browsers draw without any script."""

from functools import lru_cache
from html import escape, unescape
from xml.etree import ElementTree

from latex2mathml import exceptions
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import texmath_plugin

MAX_FORMULA = 2_000  # characters; a longer one is shown as its source
# What the converter raises for what it does not understand: its own errors share no base.
_ERRORS: tuple[type[Exception], ...] = (
    *(e for e in vars(exceptions).values() if isinstance(e, type) and issubclass(e, Exception)),
    RecursionError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
)

# For the sanitiser. What could load, link or lay out over the page is not among them.
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
def mathml(formula: str, *, block: bool) -> str:
    """A formula as HTML, to be sanitised; its source where it cannot be converted."""
    source = f'<code class="math-source">{escape(formula)}</code>'
    if len(formula) > MAX_FORMULA:
        return source
    try:
        root = convert_to_element(formula, display="block" if block else "inline")
    except _ERRORS:
        return source
    for element in root.iter():  # the converter writes symbols as entities, and leaves text raw
        element.text = unescape(element.text) if element.text else None
    return ElementTree.tostring(root, encoding="unicode")


def formulas(markdown: MarkdownIt) -> None:
    """A plugin: `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`. Amounts of dollars stay text."""
    markdown.use(
        dollarmath_plugin,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        allow_blank_lines=False,
        double_inline=True,
    )
    markdown.use(texmath_plugin, delimiters="brackets")
    for name in ("math_inline", "math_inline_double", "math_block"):
        markdown.add_render_rule(name, _inline if name == "math_inline" else _block)


def _inline(self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
    return mathml(tokens[idx].content.strip(), block=False)


def _block(self: object, tokens: list[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
    # A span: `$$…$$` may stand within a paragraph.
    formula = mathml(tokens[idx].content.strip(), block=True)
    return f'<span class="math-block" tabindex="0">{formula}</span>\n'
