"""The lines of a summary's section of standing instructions, in the forms in which models write.

A line names an instruction and its message, in either order, or one that the user took back and
their words for that. What a model puts around the words (a label, quotes, a note) may be its own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.audit.facts.denial import is_denied

LONGEST_LINE = 1_000  # characters: the patterns below may look at each several times

_BULLET = re.compile(r"^\s*(?:[-*+•·–—‣▪]|\d{1,3}[.)、]|\(\d{1,3}\))\s+(.+)$")
_INDENTED = re.compile(r"^(?: {2,}|\t)\s*\S")
_RULE = re.compile(r"^\W*$|^\s*(?:```|~~~)")
_NONE = re.compile(
    r"^\W*(?:none|nothing|n/a|nil|keine?|nichts|aucune?|rien|ningun[oa]|nada|nenhuma?|нет|无|無"
    r"|没有"
    r"|なし|特になし|कोई नहीं|لا شيء|لا يوجد)"
    r"(?:\s+(?:so far|yet|given|stated|bisher|(?:standing |new |further )?instructions?))*\W*$"
    r"|^\W*(?:no (?:new |further )?(?:standing )?instructions?"
    r"|the user (?:has|did|gave) (?:not|no|n['’]t)\b)[^#]*$",
    re.I,
)
# “[#1]”, “(#1, #3)”, “(message 1)”, “【#1】”, and where a line begins or ends “[1]”, “#1:”.
_OPEN, _CLOSE = r"[\[(（【［]", r"[\])）】］]"
_MESSAGE = (
    r"(?:messages?|msgs?|nachricht(?:en)?|mensajes?|mensage(?:m|ns)|сообщени\w{1,3}"
    r"|消息|メッセージ|संदेश|الرسالة|رسالة)"
)
_CITED = re.compile(
    rf"{_OPEN}[^\[\](){{}}（）【】［］#＃№]{{0,20}}[#＃№]\s?\d{{1,9}}[^\[\]()（）【】［］]{{0,60}}{_CLOSE}"
    rf"|{_OPEN}\s*{_MESSAGE}\.?\s*\d{{1,9}}[^\[\]()（）【】［］]{{0,60}}{_CLOSE}"
    rf"|^\W{{0,4}}(?:{_MESSAGE}\s*)?[#＃№]\d{{1,9}}\b"
    rf"|^\W{{0,4}}{_MESSAGE}\s*\d{{1,9}}(?=\s*[:：])"
    rf"|^\W{{0,4}}\[\d{{1,9}}\]|[\[(]\d{{1,9}}(?:[,;\s]{{1,3}}\d{{1,9}}){{0,9}}[\])](?=\W{{0,6}}$)"
    rf"|(?:\b(?:source|from|see|quelle|aus|siehe)\s?[:：]?\s?)?[#＃№]\d{{1,9}}(?=\W{{0,6}}$)",
    re.I,
)
_NUMBER = re.compile(r"[#＃№]\s?(\d{1,9})")
_DIGITS = re.compile(r"\d{1,9}")
_AROUND = " \t*_`~\"'“”„«»‹›‘’‚「」『』|:：,，—–-"  # marks that a model may add

_RETIRED = re.compile(
    r"^\W{0,9}(?:retired|revoked|withdrawn|cancell?ed|taken back|no longer valid|zurückgenommen"
    r"|widerrufen|aufgehoben|retirée?|révoquée?|annulée?|retirad[oa]|revocad[oa]|anulad[oa]"
    r"|revogad[oa]|cancelad[oa]|отменено|отозвано|已?撤[回销銷]|已?取消|撤回|取り消し|रद्द|वापस"
    r"|ملغى|مسحوب)"
    r"\W{0,9}[:：](.+)$",
    re.I,
)
_BY = re.compile(r"(?:\b(?:by|durch|par|por)|через|由|被|理由|द्वारा|بقوله|بـ?)\s{0,3}[:：]", re.I)
_REPLACED = re.compile(r"^\W{0,9}(?:replaced|ersetzt)\W{0,9}:(.+?)(?:→|->|=>)(.+)$", re.I)
_LABEL = re.compile(
    r"^(?:([^:：]{1,40})[:：]\s*|((?:the )?user\s(?:\w{1,12}\s){1,3}(?:to|that))\s)(?=\S)", re.I
)
_LONGEST_NOTE = 6  # words behind the last citation that are no instruction
_NOTE = re.compile(r"\s*(?:[(（\[][^()（）\[\]]{1,80}[)）\]]|\s[—–-]\s[^—–]{1,80})\W{0,3}$")
_QUOTED = re.compile(r"[“„«「『\"]([^“”„«»「」『』\"]{2,400})[”“»」』\"]")


@dataclass(frozen=True, slots=True)
class NamedLine:
    """A line as it was `written`, and what it names: `words` of the user's and the numbers of
    messages. Of one that names what was taken back, `old` is that, `old_numbers` its messages."""

    written: str
    words: str
    numbers: Sequence[int]
    old: str = ""
    old_numbers: Sequence[int] = ()

    @property
    def readings(self) -> Iterator[str]:
        """What the user's words may be: all, or without what the model may have put around them.
        Nothing that denies is taken off."""
        yield self.words
        *_, last = (None, *_CITED.finditer(self.written))
        if last and len(self.written[last.end() :].split()) <= _LONGEST_NOTE and not self.old:
            yield strip_marks(self.written[: last.start()])
        yield from (match[1] for match in _QUOTED.finditer(self.words))
        shorter = self.words
        if (label := _LABEL.match(shorter)) and not is_denied(label[0]):
            shorter = shorter[label.end() :]
            yield shorter
        if (note := _NOTE.search(shorter)) and not is_denied(note[0]):
            yield shorter[: note.start()]


def read_lines(section: Sequence[str]) -> list[str]:
    """The lines of a section, whichever form its list has, without bullets and without those that
    name nothing; what is indented below a line belongs to it."""
    lines: list[str] = []
    for line in section:
        if _RULE.match(line) or names_nothing(line):
            continue
        if bullet := _BULLET.match(line):
            lines.append(" ".join(bullet[1].split()))
        elif lines and _INDENTED.match(line):
            lines[-1] += " " + " ".join(line.split())
        else:
            lines.append(" ".join(line.split()))
    return lines


def names_nothing(line: str) -> bool:
    """Whether a line says that there is nothing to name."""
    return _NONE.match(line) is not None


def parse_line(line: str) -> NamedLine:
    """What a line names."""
    line = " ".join(line.split())
    if len(line) > LONGEST_LINE:
        line = line[:LONGEST_LINE].rsplit(" ", 1)[0]
    if replaced := _REPLACED.match(line):
        old, new = replaced.groups()
        numbers = find_numbers(line)
        return NamedLine(line, strip_marks(new), numbers[-1:], strip_marks(old), numbers[:-1])
    if not (retired := _RETIRED.match(line)):
        return NamedLine(line, strip_marks(line), find_numbers(line))
    old, *rest = _BY.split(retired[1], maxsplit=1)
    by = rest[0] if rest else ""
    numbers = find_numbers(old)
    last = find_numbers(by) or numbers[1:]
    return NamedLine(line, strip_marks(by), last, strip_marks(old) or "?", numbers[:1])


def find_numbers(line: str) -> list[int]:
    """Numbers of the messages that a line cites, in its order."""
    cited = [match[0] for match in _CITED.finditer(line)]
    found = [_NUMBER.findall(each) or _DIGITS.findall(each) for each in cited]
    return list(dict.fromkeys(int(number) for each in found for number in each))


def strip_marks(text: str) -> str:
    """What is written without citations and the marks around it."""
    return _CITED.sub(" ", text).strip(_AROUND + ".!。！।…").strip(_AROUND)
