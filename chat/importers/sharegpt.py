"""Conversations in the form of ShareGPT, in which many data sets are: lists of who said what."""

import hashlib
import json
from collections.abc import Iterator, Mapping

from django.utils.translation import gettext_noop

from chat.importers.answers import Part, fold
from chat.importers.archive import Archive
from chat.importers.content import as_text, text_block
from chat.importers.elements import Element, find_members, read_elements
from chat.importers.records import Imported, ImportedConversation, Skipped, Tally
from chat.importers.trees import Node, Tree

NAME = "sharegpt"
LABEL = "ShareGPT"
PROMPTS = ("human", "user", "prompter")
ANSWERS = ("gpt", "assistant", "chatgpt", "bing", "bard", "model", "chatbot")
RESULTS = ("tool", "function", "observation", "function_response")

NO_MESSAGES = gettext_noop("it holds no messages")
EMPTY = gettext_noop("empty")
NO_NODE = gettext_noop("not an object")
SYSTEM = gettext_noop("a system message")
UNKNOWN_ROLE = gettext_noop("of an unknown author")


def is_mine(element: Element) -> bool:
    turns = element.get("conversations")
    if not isinstance(turns, list):
        return False
    return any(isinstance(turn, Mapping) and "from" in turn and "value" in turn for turn in turns)


def read(archive: Archive) -> Iterator[Imported]:
    for found in read_elements(archive, find_members(archive, is_mine)):
        if isinstance(found, Skipped):
            yield found
            continue
        name, element = found
        conversation = _read_conversation(element) if is_mine(element) else None
        if conversation and conversation.messages:
            yield conversation
        else:
            yield Skipped(as_text(element.get("id")) or name, NO_MESSAGES)


def _read_conversation(element: Element) -> ImportedConversation:
    tally = Tally()
    system = [as_text(element.get("system"))]
    nodes: list[Node[Part]] = []
    for number, turn in enumerate(element["conversations"], 1):
        if not isinstance(turn, Mapping):
            tally.dropped[NO_NODE] += 1
            continue
        author, text = as_text(turn.get("from")).lower(), as_text(turn.get("value"))
        part = _read_part(author, text)
        if author == "system":
            tally.hidden[SYSTEM] += 1
            system.append(text)
        elif part is None:
            tally.dropped[EMPTY if not text.strip() else UNKNOWN_ROLE] += 1
        else:
            tally.kept += 1
            nodes.append(Node(str(number), nodes[-1].id if nodes else None, part))
    messages = fold(Tree(nodes))
    return ImportedConversation(
        origin=_make_origin(element),
        messages=messages,
        leaf=messages[-1].origin if messages else None,
        title=as_text(element.get("title")),
        model=as_text(element.get("model")),
        system_prompt="\n\n".join(text for text in system if text.strip()),
        tally=tally,
    )


def _read_part(author: str, text: str) -> Part | None:
    blocks = [text_block(text)]
    if not text.strip():
        return None
    if author in PROMPTS:
        return Part("user", blocks)
    if author in ANSWERS:
        return Part("assistant", blocks, stop_reason="end_turn")
    return Part("tool", text=text) if author in RESULTS else None


def _make_origin(element: Element) -> str:
    """Its id with its first words: ids such as `identity_0` are of one file only."""
    first = element["conversations"][0]
    data = json.dumps([element.get("id"), first], sort_keys=True).encode()
    return f"sha256-{hashlib.sha256(data).hexdigest()[:40]}"
