"""Handles for messages that carry no numbers: by its words, a model can tell which line of the
outline is about which message.

A handle is the opening of a message as far as no other one begins so. Where many begin alike, as
the calls of a tool do, it is the beginning and the place where this one differs; where messages are
the same, which of them it is.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, pairwise, takewhile
from os.path import commonprefix

from agent.messages import AgentMessage, plain_text

READ = 2_000  # characters of a message that are compared
OPENING = 34  # characters that are shown at least, where a message has so many
LONGEST_OPENING = 60  # beyond that, what is alike is left out
BEGINNING = 6  # characters of it that are still shown
DIFFERENCE = 12  # characters from where a message differs on
FARTHEST = 27  # characters from where it differs from many to where from all, shown in one
WORD = 12  # characters of a word that are shown to its end
_BREAK = re.compile(r"[^\w.-]")  # between what is shown of a path or a command


def find_handles(messages: Sequence[AgentMessage]) -> Mapping[int, str]:
    """The handle of each message, by its number."""
    texts = {message.number: cut_opening(message, READ) for message in messages}
    handles: dict[int, str] = {}
    for role in ("user", "assistant"):
        numbers = [message.number for message in messages if message.role == role]
        written = _write_all({texts[number] for number in numbers})
        same: dict[str, list[int]] = {}
        for number in numbers:
            same.setdefault(written[texts[number]], []).append(number)
        for handle, alike in same.items():
            for place, number in enumerate(alike, 1):
                which = f" ({place} of {len(alike)})" if len(alike) > 1 else ""
                handles[number] = handle + which
    return handles


def cut_opening(message: AgentMessage, characters: int) -> str:
    """The beginning of a message on one line."""
    words = plain_text(message.blocks).split(maxsplit=characters)  # the rest is one more
    return " ".join(words[:characters])[:characters]


def _write_all(texts: Collection[str]) -> Mapping[str, str]:
    """The handles of different texts."""
    ordered = sorted(texts)
    alike = [len(commonprefix(pair)) for pair in pairwise(ordered)]
    handles: dict[str, str] = {}
    shared = 0  # characters that all of a run begin with
    for at, text in enumerate(ordered):
        before = alike[at - 1] if at else 0
        if before < LONGEST_OPENING:
            run = takewhile(lambda n: n >= LONGEST_OPENING, islice(alike, at, None))
            shared = min(run, default=0)
        handles[text] = _write(text, max([before, *alike[at : at + 1]]), shared)
    return handles


def _write(text: str, alike: int, shared: int) -> str:
    """A text's opening, of which so many characters are another one's too, and `shared` are those
    of many."""
    if alike < LONGEST_OPENING:
        return _cut(text, 0, max(OPENING, alike + 1))
    start, differs = _go_back(text, shared), _go_back(text, alike)
    parts = [text.partition(" ")[0][:BEGINNING]]
    if differs - start > FARTHEST:
        parts.append(_cut(text, start, start + DIFFERENCE // 2).rstrip("…"))
        start = differs
    parts.append(_cut(text, start, max(start + DIFFERENCE, alike + 1)))
    return "…".join(part for part in parts if part)


def _go_back(text: str, place: int) -> int:
    """Where the word begins that a place is in."""
    breaks = [match.end() for match in _BREAK.finditer(text, max(0, place - WORD), place)]
    return breaks[-1] if breaks else place


def _cut(text: str, start: int, end: int) -> str:
    """A part of a text, to the end of its last word."""
    most = min(len(text), end + WORD)
    while end < most and text[end].isalnum() and text[end] < "\u2e80":
        end += 1
    return text[start:end].rstrip() + ("…" if end < len(text) else "")
