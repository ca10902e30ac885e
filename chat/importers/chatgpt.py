"""Exports of ChatGPT: a zip with `conversations.json`, since the middle of 2026 with
`conversations-000.json` and so on; or such a JSON file alone."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext_noop

from chat.importers.answers import Part, find_message, fold
from chat.importers.archive import Archive
from chat.importers.chatgpt_canvas import find_canvases
from chat.importers.chatgpt_content import Content, Left
from chat.importers.chatgpt_files import ExportFiles
from chat.importers.content import as_object, as_text
from chat.importers.elements import Element, find_members, read_elements
from chat.importers.records import (
    Imported,
    ImportedConversation,
    ImportedMessage,
    ImportedProject,
    Offered,
    Skipped,
    Tally,
)
from chat.importers.trees import Node, Tree, read_time

NAME = "chatgpt"
LABEL = "ChatGPT"
PROJECT = "g-p-"  # how the ids of projects begin; "g-" alone is a custom GPT
BEGINNING_OF_TIME = datetime.min.replace(tzinfo=UTC)

NO_MESSAGES = gettext_noop("it holds no messages")
NOTHING_SHOWN = gettext_noop("nothing in it is shown: it holds no more than settings and drafts")
NO_NODE = gettext_noop("not an object")


def is_mine(element: Element) -> bool:
    return isinstance(element.get("mapping"), Mapping)


def read(archive: Archive) -> Iterator[Imported]:
    """Conversations, each after the project it is in; at the end what is offered of the user's
    instructions and memory: the newest of each."""
    files = ExportFiles(archive)
    yield from files.problems
    offers = _Offers()
    projects: set[str] = set()
    for found in read_elements(archive, find_members(archive, is_mine)):
        if isinstance(found, Skipped):
            yield found
            continue
        name, element = found
        if not (is_mine(element) and element["mapping"]):
            yield Skipped(_title(element) or name, NO_MESSAGES)
            continue
        conversation = _read_conversation(element, files, offers)
        if not conversation.messages:
            yield Skipped(conversation.title or name, NOTHING_SHOWN)
            continue
        if conversation.project and conversation.project not in projects:
            projects.add(conversation.project)
            yield ImportedProject(conversation.project)
        yield conversation
    yield from offers.list()


class _Offers:
    """The newest custom instructions and memory: conversations repeat those of their days."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[datetime, Offered]] = {}

    def add(self, offered: Offered, at: datetime | None) -> None:
        at = at or BEGINNING_OF_TIME
        if offered.kind not in self._newest or at >= self._newest[offered.kind][0]:
            self._newest[offered.kind] = (at, offered)

    def list(self) -> Iterator[Offered]:
        for _, offered in self._newest.values():
            yield offered


def _read_conversation(
    element: Element, files: ExportFiles, offers: _Offers
) -> ImportedConversation:
    created = read_time(element.get("create_time"))
    updated = read_time(element.get("update_time"))
    model = as_text(element.get("default_model_slug"))
    tally = Tally()
    raw = Tree(_take_nodes(as_object(element["mapping"]), tally), begun=created or updated)
    content = Content(files, tally, model)
    parts: dict[str, Part] = {}
    for node in raw.nodes.values():
        before = parts.get(node.parent or "")
        part = content.read(node.id, node.value, before)
        if isinstance(part, Left):
            part.count(tally)
        else:
            parts[node.id] = part
            tally.kept += 1
    for offered in content.offered:
        offers.add(offered, updated or created)
    named = as_text(element.get("current_node")) or None
    kept = raw.keep(lambda node: node.id in parts)
    leaf = kept.find_leaf(named, raw)
    for place, canvas in find_canvases(raw, shown=raw.path_to(raw.find_leaf(named)), tally=tally):
        if near := kept.find_nearest(place, raw):
            parts[near].files.append(canvas)
    messages = fold(
        Tree(Node(node.id, node.parent, parts[node.id], node.at) for node in kept.nodes.values())
    )
    return ImportedConversation(
        origin=as_text(element.get("conversation_id"))
        or as_text(element.get("id"))
        or _make_origin(element, messages),
        messages=messages,
        leaf=find_message(messages, leaf),
        title=_title(element),
        model=model or next((m.model for m in reversed(messages) if m.model), ""),
        created_at=created,
        updated_at=updated,
        project=_find_project(element),
        archived=element.get("is_archived") is True,
        pinned=element.get("is_starred") is True,
        # Ids of conversations are unique over all accounts, and not every export says whose it is.
        account="",
        tally=tally,
    )


def _take_nodes(mapping: dict[str, Any], tally: Tally) -> Iterator[Node[Mapping[str, Any]]]:
    """The nodes, which leave the mapping: a large one is not kept until the next one is read."""
    for identity in list(mapping):
        raw = mapping.pop(identity)
        if not isinstance(raw, Mapping):
            tally.dropped[NO_NODE] += 1
            continue
        value = as_object(raw.get("message"))
        at = read_time(value.get("create_time"))
        parent = raw.get("parent")
        yield Node(identity, parent if isinstance(parent, str) else None, value, at)


def _find_project(element: Element) -> str | None:
    ids = (as_text(element.get(key)) for key in ("conversation_template_id", "gizmo_id"))
    return next((each for each in ids if each.startswith(PROJECT)), None)


def _make_origin(element: Element, messages: list[ImportedMessage]) -> str:
    """For a conversation without an id: the same whenever it is imported, and as long as it begins
    with the same messages."""
    beginning = [element.get("create_time"), _title(element), messages[:1] and messages[0].blocks]
    data = json.dumps(beginning, sort_keys=True).encode()
    return f"sha256-{hashlib.sha256(data).hexdigest()[:40]}"


def _title(element: Element) -> str:
    return as_text(element.get("title"))
