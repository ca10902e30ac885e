"""A summary cut out of the transcript by rule, under the headings that the request asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
# A summary must be smaller than its source; a short one may be 2,000 characters at most.
SHARE_OF_SOURCE = 0.35
SHORT_CHARACTERS = 1900
# (characters of a quotation, bullets under a heading), from ample to scarce.
SIZES = ((180, 8), (140, 6), (100, 5), (80, 4), (60, 3), (40, 2), (30, 1))

_ENTRY = re.compile(r"^\[#(\d+) (\w+)\][ \t]*\n?", re.MULTILINE)
_OUTLINE = re.compile(r"^\W*#(\d+)\W+(user|assistant)\b\W*(.*)$", re.MULTILINE)
_TAGGED = r"<{tag}\b[^>]*>\s*(.*?)\s*(?:</{tag}>|\Z)"
_DEMO_LEAD = re.compile(r"^(>.*|You wrote .*|Your request .*|Demo reply, .*|\s*)$")
_WISH = re.compile(
    r"\b(want|need|must|should|please|always|never|only|prefer|goal|at (most|least)|make sure)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(decid\w+|let'?s|we('ll| will)|agreed?|chose|choose|instead|go with|settled?)\b",
    re.IGNORECASE,
)
_ARTIFACT = re.compile(
    r"https?://[^\s)>\]\"”]+|(?<![\w/])[~.]?/?(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.(?:py|md|js|ts|html|css|"
    r"json|toml|ya?ml|txt|csv|sql|sh|pdf|png)\b"
)
_ERROR = re.compile(r"\b(\w*error|\w*exception|traceback|failed|failure|broken|crash\w*)\b", re.I)


@dataclass(frozen=True)
class SourceMessage:
    """One message of the source."""

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
    outlined = [SourceMessage(int(n), role, text) for n, role, text in _OUTLINE.findall(last)]
    if outlined:
        return outlined
    messages = [(str(m.get("role")), join_text(m)) for m in messages_of(body)[:-1]]
    return [SourceMessage(0, role, text) for role, text in messages if text]


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
    users = [entry for entry in entries if entry.role == "user" and entry.text]
    replies = [entry for entry in entries if entry.role == "assistant" and entry.text]

    def quote(lead: str, chosen: Sequence[SourceMessage]) -> list[str]:
        return [f"- {lead}: “{_short(e.text, quotation)}”{_cite(e)}" for e in chosen]

    if "overview" in heading:
        return _overview(users, replies, quotation)
    if "goal" in heading or "constraint" in heading:
        return quote("The user", _first_and(users, lambda e: bool(_WISH.search(e.text))))
    if "decision" in heading:
        return quote("The user", [e for e in users if _DECISION.search(e.text)])
    if "progress" in heading or "done" in heading:
        return [f"- The demo answered: {_topic(e.text, quotation)}{_cite(e)}" for e in replies]
    if "file" in heading or "artifact" in heading:
        return _artifacts(users)
    if "error" in heading:
        return quote("The user", [e for e in users if _ERROR.search(e.text)])
    if "question" in heading:
        return quote("Answered by the demo only", [e for e in users if e.text.endswith("?")])
    if "current" in heading or "next" in heading:
        return quote("The user's last message", users[-1:])
    return []


def _overview(
    users: Sequence[SourceMessage], replies: Sequence[SourceMessage], quotation: int
) -> list[str]:
    if not users:
        return []
    first = users[0]
    return [
        f"- A conversation with the demo, {len(users) + len(replies)} messages long; no AI took "
        f"part, and this record was cut out of them by rule.{_cite(first, users[-1])}",
        f"- It began with: “{_short(first.text, quotation)}”{_cite(first)}",
    ]


def _first_and(
    entries: Sequence[SourceMessage], wanted: Callable[[SourceMessage], bool]
) -> list[SourceMessage]:
    return [entry for index, entry in enumerate(entries) if index == 0 or wanted(entry)]


def _artifacts(users: Sequence[SourceMessage]) -> list[str]:
    found: dict[str, SourceMessage] = {}
    for entry in users:
        for name in _ARTIFACT.findall(entry.text):
            found.setdefault(name.rstrip(".,;:"), entry)
    return [f"- `{name}`{_cite(entry)}" for name, entry in found.items()]


def _topic(reply: str, quotation: int) -> str:
    """What a reply of the demo was about: its first heading, else its first own line."""
    lines = [line.strip() for line in reply.splitlines()]
    named = next((line.lstrip("# ") for line in lines if line.startswith("#")), "")
    return _short(
        named or next((line for line in lines if not _DEMO_LEAD.match(line)), ""), quotation
    )


def _short(value: str, limit: int) -> str:
    """The text on one line, cut between words: half a name or number would be a false one."""
    words = " ".join(value.split())
    if len(words) <= limit:
        return words
    head = words[: limit + 1].rpartition(" ")[0]
    return f"{head} …" if head else "…"


def _cite(*entries: SourceMessage) -> str:
    numbers = dict.fromkeys(f"#{entry.number}" for entry in entries if entry.number)
    return f" [{' '.join(numbers)}]" if numbers else ""
