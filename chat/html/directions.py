"""Blocks that find out by their own words whether they are read from right to left."""

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

BLOCKS = ("blockquote", "h3", "h4", "h5", "h6", "li", "p", "table")  # that can have a direction

_DIRECTED = {"paragraph_open", "heading_open", "blockquote_open", "table_open"}
_HOLDERS = {
    f"{name}_{end}" for name in ("list_item", "blockquote", "footnote") for end in ("open", "close")
}


def add_directions(markdown: MarkdownIt) -> None:
    """A plugin."""
    markdown.core.ruler.push("directions", _direct)


def _direct(state: StateCore) -> None:
    """The first letter of a block decides, but not one of a block in it that has a direction too:
    so only the items of lists have one within others."""
    holders = 0
    for token in state.tokens:
        if token.type == "list_item_open" or (token.type in _DIRECTED and not holders):
            token.attrSet("dir", "auto")
        if token.type in _HOLDERS:
            holders += token.nesting
