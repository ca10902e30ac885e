"""A title made of the first words of the conversation."""

from __future__ import annotations

import re

from demo.api.recording import join_text
from demo.api.tokens import Body
from demo.mind.recognition import messages_of

LONGEST_WORDS = 6
LONGEST_CHARACTERS = 60
_QUOTED = re.compile(r"<conversation>\s*(.*?)\s*</conversation>", re.DOTALL)
_COURTESY = re.compile(
    r"^(please|hi|hello|hey|can you|could you|would you|i want to|i would like to|help me)\b"
    r"[\s,!.]*",
    re.IGNORECASE,
)
# A title that is cut does not end in one of these.
_LEADING_ON = "a an and at but by for from in into my of on or our the to with your"


def compose_title(body: Body) -> str:
    """At most six words of the conversation that the request quotes."""
    users = [join_text(m) for m in messages_of(body) if m.get("role") == "user"]
    quoted = _QUOTED.search(users[-1]) if users else None
    return shorten_title(quoted[1] if quoted else "") or "Demo conversation"


def shorten_title(source: str) -> str:
    """The first sentence without courtesies, cut to a title's length."""
    line = next((line for line in source.splitlines() if line.strip()), "")
    line = re.sub(r"[#*_`>|]+", " ", line).strip()
    previous = None
    while previous != line:
        previous, line = line, _COURTESY.sub("", line)
    sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    words = sentence.split()
    if len(words) > LONGEST_WORDS:
        words = words[:LONGEST_WORDS]
        while len(words) > 1 and words[-1].lower() in _LEADING_ON.split():
            words.pop()
    title = " ".join(words)[:LONGEST_CHARACTERS].strip(" .,;:!?-–—“”\"'")
    return title[:1].upper() + title[1:]
