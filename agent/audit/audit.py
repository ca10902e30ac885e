"""Checking a summary by code against the messages that it was written from.

A bullet is looked up in the messages that it cites (`agent.audit.grounding`). What fails there
and is not borne out by a quote (`agent.audit.quotes`) is marked, and dropped only if
nothing supports it. What only others asked for becomes a fact.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agent.audit.citations import check_with_mended_citations
from agent.audit.evidence import FENCE, UNVERIFIED, Source, find_citations, remove_citations
from agent.audit.grounding import BULLET, REPLACED, Verdict, check_sentence, shares_content
from agent.audit.quotes import NO_QUOTES, SENTENCE_END, Found, GivenQuotes, Quote
from agent.context.summary import FACTS, KNOWN_HEADINGS
from agent.messages import AgentMessage

# A line that may say what only an earlier chapter said.
_FROM_EARLIER = re.compile(rf"{re.escape(UNVERIFIED)}|^\s*[-*+] Replaced: ")
_FORM = {heading.casefold() for heading in KNOWN_HEADINGS}


class Mistake(NamedTuple):
    """A statement as it was written, and what is wrong with it."""

    statement: str
    why: str

    def __str__(self) -> str:
        return f"{self.statement} ({self.why})"


@dataclass
class Findings:
    """What the audit did, for the administrator: texts as they were written. `left_out` are the
    numbers of messages that no model has read whole, `unread_messages` and `unread_tokens` how many
    they are and what it has not read of them. `given_back` is what the model was asked to correct;
    `wrong`, which is not stored, what it could correct. `cut` is what was thrown away to keep a
    hard limit, `too_long` of a text without one, `left` what a merge took out of the record, and
    `ended` the current work of the chapter before, of which no request holds anything from now on.
    `quotes` bear out what would have failed. `unwritten` are the headings under which something may
    be missing, because a reply was cut at its limit."""

    dropped: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    bullets: int = 0
    left_out: list[str] = field(default_factory=list)
    unread_messages: int = 0
    unread_tokens: int = 0
    given_back: list[str] = field(default_factory=list)
    wrong: list[Mistake] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    @classmethod
    def of_unread(cls, unread: Mapping[int, int]) -> "Findings":
        """Tokens that were not read, by the numbers of their messages."""
        numbers = [f"#{number}" for number in unread]
        return cls(
            left_out=numbers, unread_messages=len(unread), unread_tokens=sum(unread.values())
        )

    @property
    def failed(self) -> int:
        """How many statements did not pass."""
        return len(self.dropped) + len(self.unverified)

    def __add__(self, other: "Findings") -> "Findings":
        """Those of several texts; what came up in two of them counts once."""
        return Findings(
            list(dict.fromkeys([*self.dropped, *other.dropped])),
            list(dict.fromkeys([*self.unverified, *other.unverified])),
            self.bullets + other.bullets,
            list(dict.fromkeys([*self.left_out, *other.left_out])),
            self.unread_messages + other.unread_messages,
            self.unread_tokens + other.unread_tokens,
            list(dict.fromkeys([*self.given_back, *other.given_back])),
            cut=[*self.cut, *other.cut],
            too_long=[*self.too_long, *other.too_long],
            left=[*self.left, *other.left],
            quotes=[*self.quotes, *other.quotes],
            unwritten=list(dict.fromkeys([*self.unwritten, *other.unwritten])),
            ended=[*self.ended, *other.ended],
        )

    def keep(self, said: str, found: Iterable[Found]) -> None:
        """Note the quotes that bear a statement out."""
        self.quotes += [Quote(said, each.message.number, each.words) for each in found]

    def as_dict(self) -> dict[str, object]:
        return {
            "bullets": self.bullets,
            "dropped": self.dropped,
            "unverified": self.unverified,
            "left_out": self.left_out,
            "unread_messages": self.unread_messages,
            "unread_tokens": self.unread_tokens,
            "given_back": self.given_back,
            "cut": [*self.cut, *self.too_long],
            "left": self.left,
            "borne_out": list(dict.fromkeys(quote.said for quote in self.quotes)),
            "unwritten": self.unwritten,
            "ended": self.ended,
        }


def audit(text: str, source: Source, given: GivenQuotes = NO_QUOTES) -> tuple[str, Findings]:
    """A summary's text, with everything dropped or marked that neither the source supports nor a
    quote that is `given` for it. What a quote is given for is never dropped.

    The form's headings and "None." stay. A heading that lost all its bullets says "None.". Code is
    kept as it is, with the mark behind it.
    """
    findings = Findings()
    lines: list[str] = []
    facts: list[str] = []  # what is moved there
    heading = ""
    for line, *code in _split_blocks(text):
        stripped = line.strip()
        if code:
            lines += _check_copied([line, *code], source, given, findings)
        elif _is_form_heading(line):
            heading = stripped[3:].strip().casefold()
            lines.append(line)
        elif not stripped or _is_none(stripped):
            lines.append(line)
        elif BULLET.match(line):
            mended, verdict = check_with_mended_citations(line, source, heading)
            found = given.find_support(line.strip(), heading, verdict, source)
            verdict = Verdict(True) if found else verdict
            kept = _rewrite(mended, verdict, found, source, given, findings)
            (lines if verdict.typed else facts).extend(kept)
        elif checked := _check_paragraph(line, source, given, findings):
            lines.append(checked)
    return "\n".join(_with_none(_with_facts(lines, facts))), findings


def _split_blocks(text: str) -> Iterator[list[str]]:
    """Line by line, but code in one piece, with its fence. Of an odd number of fences one is not
    closed: the first before the form's next heading holds no code, and what follows is looked
    up."""
    lines, index = text.splitlines(), 0
    left = sum(FENCE.match(line) is not None for line in lines)
    while index < len(lines):
        line, start = lines[index], index
        index += 1
        if not FENCE.match(line):
            yield [line]
            continue
        after = range(index, len(lines))
        odd = left % 2 == 1
        ends = (n for n in after if FENCE.match(lines[n]) or (odd and _is_form_heading(lines[n])))
        end = next(ends, None)
        left -= 1
        if end is not None and FENCE.match(lines[end]):
            index, left = end + 1, left - 1
            yield lines[start:index]
        elif " " in (written := line.strip("`~ ")):  # more than a language
            yield [written]


def _is_form_heading(line: str) -> bool:
    """Not one of the model's own, which may say anything."""
    return line.strip().casefold() in _FORM


def is_empty(text: str) -> bool:
    """Whether a chapter says nothing: headings and "None." only."""
    lines = (line.strip() for line in text.splitlines())
    return all(not line or line.startswith("#") or _is_none(line) for line in lines)


def _is_none(line: str) -> bool:
    return line.lstrip("-*+ ").rstrip(".").casefold() == "none"


def _rewrite(
    line: str,
    verdict: Verdict,
    found: Sequence[Found],
    source: Source,
    given: GivenQuotes,
    findings: Findings,
) -> list[str]:
    """A bullet as it may stay: itself, marked, or nothing. It cites the quotes that were `found`
    for it."""
    findings.bullets += 1
    if verdict.wrong:
        findings.wrong.append(Mistake(line.strip(), verdict.wrong))
    if not (verdict.supported or verdict.held or line.strip() in given):
        findings.dropped.append(line.strip())
        return []
    # What was replaced may stand in an earlier chapter, which the form asks to name too.
    replaced = REPLACED.match(line) is not None
    numbers = find_citations(line)
    cited = [n for n in numbers if n in source or (replaced and source.is_before(n))]
    cited = list(dict.fromkeys([*cited, *(each.message.number for each in found)]))
    suffix = f" [{' '.join(f'#{number}' for number in cited)}]" if cited else ""
    if not verdict.supported:
        findings.unverified.append(line.strip())
        suffix += f" {UNVERIFIED}"
    kept = remove_citations(line).replace(UNVERIFIED, "").rstrip() + suffix
    findings.keep(kept.strip(), found)
    return [kept]


def _check_paragraph(line: str, source: Source, given: GivenQuotes, findings: Findings) -> str:
    """What may stay of a paragraph, which is marked at its end."""
    kept, marked = [], False
    for sentence in SENTENCE_END.split(line.replace(UNVERIFIED, "").strip()):
        supported = _check_sentence(sentence, source, given, findings)
        if supported is None:
            findings.dropped.append(sentence)
            continue
        if not supported:
            findings.unverified.append(sentence)
            marked = True
        kept.append(sentence)
    return " ".join([*kept, UNVERIFIED] if marked else kept)


def _check_copied(
    block: Sequence[str], source: Source, given: GivenQuotes, findings: Findings
) -> list[str]:
    """Code as it is, marked behind its fence: in it a mark would change what it says, and a gap
    too."""
    marked = False
    for line in block[1:-1]:
        if not _check_sentence(line.strip(), source, given, findings):
            findings.unverified.append(line.strip())
            marked = True
    return [*block, UNVERIFIED] if marked else list(block)


def _check_sentence(
    said: str, source: Source, given: GivenQuotes, findings: Findings
) -> bool | None:
    """Whether what cites nothing is borne out; None where nothing supports it at all."""
    verdict = check_sentence(said, source)
    if verdict.supported:
        return True
    found = given.find_support(said, "", verdict, source)
    if found:
        findings.keep(said, found)
        return True
    findings.wrong.append(Mistake(said, verdict.wrong))
    return False if verdict.held or said in given else None


def _with_facts(lines: list[str], facts: Sequence[str]) -> list[str]:
    """The lines with some more under the heading of facts."""
    if not facts:
        return lines
    wanted = FACTS.casefold()
    at = next((i for i, line in enumerate(lines) if line.strip().casefold() == wanted), None)
    if at is None:
        return [*lines, FACTS, *facts]
    rest = lines[at + 1 :]
    while rest and (not rest[0].strip() or _is_none(rest[0].strip())):
        rest = rest[1:]
    return [*lines[: at + 1], *facts, *rest]


def rests_on(text: str, *messages: AgentMessage) -> bool:
    """Whether a summary's text, written from others, may say what one of the messages says: a line
    cites it, or shares a value or content words with it and tells of what came earlier, or of what
    no message supports."""
    numbers = {message.number for message in messages}
    return any(
        not numbers.isdisjoint(find_citations(line))
        or (_FROM_EARLIER.search(line) and any(shares_content(line, each) for each in messages))
        for line in text.splitlines()
    )


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
