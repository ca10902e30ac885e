"""Sessions of the coding agent pi as conversations to import: all branches, files as files."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from django.utils.translation import gettext, gettext_noop

from agent.messages import Block, result_text
from chat.importers.answers import Part, find_message, fold
from chat.importers.archive import Archive, Member
from chat.importers.content import bytes_file
from chat.importers.elements import Element, find_members
from chat.importers.errors import BrokenArchive
from chat.importers.pi import (
    BrokenLine,
    Entry,
    Problem,
    list_entries,
    read_message,
)
from chat.importers.records import Imported, ImportedConversation, ImportedFile, Skipped, Tally
from chat.importers.trees import Node, Tree, read_time

NAME = "pi"
LABEL = "pi"

NO_MESSAGES = gettext_noop("it holds no messages")
ABOUT_THE_AGENT = gettext_noop("about the agent itself")
NO_IMAGE = gettext_noop("an image without data")


def is_mine(element: Element) -> bool:
    if element.get("type") == "session":
        return "cwd" in element or "version" in element
    message = element.get("message")
    return element.get("type") == "message" and isinstance(message, dict) and "role" in message


def read(archive: Archive) -> Iterator[Imported]:
    """Each file is one conversation, with all of its branches."""
    for member in find_members(archive, is_mine):
        problems: list[Problem] = []
        try:
            entries = list_entries(_read_lines(member, archive.limits.element), problems)
        except BrokenArchive as broken:
            yield Skipped(member.label, str(broken))
            continue
        conversation = _read_conversation(entries, problems)
        if conversation.messages:
            yield conversation
        else:
            yield Skipped(member.label, NO_MESSAGES)


def _read_lines(member: Member, most: int) -> Iterator[bytes]:
    with member.open() as stream:
        while line := stream.readline(most):
            if len(line) == most:
                raise BrokenArchive(
                    gettext("{name}: a line of it is larger than {most} MB.").format(
                        name=member.label, most=most // 10**6
                    )
                )
            yield line


def _read_conversation(
    entries: Sequence[tuple[int, Entry]], problems: Sequence[Problem]
) -> ImportedConversation:
    tally = Tally()
    for problem in problems:
        tally.dropped[problem.reason] += 1
    nodes: list[Node[Part | None]] = []
    for number, entry in entries:
        before = nodes[-1].id if nodes else None
        parent = str(entry["parentId"]) if "parentId" in entry else before
        part, at = _read_part(entry, tally)
        tally.kept += part is not None
        nodes.append(Node(str(entry.get("id") or number), parent, part, at))
    whole = Tree(nodes)
    kept = whole.keep(lambda node: node.value is not None)
    messages = fold(
        Tree(Node(n.id, n.parent, n.value, n.at) for n in kept.nodes.values() if n.value)
    )
    head = next((entry for _, entry in entries if entry["type"] == "session"), {})
    last = kept.find_nearest(nodes[-1].id, whole) if nodes else None
    return ImportedConversation(
        origin=str(head.get("id") or _make_origin(entries)),
        messages=messages,
        leaf=find_message(messages, last),
        model=next((m.model for m in reversed(messages) if m.model), ""),
        created_at=read_time(head.get("timestamp")),
        tally=tally,
    )


def _read_part(entry: Entry, tally: Tally) -> tuple[Part | None, datetime | None]:
    """What an entry says, and when."""
    if entry["type"] != "message":
        tally.hidden[ABOUT_THE_AGENT] += 1
        return None, read_time(entry.get("timestamp"))
    try:
        message, left_out = read_message(entry)
    except BrokenLine as broken:
        tally.dropped[str(broken)] += 1
        return None, None
    for reason in left_out:
        tally.dropped[reason] += 1
    raw = entry["message"]
    part = Part(
        "tool" if message.holds_results else message.role,
        status=message.status,
        stop_reason=message.stop_reason,
        model=message.model,
        error=message.error,
    )
    for block in message.blocks:
        if block["type"] == "tool_result":
            part.text, part.call = result_text(block), block["tool_use_id"]
            part.name, part.is_error = str(raw.get("toolName") or ""), "is_error" in block
            content = block.get("content")
            images = content if isinstance(content, list) else []
            part.files = _list_images(images, tally)
        elif block["type"] == "image":
            part.files += _list_images([block], tally)
        elif block["type"] != "redacted_thinking":
            block.pop("signature", None)
            part.blocks.append(block)
    if part.role == "user" and not (part.blocks or part.files):
        return None, None  # a picture that was counted
    return part, message.at


def _list_images(blocks: Sequence[Block], tally: Tally) -> list[ImportedFile]:
    files = []
    for block in blocks:
        if block["type"] != "image":
            continue
        try:
            data = base64.b64decode(block["source"]["data"], validate=True)
        except ValueError:
            tally.dropped[NO_IMAGE] += 1
            continue
        media_type = block["source"]["media_type"]
        name = f"image.{media_type.rpartition('/')[2]}"
        files.append(bytes_file(name, data, media_type))
    return files


def _make_origin(entries: Sequence[tuple[int, Entry]]) -> str:
    """For a session without an id: the same as long as it begins with the same entry."""
    data = json.dumps(entries[:1], sort_keys=True).encode()
    return f"sha256-{hashlib.sha256(data).hexdigest()[:40]}"
