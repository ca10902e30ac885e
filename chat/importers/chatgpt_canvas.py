"""The documents of ChatGPT's canvas: calls that write a text or change a part of it, replayed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext_noop

from chat.importers.content import as_list, as_object, as_text, bytes_file
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

MOST_DOCUMENTS = 50  # of a branch
# Characters that may be written anew in one conversation: real ones need a few millions, and each
# branch keeps its own text.
MOST_WRITTEN = 50_000_000

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
    replay = _Replay(tally)
    states: dict[str | None, _State] = {None: _State({})}
    on_branch = set(shown)
    last: dict[str, tuple[str, _Document]] = {}
    for node in tree.nodes.values():
        before = states[node.parent]
        states[node.id], changed = replay.step(node, before)
        if changed and (node.id in on_branch or last.get(changed, ("", None))[0] not in on_branch):
            last[changed] = (node.id, states[node.id].documents[changed])
    for place, document in last.values():
        yield place, _make_file(document)


class _Replay:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._written = 0

    def step(self, node: Node[Mapping[str, Any]], state: _State) -> tuple[_State, str]:
        """The state after a node, and the document that it changed, if any."""
        message = node.value
        identity, title = _read_mark(message)
        if (call := as_text(message.get("recipient"))).startswith(TOOL):
            state = replace(state, call=call, arguments=_read_arguments(message))
        if not identity or state.arguments is None:
            return state, ""  # the result of a call says which document it is of
        document = self._apply(state, identity, title)
        state = replace(state, call="", arguments=None)
        if document is None or document == state.documents.get(identity):
            return state, ""
        documents = {**state.documents, identity: document}
        if len(documents) > MOST_DOCUMENTS:
            self._tally.dropped[NOT_REPLAYED] += 1
            return state, ""
        return replace(state, documents=documents), identity

    def _apply(self, state: _State, identity: str, title: str) -> _Document | None:
        """The document after the call; None where the call does not change it."""
        assert state.arguments is not None
        if state.call == CREATE:
            text = state.arguments.get("content")
            name, kind = as_text(state.arguments.get("name")), as_text(state.arguments.get("type"))
            return _Document(title or name, kind, text) if isinstance(text, str) else None
        if state.call != UPDATE:
            return None  # comments, which are not in the text
        document = state.documents.get(identity)
        for update in as_list(state.arguments.get("updates")):
            changed = self._replace(document.text if document else "", update)
            if changed is None:
                self._tally.dropped[NOT_REPLAYED] += 1
                continue
            known = document or _Document(title, "document", "")
            document = replace(known, text=changed, title=title or known.title)
        return document

    def _replace(self, text: str, update: Any) -> str | None:
        """The text after one change; None where the pattern is more than words, or is not found, or
        too much was written."""
        change = as_object(update)
        pattern, new = change.get("pattern"), change.get("replacement")
        if not (isinstance(pattern, str) and isinstance(new, str)):
            return None
        if pattern in WHOLE:
            return new
        self._written += len(text)
        if not pattern or SPECIAL.search(pattern) or self._written > MOST_WRITTEN:
            return None
        words = re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)
        found = text.count(words) if change.get("multiple") is True else int(words in text)
        self._written += found * len(new)
        if not found or self._written > MOST_WRITTEN:
            return None
        return text.replace(words, new, found)


def _read_mark(message: Mapping[str, Any]) -> tuple[str, str]:
    """Id and title of the document that a message is about."""
    canvas = as_object(as_object(message.get("metadata")).get("canvas"))
    return as_text(canvas.get("textdoc_id")), as_text(canvas.get("title"))


def _read_arguments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = as_object(message.get("content"))
    texts = map(as_text, [content.get("text"), *as_list(content.get("parts"))])
    return as_object(read_inner("".join(texts)))


def _make_file(document: _Document) -> ImportedFile:
    kind = document.kind.removeprefix("code/")
    ending = ENDINGS.get(kind, "txt")
    name = re.sub(r"[^\w. -]+", "_", document.title).strip("_. ")[:80] or "canvas"
    whole = name if name.endswith(f".{ending}") else f"{name}.{ending}"
    media_type = "text/markdown" if ending == "md" else "text/plain"
    return bytes_file(whole, document.text.encode(), media_type)
