"""What one message of Open WebUI says, as messages of ours. Pure: it knows no database."""

import json
from collections.abc import Iterator
from typing import Any

from chat.importers.content import (
    as_list,
    as_object,
    as_text,
    bytes_file,
    list_sources,
    name_missing,
    read_data_url,
    text_block,
    text_file,
    unknown_part,
)
from chat.importers.open_webui_details import read_call, read_code, read_thoughts, split_details
from chat.importers.records import ImportedFile, ImportedMessage, Tally
from chat.importers.rounds import Answer

Entry = dict[str, Any]


def read_prompt(message: ImportedMessage, entry: Entry, tally: Tally) -> None:
    """A person's message. Where it was nothing but files that are not there, their names stand for
    them."""
    missing = len(tally.missing)
    texts, pictures = _read_content(entry, tally)
    message.blocks = [text_block(text) for text in texts if text.strip()]
    message.files = [*_read_files(entry, pictures, tally)]
    if not message.blocks and not message.files and (names := tally.missing[missing:]):
        message.blocks = [name_missing(names)]


def read_answer(message: ImportedMessage, entry: Entry, tally: Tally) -> list[ImportedMessage]:
    """An answer: of its `output` where it has one, else of the HTML in its text."""
    answer = Answer(message.origin)
    texts, pictures = _read_content(entry, tally)
    output = [item for item in as_list(entry.get("output")) if isinstance(item, dict)]
    if output:
        for item in output:
            _add_item(answer, item, tally)
    if answer.is_empty:
        for text in texts:
            _add_html(answer, text)
    answer.add_text(list_sources(_list_pages(entry), "\n".join(texts)))
    answer.attach(_read_files(entry, pictures, tally))
    if error := entry.get("error"):
        message.status, message.stop_reason = "failed", ""
        message.error = _error(error)
    elif entry.get("done") is False:
        message.status, message.stop_reason = "interrupted", "stopped"
    return answer.messages(message)


def _read_content(entry: Entry, tally: Tally) -> tuple[list[str], list[str]]:
    """Its texts, and the addresses of the pictures among them."""
    content = entry.get("content")
    if isinstance(content, str):
        return [content], []
    texts, pictures = [], []
    for part in as_list(content):
        part = {"type": "text", "text": part} if isinstance(part, str) else as_object(part)
        if part.get("type") in ("text", "input_text", "output_text"):
            texts.append(as_text(part.get("text")))
        elif part.get("type") in ("image_url", "input_image"):
            address = part.get("image_url")
            pictures.append(as_text(address) or as_text(as_object(address).get("url")))
        else:
            texts.append(unknown_part(tally, part.get("type"), part))
    return texts, pictures


def _add_item(answer: Answer, item: Entry, tally: Tally) -> None:
    """One item of `output`, which has the form of OpenAI's Responses API."""
    match item.get("type"):
        case "message":
            answer.add_text(_join_texts(item.get("content")))
        case "reasoning":
            answer.add_thinking(
                _join_texts(item.get("content")) or _join_texts(item.get("summary"))
            )
        case "function_call":
            key = as_text(item.get("call_id")) or as_text(item.get("id"))
            answer.call(as_text(item.get("name")), item.get("arguments"), key)
        case "function_call_output":
            output = item.get("output")
            files = [*_read_files({"files": item.get("files")}, _list_images(output), tally)]
            answer.result(
                as_text(output) or _join_texts(output),
                key=as_text(item.get("call_id")),
                files=files,
            )
        case "open_webui:code_interpreter":
            key = as_text(item.get("id")) or "code"
            answer.call("code_interpreter", {"code": as_text(item.get("code"))}, key)
            answer.result(_as_words(item.get("output")), key=key)
        case kind:
            answer.add_text(unknown_part(tally, kind, item))


def _join_texts(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    return "\n\n".join(
        filter(None, (as_text(as_object(part).get("text")) for part in as_list(parts)))
    )


def _list_images(parts: Any) -> list[str]:
    images = (as_object(part) for part in as_list(parts))
    return [as_text(each.get("image_url")) for each in images if each.get("type") == "input_image"]


def _add_html(answer: Answer, text: str) -> None:
    for piece in split_details(text):
        match piece.kind:
            case "text":
                answer.add_text(piece.text.strip("\n"))
            case "reasoning":
                answer.add_thinking(read_thoughts(piece))
            case "tool_calls":
                name, given, key, result = read_call(piece)
                answer.call(name, given, key)
                answer.result(result, key=key, name=name)
            case "code_interpreter":
                code, printed = read_code(piece)
                answer.call("code_interpreter", {"code": code})
                answer.result(printed, name="code_interpreter")


def _list_pages(entry: Entry) -> Iterator[tuple[str, str]]:
    """The pages of the web among its sources: title and address."""
    for source in map(as_object, as_list(entry.get("sources"))):
        about = as_object(source.get("source"))
        yield as_text(about.get("name")), as_text(about.get("url"))
        for part in map(as_object, as_list(source.get("metadata"))):
            name = as_text(part.get("name")) or as_text(part.get("title"))
            yield name, as_text(part.get("url")) or as_text(part.get("source"))


def _read_files(entry: Entry, pictures: list[str], tally: Tally) -> Iterator[ImportedFile]:
    """Its files that have bytes or a text here. Most are addresses on their own server: missing."""
    files = [{"type": "image", "url": url} for url in pictures]
    for index, file in enumerate([*files, *map(as_object, as_list(entry.get("files")))], 1):
        stored = as_object(file.get("file"))
        meta = as_object(stored.get("meta"))
        url = as_text(file.get("url"))
        name = (
            as_text(file.get("name"))
            or as_text(stored.get("filename"))
            or as_text(meta.get("name"))
        )
        text = as_text(as_object(stored.get("data")).get("content")) or as_text(file.get("content"))
        if data := read_data_url(url):
            yield bytes_file(name or f"{file.get('type') or 'file'} {index}", *data)
        elif text.strip():
            yield text_file(name or "file", text)
        elif name or url:
            tally.missing.append(name or url[:200])


def _as_words(value: Any) -> str:
    return as_text(value) or (json.dumps(value, ensure_ascii=False) if value else "")


def _error(error: Any) -> str:
    """What is said of it, in whatever form."""
    found = error
    for name in ("content", "message", "detail"):
        found = as_object(found).get(name) or found
    return as_text(found) or "The answer failed."
