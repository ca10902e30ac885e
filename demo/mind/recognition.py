"""Which kind of request this is: chat, summary or title. Recognised from its text alone."""

from __future__ import annotations

import re
from typing import Any

from demo.api.recording import Kind, join_text
from demo.api.tokens import Body, blocks_of

SUMMARY_MARK = "# Conversation Summary"
HEADING = re.compile(r"^##[ \t]+(\S.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
# Fenced text in an instruction is material; the headings in it are not asked for.
_MATERIAL = re.compile(
    r"<(transcript|conversation|messages|history|source|outline|written|chapters?|\w*summary)\b[^>]*>"
    r".*?(?:</\1>|\Z)",
    re.DOTALL,
)
_TITLE = re.compile(
    r"\btitle\b.{0,120}\b(conversation|chat)\b|\b(conversation|chat)\b.{0,120}\btitle\b",
    re.IGNORECASE | re.DOTALL,
)
_FEWEST_HEADINGS = 3
_LONGEST_TITLE_INSTRUCTION = 2000


def recognise_kind(body: Body) -> Kind:
    """Chat, unless a summary or a title is asked for."""
    if summary_instruction(body) is not None:
        return "summary"
    if _asks_for_title(body):
        return "title"
    return "chat"


def summary_instruction(body: Body) -> str | None:
    """The instruction to summarise without the material it is given; None if there is none."""
    users = [m for m in messages_of(body) if m.get("role") == "user"]
    if not users:
        return None
    last = join_text(users[-1])
    system = _own_system_text(body)
    # A corrective retry follows the transcript with the first answer and what was wrong with it.
    if "<transcript" in last or (len(users) <= 3 and "<transcript" in join_text(users[0])):
        return strip_material("\n\n".join([system, *map(join_text, users)]))
    if _demands_summary(strip_material(last)):
        return strip_material(last)
    if not body.get("tools") and _demands_summary(strip_material(system)):
        return strip_material(system + "\n\n" + last)
    return None


def messages_of(body: Body) -> list[dict[str, Any]]:
    """The messages that are objects."""
    return [m for m in body.get("messages") or [] if isinstance(m, dict)]


def strip_material(text: str) -> str:
    """The text without its fenced transcripts, summaries and outlines."""
    return _MATERIAL.sub("", text)


def _own_system_text(body: Body) -> str:
    """The system prompt without the summary that earlier compactions put into it."""
    texts = [str(block.get("text", "")) for block in blocks_of(body.get("system") or [])]
    return "\n\n".join(text for text in texts if SUMMARY_MARK not in text)


def _demands_summary(text: str) -> bool:
    return "summar" in text.lower() and len(HEADING.findall(text)) >= _FEWEST_HEADINGS


def _asks_for_title(body: Body) -> bool:
    users = [m for m in messages_of(body) if m.get("role") == "user"]
    if body.get("tools") or not users:
        return False
    instruction = strip_material(join_text(users[-1]))
    return bool(_TITLE.search(instruction[-_LONGEST_TITLE_INSTRUCTION:]))
