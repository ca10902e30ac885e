"""Standing instructions and preferences of the user, found by their wording and kept verbatim.

Search cannot find them later (recall@10 of 0.06, retrieval_and_cost 2a), so they are pinned.
"""

import re
from dataclasses import dataclass

from agent.fences import fenced
from agent.messages import Message, block_text, file_name, is_file
from agent.pruning import shorten

_RULE = re.compile(
    r"""(?:^|[.!?;,]\s+|\b(?:please|and|but|so|also|then|remember|note)\s*,?\s+)
    (?:(?:you\ (?:must|should|need\ to)\ )?(?:always|never)\ (?!been\b|had\b|have\b|seen\b|mind\b)
    | do\ not\ ever\ | don't\ ever\ | from\ now\ on\b | in\ (?:the\ )?future\b | going\ forward\b
    | whenever\ | every\ time\ | each\ time\ | make\ sure\ (?:to|that|you)\ (?:always|never)\b
    | by\ default\b | keep\ in\ mind\ that\b | remember\ (?:that|to)\b
    | (?:when|if)\ I\ (?:ask|say|mention)\b)""",
    re.I | re.X | re.M,
)
_PREFERENCE = re.compile(
    r"\bI(?:'d| would)?(?: really| strongly| always| generally| usually)? prefer\b"
    r"|\bmy (?:preference|rule|policy|style guide)\b|\bI (?:hate|can't stand|insist)\b"
    r"|\bI (?:like|want) (?:my|all|every)\b",
    re.I,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]?")
LONGEST = 400  # characters of one pin


@dataclass(frozen=True, slots=True)
class Pin:
    """A sentence of the user's, and the message that it stands in."""

    number: int
    text: str

    def render(self) -> str:
        return f"- {self.text} [#{self.number}]"


def typed(message: Message) -> str:
    """What a person wrote in a message, and the names of files: neither what these say, nor results
    of tools, which imported messages may hold beside it."""
    written = (b for b in message.blocks if b["type"] == "text" or is_file(b))
    return "\n\n".join(file_name(b) if is_file(b) else block_text(b) for b in written)


def pins(number: int, text: str) -> list[Pin]:
    """The sentences of a user's message that are meant to hold beyond their own turn. Code and
    quoted text are left out: what a log says is no instruction of the user."""
    found = []
    for sentence in _SENTENCE.findall(_without_code(text)):
        sentence = " ".join(sentence.split())
        if _RULE.search(sentence) or _PREFERENCE.search(sentence):
            found.append(Pin(number, shorten(sentence, LONGEST)))
    return found


def _without_code(text: str) -> str:
    kept, end = [], 0
    for fence in fenced(text, tildes=True, unclosed=True):
        kept.append(text[end : fence.start])
        end = fence.end
    return re.sub(r"^(?:>| {4}|\t).*$", "", "".join([*kept, text[end:]]), flags=re.M)
