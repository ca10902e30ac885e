"""Pieces of messages that several formats have in common: values of any type read as what they
should be, texts, files, sources. Pure.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import PurePath
from typing import Any

from agent.messages import MOST_LOOKED_FOR, Block
from chat.importers.json_bounds import Unreadable, read_inner
from chat.importers.records import ImportedFile, Tally

NOT_A_TEXT = {".pdf", ".docx", ".doc", ".xlsx", ".xls", ".pptx", ".ppt", ".odt", ".rtf", ".epub"}
_ADDRESS = re.compile(r"https?://[^\s<>]+")
_BRACKET, _ESCAPED = re.compile(r"[\[\]\\]"), r"\\\g<0>"


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def as_input(given: Any) -> dict[str, Any]:
    """The input of a call as an object: some write it as JSON in a text, or as JSON of that."""
    for _ in range(2):
        if isinstance(given, str):
            inner = read_inner(given) if given.strip() else {}
            if isinstance(inner, Unreadable):
                break
            given = inner
    return dict(given) if isinstance(given, Mapping) else {"value": given}


def as_text(value: Any) -> str:
    """A text; "" for everything else."""
    return value if isinstance(value, str) else ""


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def safe_id(value: str) -> str:
    """As the API takes the id of a call: letters, digits, `_` and `-`."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", value) or "none"


def unknown_part(tally: Tally, kind: Any, part: Any) -> str:
    """What nobody here can read, so that it is not lost: its JSON, fenced. It is counted."""
    name = as_text(kind) or "none"
    tally.unknown[name] += 1
    source = json.dumps(part, ensure_ascii=False, indent=1, default=str)
    return f"Content of the type {name}, as it was exported:\n\n{fence(source, 'json')}"


def fence(text: str, language: str = "") -> str:
    """A text as a block of code, with a fence that is longer than any in it."""
    marks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def list_sources(pages: Iterable[tuple[str, str]], text: str) -> str:
    """Pages of the web, (title, address), that an answer rests on, as Markdown; each once, and
    none that its text names. "" where there are none."""
    wanted = {url: title.strip() for title, url in pages if _ADDRESS.fullmatch(url)}
    lines = [
        f"- [{_BRACKET.sub(_ESCAPED, title) or url}](<{url}>)"
        for place, (url, title) in enumerate(wanted.items())
        if place >= MOST_LOOKED_FOR or url not in text
    ]
    return "\n".join(["Sources:", "", *lines]) if lines else ""


def text_file(name: str, text: str) -> ImportedFile:
    """A file that is a text. Where it was taken out of another kind of file, its name says so."""
    name = f"{name}.txt" if PurePath(name).suffix.lower() in NOT_A_TEXT else name
    return bytes_file(name, text.encode(), "text/plain")


def bytes_file(name: str, data: bytes, media_type: str) -> ImportedFile:
    return ImportedFile(name, lambda: BytesIO(data), media_type)


def quote_summary(words: str, text: str) -> str:
    """The summary that another product went on with, as a note after `words`: ours is made of the
    messages. "" where there is none."""
    lines = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
    return f"{words}\n\n{lines}" if lines else ""


def name_missing(names: Iterable[str]) -> Block:
    """What stands for files whose bytes are not in an export, in a message that was nothing
    else."""
    return text_block("\n".join(f"[{name}: the file is not in the export]" for name in names))


def read_data_url(url: str) -> tuple[bytes, str] | None:
    """Bytes and media type of a `data:` address in base64; None for everything else."""
    head, comma, data = url.partition(",")
    match = re.fullmatch(r"data:([\w.+/-]*)(?:;[\w=.-]+)*;base64", head)
    if not (match and comma):
        return None
    try:
        return b64decode(data, validate=True), match[1]
    except ValueError:
        return None
