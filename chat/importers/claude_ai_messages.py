"""What one message of Claude.ai says, as messages of ours. Pure: it knows no database."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext_noop

from agent.messages import Block, Role
from chat.importers.claude_ai_artifacts import Place
from chat.importers.content import (
    as_list,
    as_object,
    as_text,
    bytes_file,
    fence,
    list_sources,
    name_missing,
    quote_summary,
    text_block,
    text_file,
    unknown_part,
)
from chat.importers.records import ImportedFile, ImportedMessage, Tally
from chat.importers.rounds import Answer

Entry = dict[str, Any]

ROLES: dict[str, Role] = {"human": "user", "assistant": "assistant"}
ABOUT_THE_PRODUCT = {"token_budget", "flag"}
NOTE = gettext_noop("a note of Claude.ai's own, in a message")
SUMMARY = "Claude.ai had summarised the conversation up to here:"


def read_parts(entry: Entry) -> list[Entry]:
    """Its content. The plain `text` counts only where that says nothing: in place of tools it says
    that the block is not supported."""
    parts = [part for part in as_list(entry.get("content")) if isinstance(part, dict)]
    if isinstance(entry.get("content"), str):
        parts = [{"type": "text", "text": entry["content"]}]
    if not any(_says_something(part) for part in parts) and as_text(entry.get("text")).strip():
        return [{"type": "text", "text": entry["text"]}]
    return parts


def list_calls(parts: Sequence[Entry]) -> Iterator[tuple[int, str, Any]]:
    """The calls of tools among the parts: which part, the name, the input."""
    for index, part in enumerate(parts):
        if part.get("type") == "tool_use":
            yield index, as_text(part.get("name")), part.get("input")


def read_prompt(
    message: ImportedMessage, entry: Entry, parts: Sequence[Entry], tally: Tally
) -> None:
    """A person's message: its texts and the files whose text the export holds. Where it was
    nothing but files that are not there, their names stand for them."""
    missing = len(tally.missing)
    message.blocks = [*_summary_note(entry)]
    for part in parts:
        text = _prompt_text(part, tally)
        if text.strip():
            message.blocks.append(text_block(text))
        message.files += _pictures([part], tally)
    message.files += _attachments(entry, tally)
    if not message.blocks and not message.files and (names := tally.missing[missing:]):
        message.blocks.append(name_missing(names))


def read_answer(
    message: ImportedMessage,
    entry: Entry,
    parts: Sequence[Entry],
    made: dict[Place, list[ImportedFile]],
    tally: Tally,
) -> list[ImportedMessage]:
    """An answer; `made` are the files of its calls."""
    answer = Answer(message.origin)
    answer.add(*_summary_note(entry))
    for index, part in enumerate(parts):
        match part.get("type"):
            case "text":
                answer.add_text(_cited(part))
            case "voice_note":
                answer.add_text(as_text(part.get("text")))
            case "thinking":
                answer.add_thinking(_thinking(part))
            case "tool_use":
                name = as_text(part.get("name"))
                answer.call(name, part.get("input") or {}, as_text(part.get("id")))
                if files := made.get((message.origin, index)):
                    answer.attach(files)
            case "tool_result":
                answer.result(
                    _result(part, tally),
                    key=as_text(part.get("tool_use_id")),
                    name=as_text(part.get("name")),
                    failed=part.get("is_error") is True,
                    files=list(_pictures(as_list(part.get("content")), tally)),
                )
            case str(kind) if kind in ABOUT_THE_PRODUCT:
                tally.hidden[NOTE] += 1
            case "image" | "document":
                tally.missing += [each.name for each in _pictures([part], tally)]
            case kind:
                answer.add_text(unknown_part(tally, kind, part))
    for file in _attachments(entry, tally):
        with file.open() as opened:
            answer.add_text(f"{file.name}:\n\n{fence(opened.read().decode())}")
    return answer.messages(message)


def _says_something(part: Entry) -> bool:
    kind = part.get("type")
    if kind in ("text", "voice_note"):
        return bool(as_text(part.get("text")).strip())
    return kind not in ABOUT_THE_PRODUCT


def _prompt_text(part: Entry, tally: Tally) -> str:
    kind = as_text(part.get("type"))
    if kind in ("text", "voice_note"):
        return as_text(part.get("text"))
    if kind in ("image", "document"):
        return ""
    if kind in ABOUT_THE_PRODUCT:
        tally.hidden[NOTE] += 1
        return ""
    return unknown_part(tally, kind, part)


def _summary_note(entry: Entry) -> list[Block]:
    """The summary that Claude.ai went on with, as a note: ours is made of the messages."""
    summary = entry.get("compaction_summary")
    parts = summary if isinstance(summary, list) else [summary]
    texts = [as_text(each) or as_text(as_object(each).get("text")) for each in parts]
    note = quote_summary(SUMMARY, "\n\n".join(filter(str.strip, texts)))
    return [text_block(note)] if note else []


def _cited(part: Entry) -> str:
    """A text, with the pages that it cites."""
    text = as_text(part.get("text"))
    pages = []
    for each in map(as_object, as_list(part.get("citations"))):
        details = as_object(each.get("details"))
        url = as_text(each.get("url")) or as_text(details.get("url"))
        pages.append((as_text(each.get("title")) or as_text(details.get("title")), url))
    sources = list_sources(pages, text)
    return f"{text}\n\n{sources}" if sources else text


def _thinking(part: Entry) -> str:
    thoughts = as_text(part.get("thinking"))
    if thoughts.strip():
        return thoughts
    summaries = map(as_object, as_list(part.get("summaries")))
    return "\n\n".join(filter(None, (as_text(each.get("summary")) for each in summaries)))


def _result(part: Entry, tally: Tally) -> str:
    """The text of a tool's result; of pages their titles and addresses too."""
    content = part.get("content")
    if isinstance(content, str):
        return content
    texts = []
    for each in as_list(content):
        if isinstance(each, str):
            texts.append(each)
            continue
        each = as_object(each)
        known = [as_text(each.get(name)) for name in ("title", "url", "text", "file_path")]
        if any(known):
            texts.append("\n".join(filter(None, known)))
        elif each.get("type") not in ("image", "document"):
            texts.append(unknown_part(tally, each.get("type"), each))
    if not texts and part.get("structured_content"):
        return unknown_part(tally, "structured_content", part["structured_content"])
    return "\n\n".join(texts)


def _pictures(parts: Sequence[Any], tally: Tally) -> Iterator[ImportedFile]:
    """Images and documents among the parts that hold their bytes; the others are missing."""
    for part in map(as_object, parts):
        kind = part.get("type")
        if kind not in ("image", "document"):
            continue
        source = as_object(part.get("source"))
        name = as_text(part.get("file_name")) or as_text(part.get("title")) or str(kind)
        try:
            data = b64decode(as_text(source.get("data")), validate=True)
        except (NotBase64, ValueError):
            data = b""
        if data:
            yield bytes_file(name, data, as_text(source.get("media_type")))
        else:
            tally.missing.append(as_text(part.get("file_uuid")) or name)


def _attachments(entry: Entry, tally: Tally) -> Iterator[ImportedFile]:
    """Attachments with their text. What only has a name is missing."""
    given = set()
    for each in map(as_object, as_list(entry.get("attachments"))):
        name = as_text(each.get("file_name")).strip() or "Pasted text.txt"
        text = as_text(each.get("extracted_content"))
        if text.strip():
            given.add(name)
            yield text_file(name, text)
        else:
            tally.missing.append(name)
    for each in map(as_object, as_list(entry.get("files"))):
        name = as_text(each.get("file_name")) or as_text(each.get("file_uuid"))
        if name not in given:
            tally.missing.append(name or "a file without a name")
