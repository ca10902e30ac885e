"""A conversation as Markdown, to be read by people and by other programs, page by page."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils.html import escape

from agent.attachments import find_reference
from agent.messages import block_text, file_name, is_call, is_file, result_text
from chat.db.threads import in_db
from chat.models import Attachment, Compaction, Conversation, Message
from chat.queries.export import read_messages
from chat.queries.summary_versions import load_current_summary

Link = Callable[[str, str], str]  # from the id and the name of a file to its address


def _link_nowhere(file: str, name: str) -> str:
    return ""


async def export_markdown(
    conversation: Conversation, link: Link = _link_nowhere
) -> AsyncIterator[str]:
    """The shown branch with its summary, and after it each other branch from where it begins.
    `link`: where a file is; "": it is only named."""
    about = await in_db(_describe, conversation)
    yield _front_matter(about)
    yield f"\n# {conversation}\n"
    current = await in_db(load_current_summary, conversation)
    async for row in read_messages(conversation, active=True):
        yield _write_message(row, link)
        if current and current.through_id == row.pk:
            yield _write_summary(current)
    async for text in _write_branches(conversation, link):
        yield text


def _describe(conversation: Conversation) -> dict[str, Any]:
    answers = conversation.messages.filter(role=Message.Role.ASSISTANT).exclude(model="")
    return {
        "title": str(conversation),
        "created": conversation.created_at,
        "updated": conversation.updated_at,
        "models": sorted(set(answers.values_list("model", flat=True)) | {conversation.model}),
        "messages": conversation.messages.count(),
        "project": conversation.project.name if conversation.project else "",
        "system_prompt": conversation.system_prompt,
    }


def _front_matter(about: dict[str, Any]) -> str:
    """YAML: every text is written as JSON, which is YAML too."""
    lines = [f"{name}: {_as_yaml(value)}" for name, value in about.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def _as_yaml(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(value, ensure_ascii=False)


def _write_summary(version: Compaction) -> str:
    """A section of its own: the model gets it in place of what stands before it."""
    return f"\n## Summary of #{version.first.number} to #{version.through.number}\n\n" + _fold(
        "What the model gets in place of these messages", f"\n{version.summary}\n"
    )


async def _write_branches(conversation: Conversation, link: Link) -> AsyncIterator[str]:
    """Messages that are not shown, those of one branch together as they were written."""
    last = 0
    begun = False
    async for row in read_messages(conversation, active=False):
        if not begun:
            begun = True
            yield "\n# Other branches\n"
        before = row.parent.number if row.parent else 0
        if before != last or not last:
            place = f"after #{before}" if before else "from the beginning"
            yield f"\n## Branch {place}\n"
        yield _write_message(row, link, level=3)
        last = row.number


def _write_message(row: Message, link: Link, level: int = 2) -> str:
    who = "You" if row.role == Message.Role.USER else row.model or "Assistant"
    marks = [f"{row.created_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"]
    if row.left_out:
        marks.append("left out of the context")
    if row.status in (Message.Status.INTERRUPTED, Message.Status.FAILED):
        marks.append(str(row.status))
    parts = [_write_block(block, link) for block in _list_blocks(row)]
    body = "\n\n".join(filter(None, parts)) or row.text
    return f"\n{'#' * level} #{row.number} {who}, {', '.join(marks)}\n\n{body}\n"


def _list_blocks(row: Message) -> Sequence[dict[str, Any]]:
    blocks = row.blocks if isinstance(row.blocks, list) else []
    return [block for block in blocks if isinstance(block, dict)]


def _write_block(block: dict[str, Any], link: Link) -> str:
    kind = str(block.get("type", ""))
    if is_call(block):
        called = json.dumps(block.get("input"), ensure_ascii=False, indent=1)
        return _fold(f"Tool call: {block.get('name', 'tool')}", _fence(called, "json"))
    if kind.endswith("tool_result"):
        return _fold("Result of a tool", _fence(result_text(block)))
    if kind == "thinking":
        return _fold("Thinking", f"\n{block.get('thinking', '')}\n")
    if is_file(block):
        return _write_file(block, link)
    return block_text(block)


def _write_file(block: dict[str, Any], link: Link) -> str:
    source = find_reference(block)
    name = str(block.get("title") or "file")
    address = link(str(source.get("id")), name) if source else ""
    if not address:
        return file_name(block)
    label = name.replace("[", "\\[").replace("]", "\\]")
    return f"{'!' if block.get('type') == 'image' else ''}[{label}](<{address}>)"


def _fold(title: str, text: str) -> str:
    return f"<details>\n<summary>{escape(title)}</summary>\n{text}\n</details>"


def _fence(text: str, language: str = "") -> str:
    """As code, with a fence that the text does not hold."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"\n{fence}{language}\n{text}\n{fence}\n"


def link_within(files: dict[str, Attachment], name: Callable[[Attachment], str]) -> Link:
    """Links to the files of an archive, from a folder in it."""
    return lambda pk, _: f"../{name(files[pk])}" if pk in files else ""
