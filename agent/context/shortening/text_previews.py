"""Long texts cut to a number of characters."""

import re

from agent.search.lexical import ALONE

HEAD, TAIL = 500, 200  # characters; errors stand at the end of logs
# At the end of what was cut: a word that may go on, or a character of a script without spaces.
_UNFINISHED = re.compile(rf"(?:[^\s{ALONE}]+|.)\Z", re.S)


def preview_text(text: str, head: int, tail: int, where: str = "") -> str:
    """Head and tail of a long text, in characters, with a note of what is missing."""
    missing = len(text) - head - tail
    if missing <= 0:
        return text
    return (
        f"{text[:head]}\n[… {missing:,} characters left out{where} …]\n{text[len(text) - tail :]}"
    )


def shorten_text(text: str, characters: int) -> str:
    """The beginning of a long text, cut between words: half a name or number would be a false
    one."""
    if len(text) <= characters:
        return text
    return _UNFINISHED.sub("", text[: characters + 1]).rstrip() + " …"
