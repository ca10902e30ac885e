"""A Markdown file in a fence: models put its own fences into one of the same length.

By CommonMark the end of the first inner fence would be the end of the file. Here fences with a
language pair up with their ends first. Where too few ends follow, CommonMark's reading counts.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence

LANGUAGES = {"markdown", "md", "mdx"}
MOST_TRIED = 50  # fences without an end of their own, each of which is looked for to the end of all
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*(.*)")


class MarkdownFence:
    """Finds the end of a fence of Markdown, line by line. `marker`: what it began with."""

    def __init__(self, marker: str) -> None:
        self._open = [(marker, True)]  # each fence that is open, and whether it holds Markdown
        self.nested = False  # another one has begun in it

    def read_line(self, line: str) -> bool:
        """Whether a line, without its indentation, ends the fence."""
        found = _FENCE.match(line)
        marker, holds_markdown = self._open[-1]
        if not found or not found[1].startswith(marker):
            return False
        if not found[2].strip():
            self._open.pop()
        elif holds_markdown and not (marker[0] == "`" and "`" in found[2]):
            self._open.append((found[1], is_markdown(found[2])))
            self.nested = True
        return not self._open


def is_markdown(info: str) -> bool:
    """Whether a fence with such words behind its marker holds a Markdown file."""
    return info.split(maxsplit=1)[0].lower() in LANGUAGES if info.strip() else False


def add_markdown_fences(markdown: MarkdownIt) -> None:
    """A plugin."""
    before = ["paragraph", "reference", "blockquote", "list"]  # as the rule has it that it replaces
    markdown.block.ruler.at("fence", _fence, {"alt": before})


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    first = _read(state, start)
    opened = None if silent or state.is_code_block(start) else _FENCE.match(first)
    if not opened or not is_markdown(opened[2]) or (first[0] == "`" and "`" in opened[2]):
        return fence(state, start, end, silent)
    last = _find_end(state, opened[1], start, end)
    if not last:
        return fence(state, start, end, silent)
    state.line = last + 1
    token = state.push("fence", "code", 0)
    token.info = first[len(opened[1]) :]
    token.content = state.getLines(start + 1, last, state.sCount[start], True)
    token.markup = opened[1]
    token.map = [start, state.line]
    return True


def _find_end(state: StateBlock, marker: str, start: int, end: int) -> int:
    """The line that ends the fence; 0 where none does."""
    tried = state.env.setdefault("fences_without_end", 0)
    if tried >= MOST_TRIED:
        return 0
    inner = MarkdownFence(marker)
    for number in range(start + 1, end):
        line = _read(state, number)
        if line and state.sCount[number] < state.blkIndent:
            break  # of the list
        if not state.is_code_block(number) and inner.read_line(line):
            return number
    state.env["fences_without_end"] = tried + 1
    return 0


def _read(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
