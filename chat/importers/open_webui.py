"""Open WebUI's export: an array of chats, new ones as trees and old ones as lists. Pure.

An administrator's export holds the chats of all users. It is refused: nothing in it says which of
them the person is who imports it, and nobody is given the conversations of others.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop

from chat.importers.archive import Archive, Member
from chat.importers.content import as_list, as_object, as_text
from chat.importers.elements import find_members, read_elements
from chat.importers.errors import Unimportable
from chat.importers.open_webui_messages import read_answer, read_prompt
from chat.importers.records import (
    Imported,
    ImportedConversation,
    ImportedMessage,
    ImportedProject,
    Skipped,
    Tally,
)
from chat.importers.rounds import list_messages
from chat.importers.trees import Node, Tree, read_time

NAME = "open_webui"
LABEL = "Open WebUI"

NO_MESSAGES = gettext_noop("it holds no messages")
BROKEN = gettext_noop("it has neither a history nor a list of messages")
EMPTY = gettext_noop("an empty message")
SYSTEM = gettext_noop("a system prompt")
STRANGER = gettext_noop("a message of neither a person nor the model")

Entry = dict[str, Any]


def is_mine(element: Mapping[str, Any]) -> bool:
    chat = element.get("chat")
    return isinstance(chat, dict) and ("history" in chat or "messages" in chat)


def read(archive: Archive) -> Iterator[Imported]:
    """Raises Unimportable where the chats are of several users."""
    members = find_members(archive, is_mine)
    folders = _name_folders(archive, members)
    for folder, name in folders.items():
        yield ImportedProject(folder, name)
    for found in read_elements(archive, members):
        yield found if isinstance(found, Skipped) else read_conversation(*found)


def _name_folders(archive: Archive, members: list[Member]) -> dict[str, str]:
    """The folders of the chats, numbered: their names are not in the export."""
    users = set()
    folders: dict[str, str] = {}
    for found in read_elements(archive, members):
        if isinstance(found, Skipped):
            continue
        element = found[1]
        users.add(as_text(element.get("user_id")))
        if folder := as_text(element.get("folder_id")):
            folders.setdefault(folder, f"Folder {len(folders) + 1}")
    if len(users - {""}) > 1:
        raise Unimportable(
            gettext(
                "This export holds the chats of {count} people, as an administrator gets it. Each "
                "of them can import their own: in Open WebUI under Settings, Data Controls, Export "
                "Chats."
            ).format(count=len(users - {""}))
        )
    return folders


# --- Conversations --------------------------------------------------------------------------------


def read_conversation(name: str, element: Mapping[str, Any]) -> ImportedConversation | Skipped:
    """One chat; `name` is what a report calls it where it has no title."""
    chat = as_object(element.get("chat"))
    title = (as_text(element.get("title")) or as_text(chat.get("title"))).strip()
    history = as_object(chat.get("history"))
    listed = [entry for entry in as_list(chat.get("messages")) if isinstance(entry, dict)]
    nodes = list(_list_nodes(history, listed))
    if not nodes and not isinstance(chat.get("messages"), list) and not history:
        return Skipped(title or name, BROKEN)
    tally = Tally()
    begun = read_time(element.get("created_at")) or read_time(chat.get("timestamp"))
    models = [each for each in as_list(chat.get("models")) if isinstance(each, str)]
    only_model = models[0] if len(models) == 1 else ""
    system = [as_text(chat.get("system"))]

    def read_node(node: Node[Entry]) -> list[ImportedMessage]:
        entry = node.value
        message = ImportedMessage(node.id, None, "user", [], origins=[node.id])
        match entry.get("role"):
            case "user":
                read_prompt(message, entry, tally)
                messages = [message] if message.blocks or message.files else []
            case "assistant":
                message.model = as_text(entry.get("model")) or only_model
                message.stop_reason = "end_turn"
                messages = read_answer(message, entry, tally)
            case "system":
                system.append(as_text(entry.get("content")))
                tally.hidden[SYSTEM] += 1
                return []
            case _:
                tally.dropped[STRANGER] += 1
                return []
        if messages:
            tally.kept += 1
        else:
            tally.dropped[EMPTY] += 1
        return messages

    last = as_text(listed[-1].get("id")) if listed else ""
    named = (element.get("current_message_id"), history.get("currentId"), history.get("current_id"))
    tree = Tree(nodes, begun=begun)
    leaf = next((as_text(each) for each in (*named, last) if as_text(each) in tree.nodes), None)
    messages, end = list_messages(tree, read_node, leaf=leaf)
    if not messages:
        return Skipped(title or name, NO_MESSAGES, candidate=bool(nodes))
    return ImportedConversation(
        origin=as_text(element.get("id")) or as_text(chat.get("id")) or name,
        messages=messages,
        leaf=end,
        title=title,
        model=models[0] if models else "",
        system_prompt=next(filter(str.strip, system), ""),
        created_at=begun,
        updated_at=read_time(element.get("updated_at")),
        project=as_text(element.get("folder_id")) or None,
        archived=element.get("archived") is True,
        pinned=element.get("pinned") is True,
        account=as_text(element.get("user_id")),
        tally=tally,
    )


def _list_nodes(history: Mapping[str, Any], listed: list[Entry]) -> Iterator[Node[Entry]]:
    """The tree of the history, or else the list of the messages, one after the other."""
    tree = as_object(history.get("messages"))
    if tree:
        for identity, entry in tree.items():
            if isinstance(entry, dict):
                yield _node(as_text(entry.get("id")) or identity, entry, entry.get("parentId"))
        return
    before = None
    for number, entry in enumerate(listed, 1):
        identity = as_text(entry.get("id")) or f"message {number}"
        yield _node(identity, entry, entry.get("parentId", before))
        before = identity


def _node(identity: str, entry: Entry, parent: Any) -> Node[Entry]:
    return Node(identity, as_text(parent) or None, entry, read_time(entry.get("timestamp")))
