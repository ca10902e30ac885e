"""Checking a summary by code against the messages that it was written from.

A bullet whose exact values are not in the source is dropped, unless it cites an image or a PDF. Its
message numbers must lie in the covered range, and one of the messages must share a value or content
words with it; a bullet without such support is kept and marked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agent.messages import Block, Message, file_text, is_file, plain_text
from agent.search.values import find_identifiers, normalise, simplify_numbers

UNVERIFIED = "(unverified)"
# A line that may say what only an earlier chapter said.
_FROM_EARLIER = re.compile(rf"{re.escape(UNVERIFIED)}|^\s*[-*+] Replaced: ")
_CITATION = re.compile(r"(?<!\s)\s*\[((?:#\d+(?:[–-]#?\d+)?[,;\s]*)+)\]")
MOST_DIGITS = 9  # of a message's number: databases count to 2**31, Python reads 4,300 digits
_NUMBERS = re.compile(r"#(\d+)(?:[–-]#?(\d+))?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")
# A value's parts, between which a text may have spaces or marks of code.
_PIECE = re.compile(r"[\d.]*\d|[^\d\s`()]+")
_GAP = r"[\s`()]*"
_WORD = re.compile(r"[^\W\d_]{4,}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Content words that a bullet and a message that it cites must share.
SHARED_WORDS = 2
_STOP_WORDS = """
    about after again also because been before being between both could does done down during
    each from have here into just like made make more most much must need only other over should
    some such than that their them then there these they this those through under until used user
    users very want wants were what when where which while will with would your assistant asked
    said message conversation none
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass
class Findings:
    """What the audit did, for the administrator: texts as they were written. `left_out` are the
    numbers of messages that no model has read whole, `unread_messages` and `unread_tokens` how many
    they are and what it has not read of them."""

    dropped: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    bullets: int = 0
    left_out: list[str] = field(default_factory=list)
    unread_messages: int = 0
    unread_tokens: int = 0

    @classmethod
    def of_unread(cls, unread: Mapping[int, int]) -> "Findings":
        """Tokens that were not read, by the numbers of their messages."""
        numbers = [f"#{number}" for number in unread]
        return cls(
            left_out=numbers, unread_messages=len(unread), unread_tokens=sum(unread.values())
        )

    def __add__(self, other: "Findings") -> "Findings":
        """Those of several texts; what came up in two of them counts once."""
        return Findings(
            list(dict.fromkeys([*self.dropped, *other.dropped])),
            list(dict.fromkeys([*self.unverified, *other.unverified])),
            self.bullets + other.bullets,
            list(dict.fromkeys([*self.left_out, *other.left_out])),
            self.unread_messages + other.unread_messages,
            self.unread_tokens + other.unread_tokens,
        )

    def as_dict(self) -> dict[str, object]:
        return {
            "bullets": self.bullets,
            "dropped": self.dropped,
            "unverified": self.unverified,
            "left_out": self.left_out,
            "unread_messages": self.unread_messages,
            "unread_tokens": self.unread_tokens,
        }


class Source:
    """The covered messages, and what an earlier summary said, as a place to look values up."""

    def __init__(self, messages: Sequence[Message], previous: str = "") -> None:
        texts = {message.number: plain_text(message.blocks) for message in messages}
        # What an image or a PDF says, code cannot look up.
        self.unreadable = {m.number for m in messages if any(map(_is_unreadable, m.blocks))}
        self._text = simplify_numbers("\n".join([*texts.values(), previous]))
        if not messages:
            # A merge without the originals: a bullet that cites a message stands for it.
            for line in previous.splitlines():
                for number in find_citations(line):
                    texts[number] = f"{texts.get(number, '')}\n{_CITATION.sub('', line)}"
        self.messages: Mapping[int, Support] = {n: Support(t) for n, t in texts.items()}

    def holds(self, value: str) -> bool:
        """Whether a value stands in the source by itself: 2 hours is not in 12 hours. Spaces and
        marks of code may differ."""
        pieces = _PIECE.findall(simplify_numbers(value).rstrip("/."))
        if not pieces:
            return True
        before = r"(?<!\d)(?<!\d\.)" if pieces[0][0].isdigit() else r"(?<!\w)"
        after = r"(?!\d)" if pieces[-1][-1].isdigit() else ""
        if not (pieces[0][0].isalnum() or pieces[0][0] == "_"):
            before = ""
        pattern = before + _GAP.join(map(re.escape, pieces)) + after
        return re.search(pattern, self._text) is not None


class Support:
    """One message as evidence."""

    def __init__(self, text: str) -> None:
        self._source = text

    @cached_property
    def _text(self) -> str:
        return normalise(self._source)

    @cached_property
    def _words(self) -> set[str]:
        return find_content_words(self._source)

    def backs(self, values: Sequence[str], words: set[str]) -> bool:
        """Whether it shares one of the values, or two of the words, or all of them."""
        if any(normalise(value) in self._text for value in values):
            return True
        return len(words & self._words) >= min(SHARED_WORDS, max(1, len(words)))


def _is_unreadable(block: Block) -> bool:
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        return any(map(_is_unreadable, block["content"]))
    return is_file(block) and not file_text(block)


def find_content_words(text: str) -> set[str]:
    """Words of four letters and more in a stemmed form, without stop-words; pairs of characters
    where a script writes no spaces."""
    words = {
        word.casefold()[:6] for word in _WORD.findall(text) if word.casefold() not in STOP_WORDS
    }
    characters = _CJK.findall(text)
    return words | {a + b for a, b in zip(characters, characters[1:], strict=False)}


def audit(text: str, source: Source) -> tuple[str, Findings]:
    """A summary's text, with everything that the source does not support dropped or marked.

    Headings and "None." stay. A heading that lost all its bullets says "None.".
    """
    findings = Findings()
    lines: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped.rstrip(".").casefold() == "none":
            lines.append(line)
        elif checked := _check(line, source, findings):
            lines.append(checked)
    return "\n".join(_with_none(lines)), findings


def _check(line: str, source: Source, findings: Findings) -> str:
    """One line as it may stay, "" where nothing may."""
    bullet = re.match(r"\s*(?:[-*+]|\d+[.)])\s", line) is not None
    if not bullet:
        sentences = _SENTENCE_END.split(line)
        kept = [s for s in sentences if all(map(source.holds, find_identifiers(s)))]
        findings.dropped += [s for s in sentences if s not in kept]
        return " ".join(kept)
    findings.bullets += 1
    body = _CITATION.sub("", line)
    values = find_identifiers(body)
    cited = [number for number in find_citations(line) if number in source.messages]
    held = all(map(source.holds, values))
    if not held and source.unreadable.isdisjoint(cited):
        findings.dropped.append(line.strip())
        return ""
    supported = held and [
        n for n in cited if source.messages[n].backs(values, find_content_words(body))
    ]
    suffix = f" [{' '.join(f'#{number}' for number in cited)}]" if cited else ""
    if not supported:
        findings.unverified.append(line.strip())
        suffix += f" {UNVERIFIED}"
    return body.replace(UNVERIFIED, "").rstrip() + suffix


def rests_on(text: str, message: Message) -> bool:
    """Whether a summary's text, written from other messages, may say what a message says: a line
    cites it, or shares a value or content words with it and tells of what came earlier, or of what
    no message supports."""
    support = Support(plain_text(message.blocks))
    return any(
        message.number in find_citations(line)
        or (
            _FROM_EARLIER.search(line)
            and support.backs(
                find_identifiers(strip_citations(line)),
                find_content_words(line.replace(UNVERIFIED, "")),
            )
        )
        for line in text.splitlines()
    )


def find_citations(line: str) -> list[int]:
    """The message numbers that a bullet rests on, in order; a range counts with both ends. What is
    too long to be a message's number is ignored."""
    ends = (
        end for group in _CITATION.findall(line) for pair in _NUMBERS.findall(group) for end in pair
    )
    return list(dict.fromkeys(int(end) for end in ends if 0 < len(end) <= MOST_DIGITS))


def strip_citations(line: str) -> str:
    """A line's text alone, without its message numbers and the audit's mark."""
    return _CITATION.sub("", line).replace(UNVERIFIED, "").strip()


def _with_none(lines: Sequence[str]) -> Iterator[str]:
    headings = [index for index, line in enumerate(lines) if line.startswith("## ")]
    empty = {
        index
        for index, end in zip(headings, [*headings[1:], len(lines)], strict=False)
        if not any(line.strip() for line in lines[index + 1 : end])
    }
    for index, line in enumerate(lines):
        yield line
        if index in empty:
            yield "None."
