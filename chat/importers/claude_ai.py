"""Claude.ai's export: conversations, projects and memory, in one zip or several. Pure.

Conversations do not say to which project they belong, and nothing is guessed: projects come by
themselves. What a browser extension saved as one object is read too, and may name its project.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from textwrap import wrap
from typing import Any

from django.utils.translation import gettext_noop

from chat.importers.archive import Archive
from chat.importers.claude_ai_artifacts import UNPLAYED, Artifacts, Place
from chat.importers.claude_ai_messages import (
    ROLES,
    list_calls,
    read_answer,
    read_parts,
    read_prompt,
)
from chat.importers.content import as_list, as_object, as_text, text_file
from chat.importers.elements import NOT_AN_OBJECT, find_members, read_elements
from chat.importers.records import (
    Imported,
    ImportedConversation,
    ImportedFile,
    ImportedMessage,
    ImportedProject,
    Offered,
    Skipped,
    Tally,
)
from chat.importers.rounds import list_messages
from chat.importers.trees import Node, Tree, read_time

NAME = "claude_ai"
LABEL = "Claude.ai"

# Zero but for the marks of a UUID's version: what stands for "no message before".
_ROOT = re.compile(r"0{8}-0{4}-[04]0{3}-[08]0{3}-0{12}")
MOST_OF_A_FACT = 500  # characters, as `chat.services.library.memories` keeps them

NO_MESSAGES = gettext_noop("it holds no messages")
BROKEN = gettext_noop("it has no list of messages")
DRAWN = gettext_noop("a chat of Claude Design, which is made of drawings")
SAMPLE = gettext_noop("a project that Claude.ai made as a sample")
EMPTY = gettext_noop("an empty message")
STRANGER = gettext_noop("a message of neither a person nor the model")

STOPPED = {"user_canceled", "user_cancelled", "stopped"}

Entry = dict[str, Any]
Files = dict[Place, list[ImportedFile]]


def is_mine(element: Mapping[str, Any]) -> bool:
    return any(
        fits(element) for fits in (_is_conversation, _is_project, _is_memory, _is_design_chat)
    )


def _is_conversation(element: Mapping[str, Any]) -> bool:
    return "chat_messages" in element


def _is_project(element: Mapping[str, Any]) -> bool:
    return "uuid" in element and "prompt_template" in element


def _is_memory(element: Mapping[str, Any]) -> bool:
    return "account_uuid" in element and any(
        name.endswith(("_memory", "_memories")) for name in element
    )


def _is_design_chat(element: Mapping[str, Any]) -> bool:
    return "messages" in element and "project" in element and "conversationId" not in element


def read(archive: Archive) -> Iterator[Imported]:
    """Projects first: what is offered may belong to one."""
    members = find_members(archive, is_mine)
    for fits in (_is_project, _is_memory, _is_design_chat):
        for found in read_elements(archive, find_members(archive, fits)):
            if not isinstance(found, Skipped) and fits(found[1]):
                yield from _read_other(*found)
    for found in read_elements(archive, members):
        if isinstance(found, Skipped):
            yield found
        elif _is_conversation(found[1]) or not is_mine(found[1]):
            yield read_conversation(*found)


def _read_other(name: str, element: Mapping[str, Any]) -> Iterator[Imported]:
    if _is_project(element):
        yield _read_project(element)
    elif _is_memory(element):
        yield from _read_memory(element)
    else:
        title = as_text(element.get("name")) or as_text(element.get("title")) or name
        yield Skipped(title, DRAWN, candidate=False)


# --- Conversations --------------------------------------------------------------------------------


def read_conversation(name: str, element: Mapping[str, Any]) -> ImportedConversation | Skipped:
    """One conversation; `name` is what a report calls it where it has no title."""
    title = as_text(element.get("name")).strip()
    entries = element.get("chat_messages")
    if not isinstance(entries, list):
        return Skipped(title or name, BROKEN)
    tally = Tally()
    begun = read_time(element.get("created_at"))
    model = as_text(element.get("model"))
    tree = _read_tree(entries, begun, tally)
    files = _play_artifacts(tree, tally)

    def read_node(node: Node[Entry]) -> list[ImportedMessage]:
        entry = node.value
        role = ROLES.get(as_text(entry.get("sender")))
        if role is None:
            tally.dropped[STRANGER] += 1
            return []
        message = ImportedMessage(node.id, None, role, [], origins=[node.id])
        parts = read_parts(entry)
        if role == "user":
            read_prompt(message, entry, parts, tally)
            messages = [message] if message.blocks or message.files else []
        else:
            message.model = as_text(entry.get("model")) or model
            message.stop_reason = "end_turn"
            if as_text(entry.get("stop_reason")) in STOPPED:
                message.status, message.stop_reason = "interrupted", "stopped"
            messages = read_answer(message, entry, parts, files, tally)
        if messages:
            tally.kept += 1
        else:
            tally.dropped[EMPTY] += 1
        return messages

    leaf = as_text(element.get("current_leaf_message_uuid")) or None
    messages, end = list_messages(tree, read_node, leaf=leaf)
    if not messages:
        return Skipped(title or name, NO_MESSAGES, candidate=bool(entries))
    return ImportedConversation(
        origin=as_text(element.get("uuid")) or name,
        messages=messages,
        leaf=end,
        title=title,
        model=model,
        created_at=begun,
        updated_at=read_time(element.get("updated_at")),
        project=as_text(element.get("project_uuid")) or None,
        pinned=element.get("is_starred") is True,
        account=as_text(as_object(element.get("account")).get("uuid")),
        tally=tally,
    )


def _read_tree(entries: Sequence[Any], begun: datetime | None, tally: Tally) -> Tree[Entry]:
    """The messages by their parents; one that names none stands after the one before it in the
    file."""
    known = [entry for entry in entries if isinstance(entry, dict)]
    if len(known) < len(entries):
        tally.dropped[NOT_AN_OBJECT] += len(entries) - len(known)
    places = [entry.get("index") for entry in known]
    if all(isinstance(place, int) for place in places):
        known.sort(key=lambda entry: entry["index"])
    nodes: list[Node[Entry]] = []
    for place, entry in enumerate(known, 1):
        named = as_text(entry.get("parent_message_uuid"))
        parent = named or (nodes[-1].id if nodes else None)
        if _ROOT.fullmatch(named):
            parent = None
        identity = as_text(entry.get("uuid")) or f"message {place}"
        nodes.append(Node(identity, parent, entry, read_time(entry.get("created_at"))))
    return Tree(nodes, begun=begun)


def _play_artifacts(tree: Tree[Entry], tally: Tally) -> Files:
    artifacts = Artifacts(tree.count_children())
    for node in tree.nodes.values():
        artifacts.follow(node.id, node.parent, list_calls(read_parts(node.value)))
    files = artifacts.finish()
    if artifacts.misfits:
        tally.dropped[UNPLAYED] += artifacts.misfits
    return files


# --- What is not a conversation -------------------------------------------------------------------


def _read_project(element: Mapping[str, Any]) -> ImportedProject | Skipped:
    name = as_text(element.get("name")).strip()
    if element.get("is_starter_project") is True:
        return Skipped(name, SAMPLE, candidate=False)
    docs = map(as_object, as_list(element.get("docs")))
    return ImportedProject(
        origin=as_text(element["uuid"]),
        name=name,
        instructions=as_text(element.get("prompt_template")),
        files=[
            text_file(as_text(doc.get("filename")) or "file.txt", as_text(doc.get("content")))
            for doc in docs
        ],
        created_at=read_time(element.get("created_at")),
    )


def _read_memory(element: Mapping[str, Any]) -> Iterator[Offered]:
    """What Claude.ai remembers, a paragraph or an item of a list each."""
    for text in _list_facts(as_text(element.get("conversations_memory"))):
        yield Offered("memory", text)
    of_projects = as_object(element.get("project_memories"))
    for project, memory in of_projects.items():
        for text in _list_facts(as_text(memory)):
            yield Offered("memory", text, project)


def _list_facts(memory: str) -> Iterator[str]:
    """The statements of a memory in Markdown, short enough for one fact each. Headings name no
    fact."""
    for line in memory.splitlines():
        text = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).strip()
        if not text or text.startswith("#") or re.fullmatch(r"\*\*[^*]+\*\*:?|-{3,}", text):
            continue
        if len(text) <= MOST_OF_A_FACT:
            yield text
        else:
            sentences = re.split(r"(?<=[.!?])\s+", text)
            short = (each for sentence in sentences for each in wrap(sentence, MOST_OF_A_FACT))
            yield from _join_sentences(short)


def _join_sentences(sentences: Iterable[str]) -> Iterator[str]:
    """As many in one text as fit."""
    text = ""
    for sentence in sentences:
        if text and len(text) + 1 + len(sentence) > MOST_OF_A_FACT:
            yield text
            text = ""
        text = f"{text} {sentence}".strip()
    if text:
        yield text
