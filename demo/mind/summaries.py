"""A summary cut out of the transcript by rule, under the headings that the request asks for.

It quotes whole sentences of the user's, each under the one heading that it fits best.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from demo.api.recording import join_text
from demo.api.tokens import Body
from demo.mind.recognition import HEADING, messages_of, summary_instruction

HEADINGS = (
    "Overview",
    "Goal and constraints",
    "Decisions",
    "Progress",
    "Files and artifacts",
    "Errors and fixes",
    "Open questions",
    "Current work and next step",
)
NOTHING = "None."
BY_RULE = "No AI took part: the demo cut this record out of the conversation by rule."
# A summary must be smaller than its source; a short one may be 2,000 characters at most.
SHARE_OF_SOURCE = 0.35
SHORT_CHARACTERS = 1900
# (characters of a quotation, bullets under a heading), from ample to scarce.
SIZES = ((300, 8), (240, 5), (200, 3), (160, 2), (120, 1), (60, 1), (30, 1))
FEWEST_WORDS = 3  # of a sentence; "Hi!" is quoted with what follows it

_ENTRY = re.compile(r"^\[#(\d+) (\w+)(?: · [^\]\n]*)?\][ \t]*\n?", re.MULTILINE)
CUT_HERE = re.compile(r"…| \(\d+ of \d+\)$")  # a line of an outline goes on otherwise
_OUTLINE = re.compile(r"^\W*#(\d+)\W+(user|assistant)\b:? *(.*)$", re.MULTILINE)
_TAGGED = r"<{tag}\b[^>]*>\s*(.*?)\s*(?:</{tag}>|\Z)"
_WISH = re.compile(
    r"\b(want|need|must|should|please|always|never|only|prefer|goal|at (most|least)|make sure)\b",
    re.IGNORECASE,
)
_STANDING = re.compile(r"\b(always|never|from now on|I prefer)\b", re.IGNORECASE)
_DECISION = re.compile(
    r"\b(decid\w+|let'?s|we('ll| will)|agreed?|chose|choose|instead|go with|settled?)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+(?=[^\sa-z])|(?<=[。！？])(?=\S)|\n+")
_ARTIFACT = re.compile(
    r"https?://[^\s)>\]\"”]+|(?<![\w/])[~.]?/?(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.(?:py|md|js|ts|html|css|"
    r"json|toml|ya?ml|txt|csv|sql|sh|pdf|png)\b"
)
_ERROR = re.compile(r"\b(\w*error|\w*exception|traceback|failed|failure|broken|crash\w*)\b", re.I)


# What a sentence of the user's is; the first that fits names its heading.
_KINDS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("error", _ERROR.search),
    ("question", re.compile(r"(?:\S+\s+){3,}\S*\?$|？$").search),
    ("decision", _DECISION.search),
    ("constraint", _WISH.search),
    ("fact", re.compile(r"\d").search),
)


@dataclass(frozen=True)
class SourceMessage:
    """One message of the source, or a sentence of it."""

    number: int
    role: str
    text: str


def compose_summary(body: Body) -> str:
    """Markdown with each heading that the request demands, "None." where there is nothing.

    Bullets end with the numbers of the messages they rest on, and only with numbers that the source
    shows.
    """
    instruction = summary_instruction(body) or ""
    headings = [h.strip() for h in HEADING.findall(instruction)] or list(HEADINGS)
    entries = read_entries(body)
    previous = _previous(body) if "replaces" in instruction else {}
    source = sum(len(entry.text) for entry in entries)
    room = max(SHORT_CHARACTERS, int(source * SHARE_OF_SOURCE))
    room = min(room, int(body.get("max_tokens") or 1024) * 4 - 100)
    written = ""
    for quotation, bullets in SIZES:
        written = _render(headings, entries, previous, quotation, bullets)
        if len(written.encode()) <= room:
            break
    return written


def read_entries(body: Body) -> list[SourceMessage]:
    """The messages to summarise: of the transcript, else of an outline, else of the request."""
    last = "\n\n".join(join_text(m) for m in messages_of(body) if m.get("role") == "user")
    transcript = re.search(_TAGGED.format(tag="transcript"), last, re.DOTALL)
    if transcript is not None:
        return _numbered(transcript[1])
    messages = [(str(m.get("role")), join_text(m)) for m in messages_of(body)[:-1]]
    unnumbered = [SourceMessage(0, role, text) for role, text in messages if text]
    outlined = [SourceMessage(int(n), role, text) for n, role, text in _OUTLINE.findall(last)]
    return _in_full(outlined, unnumbered) or unnumbered


def _in_full(
    outlined: Sequence[SourceMessage], messages: Sequence[SourceMessage]
) -> list[SourceMessage]:
    """The messages of an outline, which has only their openings, with the text that they have in
    the request."""
    found = []
    at = 0
    for line in outlined:
        opening = CUT_HERE.split(line.text)[0]
        for index, message in enumerate(messages[at:], start=at + 1):
            if message.role == line.role and _flat(message.text).startswith(opening):
                line, at = replace(line, text=message.text), index
                break
        found.append(line)
    return found


def _numbered(transcript: str) -> list[SourceMessage]:
    parts = _ENTRY.split(transcript)[1:]
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [SourceMessage(int(number), role, text.strip()) for number, role, text in triples]


def _previous(body: Body) -> dict[str, list[str]]:
    """The bullets of the summary that this one is to replace, by heading in lower case."""
    texts = "\n\n".join(join_text(m) for m in messages_of(body))
    found: dict[str, list[str]] = {}
    heading = ""
    for fenced in re.findall(_TAGGED.format(tag="previous_summary"), texts, re.DOTALL):
        for line in fenced.splitlines():
            if line.startswith("## "):
                heading = line[3:].strip().lower()
            elif line.startswith("- "):
                found.setdefault(heading, []).append(line)
    return found


def _render(
    headings: Sequence[str],
    entries: Sequence[SourceMessage],
    previous: dict[str, list[str]],
    quotation: int,
    limit: int,
) -> str:
    sections = []
    for heading in headings:
        bullets = _bullets(heading.lower(), entries, quotation)
        # What is newest matters most where there is no room for all.
        kept = previous.get(heading.lower(), [])[-limit:] + bullets[-limit:]
        sections.append(f"## {heading}\n" + ("\n".join(kept) or NOTHING))
    return "\n\n".join(sections)


def _bullets(heading: str, entries: Sequence[SourceMessage], quotation: int) -> list[str]:
    sentences = [each for entry in entries if entry.role == "user" for each in _sentences(entry)]

    def quote(kind: str) -> list[str]:
        return _quote([s for s in sentences if _kind(s.text) == kind], quotation)

    if "overview" in heading:
        return [BY_RULE, *_quote(sentences[:1], quotation)]
    if "instruction" in heading:  # word for word, because they are looked up in the messages
        return [f"- {s.text}{_cite(s)}" for s in sentences if _STANDING.search(s.text)]
    if "progress" in heading or "done" in heading:
        return _shown(entry for entry in entries if entry.role == "assistant")
    if "file" in heading or "artifact" in heading:
        return _artifacts(sentences)
    if "fact" in heading:
        return quote("fact")
    if "goal" in heading or "constraint" in heading:
        return quote("constraint")
    if "decision" in heading:
        return quote("decision")
    if "error" in heading:
        return quote("error")
    return quote("question") if "question" in heading else []


def _sentences(entry: SourceMessage) -> list[SourceMessage]:
    """A message's sentences, each in one line; a very short one with its neighbour."""
    found: list[str] = []
    for part in map(_flat, _SENTENCE_END.split(entry.text)):
        if found and min(len(found[-1].split()), len(part.split())) < FEWEST_WORDS:
            found[-1] += f" {part}"
        elif part:
            found.append(part)
    return [replace(entry, text=text) for text in found]


def _kind(sentence: str) -> str:
    return next((kind for kind, fits in _KINDS if fits(sentence)), "")


def _quote(sentences: Sequence[SourceMessage], limit: int) -> list[str]:
    """The sentences as bullets, whole. Where none is short enough, the last, cut between words."""
    whole = [s for s in sentences if len(s.text) <= limit]
    bullets = [f"- The user: “{s.text}”{_cite(s)}" for s in whole]
    if not whole:
        bullets = [f"- The user: “{_short(s.text, limit)}” …{_cite(s)}" for s in sentences[-1:]]
    return bullets


def _shown(replies: Iterable[SourceMessage]) -> list[str]:
    """What the demo's replies showed: each one's first heading."""
    named = ((reply, re.search(r"^#+ +(.+)$", reply.text, re.M)) for reply in replies)
    return [
        f"- Done: the demo showed “{heading[1]}”{_cite(reply)}"
        for reply, heading in named
        if heading
    ]


def _artifacts(users: Sequence[SourceMessage]) -> list[str]:
    found: dict[str, SourceMessage] = {}
    for entry in users:
        for name in _ARTIFACT.findall(entry.text):
            found.setdefault(name.rstrip(".,;:"), entry)
    return [f"- `{name}`{_cite(entry)}" for name, entry in found.items()]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(words: str, limit: int) -> str:
    """A text's beginning, cut between words: half a name or number would be a false one."""
    return words[: limit + 1].rpartition(" ")[0] or "…"


def _cite(*entries: SourceMessage) -> str:
    numbers = dict.fromkeys(f"#{entry.number}" for entry in entries if entry.number)
    return f" [{' '.join(numbers)}]" if numbers else ""
