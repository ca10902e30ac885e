"""`- [ ]` and `- [x]` as checkboxes that nobody can tick. The usual plugin looks for the list of
each item from the item backwards, which takes quadratic time."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_BOX = re.compile(r"\[([ xX])\]\s")


def add_tasklists(markdown: MarkdownIt) -> None:
    """A plugin."""
    markdown.core.ruler.after("inline", "tasklists", _mark)


def _mark(state: StateCore) -> None:
    open_lists: list[Token] = []
    for index, token in enumerate(state.tokens):
        if token.type.endswith("_list_open"):
            open_lists.append(token)
        elif token.type.endswith("_list_close"):
            open_lists.pop()
        elif token.type == "inline" and (box := _BOX.match(token.content)):
            before = [each.type for each in state.tokens[max(0, index - 2) : index]]
            if before == ["list_item_open", "paragraph_open"]:
                state.tokens[index - 2].attrSet("class", "task-list-item")
                open_lists[-1].attrSet("class", "contains-task-list")
                _tick(token, ticked=box[1] != " ")


def _tick(inline: Token, *, ticked: bool) -> None:
    children = inline.children or []
    children[0].content = children[0].content[3:]
    checked = ' checked="checked"' if ticked else ""
    box = f'<input class="task-list-item-checkbox"{checked} disabled="disabled" type="checkbox">'
    inline.children = [_html("<label>"), _html(box), *children, _html("</label>")]


def _html(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)
