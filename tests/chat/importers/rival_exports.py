"""Exports that a test writes, and what an importer makes of them."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.context.api_messages import build_api_messages
from agent.messages import AgentMessage, RawTokens, shown_text
from agent.model.message_rules import Rules, find_message_violations
from chat.importers.archive import Archive
from chat.importers.formats import find_format
from chat.importers.records import (
    Imported,
    ImportedConversation,
    ImportedFile,
    ImportedMessage,
)


def read_files(folder: Path, files: Mapping[str, Any]) -> list[Imported]:
    """What the format that is found makes of JSON files by their names; of a mapping in place of
    contents, a zip of such files."""
    paths = []
    for name, content in files.items():
        path = folder / name
        if name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as written:
                for inner, value in content.items():
                    written.writestr(inner, json.dumps(value))
        else:
            path.write_text(json.dumps(content))
        paths.append((name, path))
    with Archive(paths) as archive:
        return list(find_format(archive).read(archive))


def read_one(folder: Path, element: Any) -> ImportedConversation:
    """The one conversation of a file with one element."""
    (found,) = read_files(folder, {"export.json": [element]})
    assert isinstance(found, ImportedConversation), found
    return found


def shape(messages: Sequence[ImportedMessage]) -> list[tuple[str, str]]:
    """Role and text of each message; calls and results in the words of `agent.messages`."""
    return [(message.role, shown_text(message.blocks)) for message in messages]


def branch(conversation: ImportedConversation) -> list[ImportedMessage]:
    """The messages of the branch that is shown."""
    by_origin = {message.origin: message for message in conversation.messages}
    path: list[ImportedMessage] = []
    at = conversation.leaf
    while at is not None:
        path.append(by_origin[at])
        at = path[-1].parent
    return path[::-1]


def read_bytes(file: ImportedFile) -> bytes:
    with file.open() as opened:
        return opened.read()


def check(conversation: ImportedConversation) -> None:
    """What holds of every conversation: each message once, after its parent, and the shown branch
    makes a request that the API takes."""
    seen: set[str | None] = {None}
    for message in conversation.messages:
        assert message.parent in seen
        assert message.origin not in seen
        assert message.origins[0] == message.origin
        assert message.blocks or message.files or message.error
        seen.add(message.origin)
    history = [
        AgentMessage(number, message.role, message.blocks, RawTokens(0))
        for number, message in enumerate(branch(conversation), 1)
    ]
    asked = AgentMessage(
        len(history) + 1, "user", [{"type": "text", "text": "Go on."}], RawTokens(0)
    )
    sent = build_api_messages([*history, asked], set(), own_from=asked.number)
    violations = find_message_violations(sent, Rules(frozenset()))
    assert not [each for each in violations if "first message" not in each]
