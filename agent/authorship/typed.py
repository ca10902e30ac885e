"""What a person typed in a message: its texts, and the parts of them that are their own words."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from agent.authorship.instruction_wordings import instructs
from agent.authorship.quoted import Range, blank_out, find_foreign
from agent.authorship.reported import find_reported
from agent.messages import AgentMessage, block_text, file_name, is_file

# A mark ends a sentence before a space, in scripts without spaces anywhere, and a line's end does.
_STOP = re.compile(
    r"[.!?؟]+[\"'”’»)\]]*(?=\s|$)|[。！？।॥]+[」』”）]*|\n",
)
# After these a full stop ends no sentence; after “etc.” it does where a capital follows.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|(?:\w+\.\s?)+\w|vs|cf|approx|incl|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|bzw|ca|ggf"
    r"|inkl|evtl|ex|ej|Sr|Sra|Ud|Uds|pág|напр|см|стр|etc|usw|usf)$",
    re.I,
)
_LONGEST_ABBREVIATION = 12
_AT_THE_END = re.compile(r"(?:etc|usw|usf)$", re.I)
ITEM = re.compile(r"^\s*(?:[-*+•·–—]|\d{1,3}[.)])\s+")
LONGEST = 400  # characters of a part that are read
FOREIGN_WORDS = 3  # that a sentence of the user's may hold: a pasted name, a path
# A word, or a character of a script that writes no spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
# Stands for a character that the user did not type: no wording matches it.
_NOT_TYPED = "\ue000"
_GAP = re.compile(rf"{_NOT_TYPED}[{_NOT_TYPED}\s]*")


class TypedText:
    """One text of a user's message, and which parts of it they typed. `pasted`: see
    `agent.authorship.quoted.find_foreign`."""

    def __init__(self, text: str, pasted: Sequence[Range] | None = None) -> None:
        self.text = text
        self._own = blank_out(text, find_foreign(text, pasted), _NOT_TYPED)

    @cached_property
    def _said(self) -> str:
        """What the user says themselves, without what they report that others said."""
        return blank_out(self._own, find_reported(self.text), _NOT_TYPED)

    def sentences(self) -> Iterator[Range]:
        """Where its sentences are, with what ends them."""
        start = 0
        for stop in _STOP.finditer(self.text):
            if not _ends_sentence(self.text, stop):
                continue
            yield start, stop.end()
            start = stop.end()
        yield start, len(self.text)

    def read_said(self, part: Range) -> str:
        """A part on one line as the user says it themselves, with a mark in place of each other
        character."""
        return _read_line(self._said[slice(*part)])

    def instructs(self, part: Range) -> bool:
        """Whether a part is worded like what holds beyond its turn, in the user's own words."""
        own = _read_line(self._own[slice(*part)])
        if not instructs(own):
            return False
        said = self.read_said(part)
        return said == own or instructs(said)

    def is_typed(self, part: Range) -> bool:
        """Whether a part is the user's own: a pasted name or path in it does not matter. What they
        report of others is not, except beside an instruction of their own."""
        own, typed = self._own[slice(*part)], self.text[slice(*part)]
        foreign = "".join(
            character if mark == _NOT_TYPED else " "
            for character, mark in zip(typed, own, strict=True)
        )
        words = len(_WORD.findall(foreign))
        if words > FOREIGN_WORDS or words >= len(_WORD.findall(own.replace(_NOT_TYPED, " "))):
            return False
        said = self._said[slice(*part)]
        return said == own or instructs(_read_line(said))


def _read_line(own: str) -> str:
    """A part on one line, with a mark in place of each character that was not typed."""
    return ITEM.sub("", " ".join(own.split()))[:LONGEST]


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    if stop[0][0] != ".":
        return True
    before = text[max(0, stop.start() - _LONGEST_ABBREVIATION) : stop.start()]
    if not _ABBREVIATION.search(before):
        return True
    return bool(_AT_THE_END.search(before)) and text[stop.end() :][:2].strip().istitle()


def read_written_text(message: AgentMessage) -> str:
    """What a person wrote in a message, and the names of files. Not the files' contents, and not
    the results of tools, which imported messages may also hold."""
    written = (b for b in message.blocks if b["type"] == "text" or is_file(b))
    return "\n\n".join(file_name(b) if is_file(b) else block_text(b) for b in written)


def read_typed_texts(message: AgentMessage) -> list[TypedText]:
    """The texts of a user's message; neither files nor results of tools."""
    texts = [block_text(block) for block in message.blocks if block["type"] == "text"]
    return [TypedText(text, message.pasted) for text in texts]


def read_typed_words(message: AgentMessage) -> str:
    """What the user typed in a message, the names that they put in quotation marks too, with `[…]`
    for each part that others wrote; "" where they typed nothing."""
    texts = [block_text(block) for block in message.blocks if block["type"] == "text"]
    foreign = (find_foreign(text, message.pasted, names=False) for text in texts)
    typed_parts = [
        _GAP.sub(" […] ", blank_out(text, parts, _NOT_TYPED)).strip()
        for text, parts in zip(texts, foreign, strict=True)
    ]
    return "\n\n".join(part for part in typed_parts if part.replace("[…]", "").strip())
