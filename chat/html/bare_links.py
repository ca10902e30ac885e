"""`https://…` in the middle of a text as a link.

Not linkify-it-py: to it an address goes on over `，`, `。` and `」` to the next space, so that of a
Chinese or Japanese sentence never ends in time; it knows no address of IPv6 and no `_` in a host;
and a paragraph of `://` takes it twenty times as long.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

# Where the inline parser has to stop for this rule.
BEFORE = r":(?=//)"
_SCHEME = re.compile(r"(?<![A-Za-z0-9])https?$", re.I)
# Up to what cannot be in an address, or ends it where no spaces are written. An address of IPv6
# stands in brackets; other brackets belong to the text.
_END = r"\s<>\[\]\\`\"|。，、；：！？）」』】》"
_REST = re.compile(rf"://(?:(?:[^{_END}/?#@]*@)?\[[0-9a-f:.]+\])?[^{_END}]*", re.I)
# A host that goes on behind a bracket is none. A note may follow: [1], [#12], [^a].
_BROKEN = re.compile(rf"://[^{_END}/?#]*(?:\](?=\w)|\[(?![^\[\]\s]*\][^\w\s]*(?:\s|\Z)))", re.I)
_LONGEST_SCHEME = len("https")


def add_bare_links(markdown: MarkdownIt) -> None:
    """A plugin."""
    markdown.inline.ruler.after("text", "bare_link", _link)


def _link(state: StateInline, silent: bool) -> bool:
    if state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = _SCHEME.search(state.src[max(0, state.pos - _LONGEST_SCHEME - 1) : state.pos])
    rest = scheme and _REST.match(state.src, state.pos, state.posMax)
    if not (scheme and rest):
        return False
    end = _without_punctuation(rest[0])
    broken = _BROKEN.match(state.src, state.pos, state.posMax)
    if end == "://" or (broken and broken.end() > state.pos + len(end)):
        return False
    href = state.md.normalizeLink(scheme[0] + end)
    if not state.md.validateLink(href):
        return False
    if not silent:
        state.pending = state.pending[: -len(scheme[0])]
        opening = state.push("link_open", "a", 1)
        opening.attrs = {"href": href}
        opening.info = "auto"
        state.push("text", "", 0).content = scheme[0] + end
        state.push("link_close", "a", -1)
    state.pos += len(end)
    return True


def _without_punctuation(rest: str) -> str:
    """Without the marks that belong to the sentence; a bracket stays if it was opened before."""
    surplus = rest.count(")") - rest.count("(")
    while rest[-1] in ".,:;!?'*_~)":
        if rest[-1] == ")":
            if surplus <= 0:
                break
            surplus -= 1
        rest = rest[:-1]
    return rest
