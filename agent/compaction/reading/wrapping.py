"""What a model says around a record: its thinking, tags, and a word to its reader at the end."""

import re
from collections.abc import Sequence

from agent.audit.evidence import FENCE
from agent.compaction.reading.notation import is_none, is_rule, write_bullet

# Names of tags: those of thinking, and those that a model may write around its answer.
_THOUGHT = "think|thinking|thoughts?|analysis|reasoning|reflection|scratchpad|planning|monologue"
_AROUND = "summary|record|conversation_record|chapter|output|answer|final|result|response"
# A tag of thinking begins a line; it may be closed anywhere.
_THINKING = re.compile(rf"[ \t]*<({_THOUGHT})\b[^<>]{{0,80}}>", re.I)
_THOUGHT_ENDS = re.compile(rf"</({_THOUGHT})>", re.I)
_LONE_END = re.compile(rf"[ \t]*(?:[^\s•*+-].*)?</(?:{_THOUGHT})>[ \t]*$", re.I)
# How some models mark the parts of a reply; the last one is the answer.
_CHANNEL = "<|message|>"
_SPECIAL = re.compile(r"<\|[a-z_/]{2,20}\|>")
_CLOSING = re.compile(rf"(?:</(?:{_AROUND})>[ \t]*)+$", re.I)
_BULLET = re.compile(r"[ \t]*- ")
_CITED = re.compile(r"\d[\])）］】][*_.。]{0,3}[ \t]*$")
LONGEST_EPILOGUE = 1_000  # characters: what is longer is no leave-taking, and may not go unseen
# How a model takes leave of its reader, in the ten most written languages.
_EPILOGUE = re.compile(
    r"[\W_]*(?:let me know|feel free|i hope|hope (?:this|that)|is there anything|would you like"
    r"|please (?:let|tell)|(?:this is the )?end of (?:the )?(?:record|summary)"
    r"|this (?:record|summary)"
    r"|lass(?:en sie)? (?:es )?mich|sag(?:en sie)? mir|avísame|házmelo|dime si|me avise|avise-me"
    r"|diga-me|faites-moi|dites-moi|dis-moi|n['’]hésite|дайте знать|сообщите|если (?:вам|нужно|что)"
    r"|如有|如果您|如果你|如需|请告诉|ご不明|ご質問|何か|必要で|他に|यदि आप|अगर आप|मुझे बता|أخبرني"
    r"|إذا كن|هل تريد)",
    re.I,
)


def drop_thoughts(lines: Sequence[str]) -> list[str]:
    """The lines without thinking that is no code, in tags or in a channel of its own. Where only
    the end is marked, all before that goes; where only the beginning is, the record begins with its
    first heading."""
    marked = (n for n, line in enumerate(lines) if _CHANNEL in line and line.startswith("<|"))
    if (channel := max(marked, default=-1)) >= 0:
        answer = lines[channel].rpartition(_CHANNEL)[2]
        lines = [_SPECIAL.sub("", line) for line in (answer, *lines[channel + 1 :])]
    ends = {
        end[1].lower(): n for n, line in enumerate(lines) for end in _THOUGHT_ENDS.finditer(line)
    }
    kept: list[str] = []
    thought, code = "", False
    for number, line in enumerate(lines):
        opening = None if thought or code else _THINKING.match(line)
        if opening and ends.get(opening[1].lower(), -1) >= number:
            thought = opening[1].lower()
        if thought:
            closing = [end for end in _THOUGHT_ENDS.finditer(line) if end[1].lower() == thought]
            if closing:
                thought = ""
                kept.append(line[closing[-1].end() :])
            continue
        code ^= FENCE.match(line) is not None
        kept.append(line)
    code_lines = mark_code(kept)
    ends_at = (n for n, line in enumerate(kept) if not code_lines[n] and _LONE_END.match(line))
    return kept[next(ends_at, -1) + 1 :]


def mark_code(lines: Sequence[str]) -> list[bool]:
    """Which lines are code or its fence."""
    code, inside = [], False
    for line in lines:
        fence = FENCE.match(line) is not None
        code.append(inside or fence)
        inside ^= fence
    return code


def drop_epilogue(lines: Sequence[str]) -> list[str]:
    """The last section without what a model says when it is done: paragraphs that cite nothing
    behind a bullet that is complete, "None." or a line across, or that speak to a reader; and what
    closes a tag around the record."""
    kept = _cut_at_closing_tag(lines)
    code = mark_code(kept)
    end = begin = len(kept)
    ruled = False
    while begin and not code[begin - 1] and not _is_statement(kept[begin - 1]):
        begin -= 1
        spoken = _EPILOGUE.match(kept[begin]) and (not begin or not kept[begin - 1].strip())
        if (ruled := ruled or is_rule(kept[begin])) or spoken:
            end = begin
    before = kept[begin - 1] if begin else ""
    listed = _BULLET.match(write_bullet(before)) and _CITED.search(before)
    end = begin if listed or is_none(before) else end
    return kept[:end] if sum(map(len, kept[end:])) <= LONGEST_EPILOGUE else kept


def _is_statement(line: str) -> bool:
    """Whether a line belongs to a list or a table, cites a message or says "None."."""
    if is_rule(line) or not line.strip():
        return False
    listed = line[0] in " \t|" or _BULLET.match(write_bullet(line))
    return bool(listed or _CITED.search(line) or is_none(line))


def _cut_at_closing_tag(lines: Sequence[str]) -> list[str]:
    code = mark_code(lines)
    for index, line in enumerate(lines):
        if not code[index] and _THINKING.match(line):
            return list(lines[:index])
        if not code[index] and (tag := _CLOSING.search(line)):
            before = line[: tag.start()].rstrip()
            return [*lines[:index], *([before] if before else [])]
    return list(lines)
