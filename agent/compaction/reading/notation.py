"""Bullets, citations and "None." of a record, however a model writes them, in the one form that the
rest of the code reads: "- ", "[#12 #15]" and "None."."""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from agent.compaction.reading.headings import split_words

# Marks of a list; those that no hyphen is may stand before the word at once.
_BULLET = re.compile(r"^([ \t]*)(?:[-*+–—−－·][ \t]+|[•‣▪◦●○■□・∙⁃][ \t]*|\d{1,2}[.)][ \t]+)(?=\S)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_GROUP = re.compile(r"[\[(（［【〔]([^\[\]()（）［］【】〔〕]{1,200})[\])）］】〕]")
_ROUND = "(（"
# What follows a statement's citation; or a side of what was replaced or taken back.
_END = re.compile(r"[ \t]*(?:[.。．!！?？;；,，、]|→|->|=>|by:|$)")
_HEADER = re.compile(r"#(\d{1,9})[ \t]+(?:user|assistant)\b.*")  # of a message in the request
_MESSAGE = re.compile(
    r"(?:messages?|msgs?|mensajes?|mensage(?:m|ns)|nachricht(?:en)?|сообщени[ейя]|消息|訊息|讯息"
    r"|メッセージ|संदेश|(?:ال)?رسالة|(?:ال)?رسائل|sources?|see|refs?|no|nr|№|from|in|user|assistant|quelle|fuente|fonte)\.?[:：]?",
    re.I,
)
# Marks around a citation at a statement's end: **[#12]**, `[#12]`, [[#12]], [#12](#m12).
_CITED = r"\[[#＃][^\[\]()`*_<>]{1,80}\]"
_WRAPPED = re.compile(
    rf"(?P<mark>\*{{1,3}}|_{{1,3}}|`)(?P<a>{_CITED})(?P=mark)|\[(?P<b>{_CITED})\]"
    rf"|(?P<c>{_CITED})\(#[^()\s]{{0,40}}\)"
)
_ESCAPED = re.compile(r"\\?\[\\?#([\d #,–-]{1,80})\\?\]")
_OTHER_BRACKETS = re.compile(r"(?:<sup>|\{)[ \t]*(#\d[^<>{}]{0,80}?)[ \t]*(?:</sup>|\})")
_BARE = re.compile(
    r"(?<![ \t])[ \t]{1,80}(?:[—–-][ \t]{0,9})?"
    r"(#\d{1,9}(?:[ \t]{0,9}[,;–-]?[ \t]{0,9}#\d{1,9}){0,20})(?=[.。]?$)"
)
_BARE_FIRST = re.compile(r"^([ \t]*- )(#\d{1,9}(?:,? #\d{1,9}){0,20})[ \t]*[:：—–-][ \t]+(.+)$")
_NUMBER = re.compile(r"\^?[#＃]?[ \t]*(\d{1,9})(?:[ \t]*[-–—~][ \t]*[#＃]?(\d{1,9}))?")
_BETWEEN = re.compile(r"[\s,，、;；&+/]+|(?:and|und|et|y|e|и|和|と|और|و)\b")
_NAME = re.compile(r"[A-Za-z0-9_)\]]")  # before an index or the arguments of a call

_NONE = (
    "none|n/a|nothing|none yet|nothing yet|none so far|not applicable|ninguno|ninguna|nada|nenhum"
    "|nenhuma|aucun|aucune|rien|néant|keine|keiner|keines|nichts|entfällt|нет|ничего|отсутствуют"
    "|无|無|没有|暂无|なし|特になし|ありません|कोई नहीं|कुछ नहीं|لا شيء|لا يوجد"
)
_NONE_WORDS = frozenset(" ".join(split_words(each)) for each in _NONE.split("|"))
_MARKS = {"-", "–", "—", "*", "…", "...", "/"}  # alone
_LONGEST_NONE = 60  # characters


class Covered(NamedTuple):
    """The numbers of the messages that a record is about."""

    first: int
    last: int

    def may_cite(self, numbers: Sequence[int]) -> bool:
        """Whether these may be numbers of messages: of one that it is about, and of earlier
        ones."""
        return max(numbers) >= self.first and all(0 < n <= self.last for n in numbers)


class _Kind(IntEnum):
    """How a group of numbers is written, from what is a citation anywhere to what seldom is."""

    SQUARE = 0  # [#12]
    NAMED = 1  # (#12), (message 12)
    NUMBERS = 2  # [12]
    ROUND = 3  # (12)


class _Group(NamedTuple):
    start: int
    end: int
    kind: _Kind
    text: str  # as a citation


def is_rule(line: str) -> bool:
    """Whether a line is only one across the page."""
    return _RULE.fullmatch(line) is not None


def is_none(body: str) -> bool:
    """Whether a section says that it has nothing, and nothing else."""
    if len(body) > _LONGEST_NONE:
        return False
    return " ".join(split_words(body)) in _NONE_WORDS or body.strip() in _MARKS


def write_bullet(line: str) -> str:
    """A line with a hyphen for its bullet, if it has one."""
    return line if is_rule(line) else _BULLET.sub(r"\1- ", line, count=1)


def unwrap_citations(lines: Sequence[str], covered: Covered) -> list[str]:
    """The lines of a record with their citations in square brackets, and in nothing else. A number
    without brackets is one where at least two bullets, and half of them, end or begin with one."""
    lines = [_ESCAPED.sub(r"[#\1]", line) for line in lines]
    lines = [_OTHER_BRACKETS.sub(r"[\1]", _WRAPPED.sub(_unwrap, line)) for line in lines]
    bare = [_cite_bare(line, covered) for line in lines]
    changed = sum(a != b for a, b in zip(lines, bare, strict=True))
    bullets = sum("- " in line[:40] for line in lines)
    return bare if changed >= 2 and 2 * changed >= bullets else lines


def _unwrap(match: re.Match[str]) -> str:
    return match["a"] or match["b"] or match["c"]


def _cite_bare(line: str, covered: Covered) -> str:
    cited = _BARE.sub(r" [\1]", _BARE_FIRST.sub(r"\1\3 [\2]", line.rstrip()))
    return cited if _find_groups(cited, covered) and not _find_groups(line, covered) else line


def cites_in_round_brackets(lines: Sequence[str], covered: Covered) -> bool:
    """Whether a record cites as in "(12)": at least two of its bullets, and half of them, end so,
    and nothing in it is cited otherwise."""
    groups = [_find_groups(line, covered) for line in lines]
    if any(group.kind != _Kind.ROUND for found in groups for group in found):
        return False
    bullets = [found for line, found in zip(lines, groups, strict=True) if "- " in line[:40]]
    cited = sum(map(bool, bullets))
    return cited >= 2 and 2 * cited >= len(bullets)


def write_citations(line: str, covered: Covered, *, round_brackets: bool) -> str:
    """A line with its citations in the one form. Of several ways to write them in it only the
    plainest counts, and `round_brackets` without a sign in them only where those are citations."""
    groups = _find_groups(line, covered)
    kind = min((group.kind for group in groups), default=_Kind.ROUND)
    if kind == _Kind.ROUND and not round_brackets:
        return line
    written, at = "", 0
    for group in groups:
        if group.kind == kind:
            before = (written + line[at : group.start]).rstrip(" \t")
            written = f"{before} {group.text}" if before else group.text
            at = group.end
    return written + line[at:]


def _find_groups(line: str, covered: Covered) -> list[_Group]:
    """The groups of message numbers in a line. Where no sign tells, one ends the statement."""
    groups = list(_read_groups(line, covered))
    at_end = {each.kind for each in groups if _END.match(line, each.end)}
    return [each for each in groups if each.kind == _Kind.SQUARE or each.kind in at_end]


def _read_groups(line: str, covered: Covered) -> Iterator[_Group]:
    for match in _GROUP.finditer(line):
        numbers = _read_numbers(match[1].strip())
        if not numbers or not covered.may_cite([n for pair in numbers for n in pair]):
            continue
        signed = "#" in match[1] or "＃" in match[1]
        if signed and match[0][0] not in _ROUND:
            kind = _Kind.SQUARE
        elif signed or any(map(str.isalpha, match[1])):
            kind = _Kind.NAMED
        elif match.start() and _NAME.match(line[match.start() - 1]):
            continue
        else:
            kind = _Kind.ROUND if match[0][0] in _ROUND else _Kind.NUMBERS
        text = " ".join(f"#{a}–#{b}" if a != b else f"#{a}" for a, b in numbers)
        yield _Group(match.start(), match.end(), kind, f"[{text}]")


def _read_numbers(inside: str) -> list[tuple[int, int]]:
    """The message numbers of a group, a range with both ends; none where it says anything else."""
    if header := _HEADER.fullmatch(inside):
        return [(int(header[1]), int(header[1]))]
    numbers: list[tuple[int, int]] = []
    at = 0
    while at < len(inside):
        if number := _NUMBER.match(inside, at):
            numbers.append((int(number[1]), int(number[2] or number[1])))
        found = number or _MESSAGE.match(inside, at) or _BETWEEN.match(inside, at)
        if not found:
            return []
        at = found.end()
    return numbers
