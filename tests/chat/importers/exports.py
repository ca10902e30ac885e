"""Exports as other programs write them, a piece at a time."""

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chat.importers.archive import Archive
from chat.importers.formats import find_format
from chat.importers.records import Imported, ImportedConversation

Json = dict[str, Any]


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def write_zip(path: Path, files: Mapping[str, Any]) -> Path:
    """Bytes as they are, everything else as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, value in files.items():
            opened.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def read_files(*paths: Path) -> list[Imported]:
    """Everything in some files; what `open` of their files gives can be read no longer."""
    with Archive([(path.name, path) for path in paths]) as archive:
        return list(find_format(archive).read(archive))


def only_conversation(found: Iterable[Imported]) -> ImportedConversation:
    (conversation,) = [each for each in found if isinstance(each, ImportedConversation)]
    return conversation


# --- ChatGPT --------------------------------------------------------------------------------------


def say(role: str, *parts: Any, kind: str = "text", **fields: Any) -> Json:
    """A message; `content` in `fields` stands for a content without parts."""
    name = fields.pop("name", None)
    content = {"content_type": kind} | fields.pop("content", {"parts": list(parts)})
    return {"author": {"role": role, "name": name}, "content": content} | fields


def call(tool: str, text: str, **fields: Any) -> Json:
    return (
        say("assistant", kind="code", content={"text": text, "language": "unknown"}, recipient=tool)
        | fields
    )


def result(tool: str, text: str, kind: str = "execution_output", **fields: Any) -> Json:
    return say("tool", kind=kind, content={"text": text}, name=tool) | fields


def chain(*messages: Json | None) -> Json:
    """A mapping of nodes n0, n1, … each after the other."""
    return {
        f"n{i}": {"parent": f"n{i - 1}" if i else None, "message": message}
        for i, message in enumerate(messages)
    }


def talk(mapping: Any, **fields: Any) -> Json:
    return (
        {"id": "talk-1", "title": "A talk", "create_time": 1_750_000_000.5}
        | fields
        | {"mapping": mapping}
    )
