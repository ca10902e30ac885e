"""LibreChat's export: one conversation a file, its messages in a list or nested. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_noop

from chat.importers.archive import Archive
from chat.importers.content import (
    as_list,
    as_object,
    as_text,
    name_missing,
    quote_summary,
    text_block,
    unknown_part,
)
from chat.importers.elements import find_members, read_elements
from chat.importers.json_bounds import DEPTH, Unreadable, clean_json
from chat.importers.records import Imported, ImportedConversation, ImportedMessage, Skipped, Tally
from chat.importers.rounds import Answer, list_messages
from chat.importers.trees import Node, Tree, read_time

NAME = "librechat"
LABEL = "LibreChat"
SUMMARY = "LibreChat had summarised the conversation up to here:"
NO_MESSAGES = gettext_noop("it holds no messages")
JOINT = gettext_noop("a message without text and content")

Entry = dict[str, Any]


def is_mine(element: Mapping[str, Any]) -> bool:
    return "conversationId" in element and ("messages" in element or "messagesTree" in element)


def read(archive: Archive) -> Iterator[Imported]:
    members = find_members(archive, is_mine)
    # Replies may stand in what they reply to: a file is nested as deep as its thread is long.
    for found in read_elements(archive, members, depth=archive.limits.depth):
        yield found if isinstance(found, Skipped) else read_conversation(*found)


# --- Conversations --------------------------------------------------------------------------------


def read_conversation(name: str, element: Mapping[str, Any]) -> ImportedConversation | Skipped:
    """One conversation; `name` is what a report calls it where it has no title. When it was written
    follows of its messages: the export has the clock of its own making only."""
    title = as_text(element.get("title")).strip()
    options = as_object(element.get("options"))
    model = as_text(options.get("model"))
    tally = Tally()

    def read_node(node: Node[Entry]) -> list[ImportedMessage]:
        entry = node.value
        by_user = entry.get("isCreatedByUser") is True or as_text(entry.get("sender")) == "User"
        message = ImportedMessage(node.id, None, "user", [], origins=[node.id])
        if by_user:
            _read_prompt(message, entry, tally)
            messages = [message] if message.blocks else []
        else:
            message.model = as_text(entry.get("model")) or model
            message.stop_reason = "end_turn"
            messages = _read_answer(message, entry, tally)
        if messages:
            tally.kept += 1
        else:
            tally.dropped[JOINT] += 1
        return messages

    messages, leaf = list_messages(Tree(_list_nodes(element)), read_node)
    if not messages:
        return Skipped(title or name, NO_MESSAGES)
    times = [message.at for message in messages if message.at]
    return ImportedConversation(
        origin=as_text(element.get("conversationId")) or name,
        messages=messages,
        leaf=leaf,
        title=title,
        model=model,
        system_prompt=as_text(options.get("promptPrefix")) or as_text(options.get("system")),
        created_at=min(times, default=None),
        updated_at=max(times, default=None),
        tally=tally,
    )


def _list_nodes(element: Mapping[str, Any]) -> Iterator[Node[Entry]]:
    """All messages. A nested one names its parent too, but where it stands is what counts."""
    nested = element.get("messagesTree")
    waiting: list[tuple[str | None, Any]] = [
        (None, entry) for entry in reversed(as_list(nested or element.get("messages")))
    ]
    number = 0
    while waiting:
        above, entry = waiting.pop()
        if not isinstance(entry, dict):
            continue
        number += 1
        replies = as_list(entry.pop("children", None))
        is_too_deep = isinstance(clean_json(entry, DEPTH), Unreadable)
        identity = as_text(entry.get("messageId")) or f"message {number}"
        yield Node(
            identity,
            above or as_text(entry.get("parentMessageId")) or None,
            {} if is_too_deep else entry,
            read_time(entry.get("createdAt")),
        )
        waiting += [(identity, each) for each in reversed(replies)]


def _read_prompt(message: ImportedMessage, entry: Entry, tally: Tally) -> None:
    """A person's message. Where it was nothing but files, which the export never holds, their names
    stand for them."""
    texts = [
        _value(part.get("text"))
        for part in map(as_object, as_list(entry.get("content")))
        if part.get("type") == "text"
    ]
    if not any(map(str.strip, texts)):
        texts = [as_text(entry.get("text"))]
    message.blocks = [text_block(text) for text in texts if text.strip()]
    missing = _list_missing(entry)
    tally.missing += missing
    if missing and not message.blocks:
        message.blocks = [name_missing(missing)]


def _read_answer(message: ImportedMessage, entry: Entry, tally: Tally) -> list[ImportedMessage]:
    answer = Answer(message.origin)
    parts = [part for part in as_list(entry.get("content")) if isinstance(part, dict)]
    for part in parts:
        _add_part(answer, part, message, tally)
    if answer.is_empty:
        answer.add_text(as_text(entry.get("text")))
    if entry.get("unfinished") is True:
        message.status, message.stop_reason = "interrupted", "stopped"
    elif entry.get("error") is True:
        message.status, message.stop_reason = "failed", ""
        message.error = message.error or as_text(entry.get("text")) or "The answer failed."
    tally.missing += _list_missing(entry)
    return answer.messages(message)


def _add_part(answer: Answer, part: Entry, message: ImportedMessage, tally: Tally) -> None:
    match part.get("type"):
        case "text":
            answer.add_text(_value(part.get("text")))
        case "think":
            answer.add_thinking(_value(part.get("think")))
        case "tool_call":
            call = as_object(part.get("tool_call"))
            key, name = as_text(call.get("id")), as_text(call.get("name"))
            answer.call(name, call.get("args") or {}, key)
            if "output" in call:
                answer.result(_value(call["output"]), key=key, name=name)
        case "summary":
            text = _value(part.get("text")) or _value(part.get("summary"))
            answer.add_text(quote_summary(SUMMARY, text))
        case "error":
            message.status, message.stop_reason = "failed", ""
            message.error = _value(part.get("error")) or _value(part.get("text"))
        case "image_file":
            image = as_object(part.get("image_file"))
            tally.missing.append(as_text(image.get("filename")) or "image")
        case kind:
            answer.add_text(unknown_part(tally, kind, part))


def _value(text: Any) -> str:
    """A text, which some versions put into an object."""
    return as_text(text) or as_text(as_object(text).get("value"))


def _list_missing(entry: Entry) -> list[str]:
    files = [*as_list(entry.get("files")), *as_list(entry.get("attachments"))]
    names = (as_text(as_object(file).get("filename")) for file in files)
    return list(dict.fromkeys(filter(None, names)))
