"""Standing instructions and preferences of the user, found by their wording and kept verbatim.

Search would not find them later (measured: recall@10 of 0.06), so they are pinned. Only what the
user typed counts: a pasted mail says what its writer wants.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.compaction.quoted import Range, blank_out, find_foreign
from agent.context.pruning import shorten_text
from agent.messages import Message, block_text, file_name, is_file

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
SHORTEST, LONGEST = 8, 400  # characters of one pin
FOREIGN_WORDS = 3  # that a sentence of the user's may hold: a pasted name, a path
# Stands for a character that the user did not type: no wording matches it.
_NOT_TYPED = "\ue000"
_GAP = re.compile(rf"{_NOT_TYPED}[{_NOT_TYPED}\s]*")


@dataclass(frozen=True, slots=True)
class Pin:
    """A sentence of the user's, and the message that it stands in."""

    number: int
    text: str

    def render(self) -> str:
        return f"- {self.text} [#{self.number}]"


def read_typed_text(message: Message) -> str:
    """What a person wrote in a message, and the names of files. Not the files' contents, and not
    the results of tools, which imported messages may also hold."""
    written = (b for b in message.blocks if b["type"] == "text" or is_file(b))
    return "\n\n".join(file_name(b) if is_file(b) else block_text(b) for b in written)


def find_pins_in(message: Message) -> list[Pin]:
    """The standing instructions in a message of the user's."""
    texts = [block_text(block) for block in message.blocks if block["type"] == "text"]
    return [pin for text in texts for pin in find_pins(message.number, text, message.pasted)]


def find_pins(number: int, text: str, pasted: Sequence[Range] | None = None) -> list[Pin]:
    """The typed sentences of a user's message that are meant to hold beyond their own turn.
    `pasted`: see `agent.compaction.quoted.find_foreign`."""
    found = []
    own = blank_out(text, find_foreign(text, pasted), _NOT_TYPED)
    for match in _SENTENCE.finditer(text):
        if len(match[0]) < SHORTEST:
            continue
        sentence, typed_part = match[0], own[slice(*match.span())]
        if _is_typed(sentence, typed_part) and _instructs(" ".join(typed_part.split())):
            found.append(Pin(number, shorten_text(" ".join(sentence.split()), LONGEST)))
    return found


def read_own_words(message: Message) -> str:
    """What the user typed in a message, with `[…]` for each part that others wrote; "" where they
    typed nothing."""
    texts = [block_text(block) for block in message.blocks if block["type"] == "text"]
    typed_parts = [
        _GAP.sub(" […] ", blank_out(text, find_foreign(text, message.pasted), _NOT_TYPED)).strip()
        for text in texts
    ]
    return "\n\n".join(part for part in typed_parts if part.replace("[…]", "").strip())


def _is_typed(sentence: str, typed_part: str) -> bool:
    """Whether a sentence is the user's own: a pasted name or path in it does not matter."""
    foreign_part = "".join(
        character if typed_character == _NOT_TYPED else " "
        for character, typed_character in zip(sentence, typed_part, strict=True)
    )
    return len(foreign_part.split()) <= FOREIGN_WORDS


def _instructs(sentence: str) -> bool:
    return bool(_RULE.search(sentence) or _PREFERENCE.search(sentence))
