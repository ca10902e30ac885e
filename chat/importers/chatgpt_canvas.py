"""The documents of ChatGPT's canvas: calls that write a text or change a part of it, replayed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, BinaryIO

from django.utils.translation import gettext_noop

from chat.importers.json_bounds import read_inner
from chat.importers.records import ImportedFile, Tally
from chat.importers.trees import Node, Tree

TOOL = "canmore."
CREATE, UPDATE = "canmore.create_textdoc", "canmore.update_textdoc"
WHOLE = (".*", "(?s).*", "^.*$")  # patterns that stand for all of the text
# What a pattern must not have to be read as plain words: those of strangers are never run.
SPECIAL = re.compile(r"(?<!\\)[.^$*+?{}\[\]|()]|\\[A-Za-z0-9]")
ENDINGS = {
    "document": "md",
    "bash": "sh",
    "c#": "cs",
    "cpp": "cpp",
    "css": "css",
    "go": "go",
    "html": "html",
    "java": "java",
    "javascript": "js",
    "php": "php",
    "python": "py",
    "react": "jsx",
    "ruby": "rb",
    "rust": "rs",
    "sql": "sql",
    "swift": "swift",
    "typescript": "ts",
}

NOT_REPLAYED = gettext_noop("a change of a canvas that cannot be replayed")


@dataclass(frozen=True, slots=True)
class _Document:
    title: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _State:
    """Of a branch, at a node: its documents by their ids, and the call whose result is to come."""

    documents: Mapping[str, _Document]
    call: str = ""
    arguments: Mapping[str, Any] | None = None


def find_canvases(
    tree: Tree[Mapping[str, Any]], *, shown: Sequence[str], tally: Tally
) -> Iterator[tuple[str, ImportedFile]]:
    """The last text of each document as a file, with the node that it belongs to: the one that
    changed it last on the branch that is shown, or else in any."""
    states: dict[str | None, _State] = {None: _State({})}
    on_branch = set(shown)
    last: dict[str, tuple[str, _Document]] = {}
    for node in tree.nodes.values():
        before = states[node.parent]
        state = _step(node, before, tally)
        states[node.id] = state
        if state.documents is before.documents:
            continue
        for identity, document in state.documents.items():
            if before.documents.get(identity) is document:
                continue
            if identity not in last or node.id in on_branch or last[identity][0] not in on_branch:
                last[identity] = (node.id, document)
    for place, document in last.values():
        yield place, _make_file(document)


def _step(node: Node[Mapping[str, Any]], state: _State, tally: Tally) -> _State:
    message = node.value
    identity, title = _read_mark(message)
    if (call := _text(message.get("recipient"))).startswith(TOOL):
        state = replace(state, call=call, arguments=_read_arguments(message))
        if not identity:
            return state  # its result says which document it is
    elif not identity:
        return state
    if state.arguments is None:
        return state
    done = replace(state, call="", arguments=None)
    document = _apply(state, identity, title, tally)
    return replace(done, documents={**state.documents, identity: document}) if document else done


def _apply(state: _State, identity: str, title: str, tally: Tally) -> _Document | None:
    """The document after the call; None where the call does not change it."""
    assert state.arguments is not None
    if state.call == CREATE:
        text = state.arguments.get("content")
        name, kind = _text(state.arguments.get("name")), _text(state.arguments.get("type"))
        return _Document(title or name, kind, text) if isinstance(text, str) else None
    if state.call != UPDATE:
        return None  # comments, which are not in the text
    document = state.documents.get(identity)
    updates = state.arguments.get("updates")
    for update in updates if isinstance(updates, list) else ():
        changed = _replace(document.text if document else "", update)
        if changed is None:
            tally.dropped[NOT_REPLAYED] += 1
            continue
        known = document or _Document(title, "document", "")
        document = replace(known, text=changed, title=title or known.title)
    return document


def _replace(text: str, update: Any) -> str | None:
    """The text after one change; None where the pattern is more than words, or is not found."""
    if not isinstance(update, Mapping):
        return None
    pattern, new = update.get("pattern"), update.get("replacement")
    if not (isinstance(pattern, str) and isinstance(new, str)):
        return None
    if pattern in WHOLE:
        return new
    if not pattern or SPECIAL.search(pattern):
        return None
    words = re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)
    if words not in text:
        return None
    return text.replace(words, new, -1 if update.get("multiple") is True else 1)


def _read_mark(message: Mapping[str, Any]) -> tuple[str, str]:
    """Id and title of the document that a message is about."""
    metadata = message.get("metadata")
    canvas = metadata.get("canvas") if isinstance(metadata, Mapping) else None
    if not isinstance(canvas, Mapping):
        return "", ""
    return _text(canvas.get("textdoc_id")), _text(canvas.get("title"))


def _read_arguments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    if not isinstance(content, Mapping):
        return {}
    parts = content.get("parts")
    texts = [content.get("text"), *(parts if isinstance(parts, list) else ())]
    arguments = read_inner("".join(text for text in texts if isinstance(text, str)))
    return arguments if isinstance(arguments, Mapping) else {}


def _make_file(document: _Document) -> ImportedFile:
    kind = document.kind.removeprefix("code/")
    ending = ENDINGS.get(kind, "txt")
    name = re.sub(r"[^\w. -]+", "_", document.title).strip("_. ")[:80] or "canvas"
    whole = name if name.endswith(f".{ending}") else f"{name}.{ending}"
    data = document.text.encode()

    def open_text() -> BinaryIO:
        return BytesIO(data)

    return ImportedFile(whole, open_text, "text/markdown" if ending == "md" else "text/plain")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
