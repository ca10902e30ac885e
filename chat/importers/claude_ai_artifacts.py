"""The artifacts of Claude.ai: what a call says to create and to change, played again on each
branch. Pure: it knows no database."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from chat.importers.content import as_text, text_file
from chat.importers.records import ImportedFile

Place = tuple[str, int]  # the id of a message, and which of its parts
UNPLAYED = "a change of an artifact that does not fit its text"
MOST_TEXT = 20_000_000  # characters of one artifact: changes of changes can grow without end
MOST_WORK = 2 * 10**9  # characters that are looked through in one conversation: some seconds

ENDINGS = {
    "text/markdown": ".md",
    "text/html": ".html",
    "image/svg+xml": ".svg",
    "application/vnd.ant.mermaid": ".mmd",
    "application/vnd.ant.react": ".jsx",
}
LANGUAGES = {
    "bash": ".sh",
    "c": ".c",
    "cpp": ".cpp",
    "csharp": ".cs",
    "css": ".css",
    "go": ".go",
    "html": ".html",
    "java": ".java",
    "javascript": ".js",
    "json": ".json",
    "kotlin": ".kt",
    "markdown": ".md",
    "php": ".php",
    "python": ".py",
    "ruby": ".rb",
    "rust": ".rs",
    "shell": ".sh",
    "sql": ".sql",
    "swift": ".swift",
    "typescript": ".ts",
    "xml": ".xml",
    "yaml": ".yaml",
}


@dataclass(frozen=True, slots=True)
class _Change:
    """What one call does to an artifact: `text` replaces all of it, or `new` the one `old`."""

    artifact: str
    name: str = ""
    text: str | None = None
    old: str = ""
    new: str = ""


@dataclass(slots=True, eq=False)
class _Version:
    """An artifact after a change; `before` is the version that was changed."""

    place: Place
    change: _Change
    before: "_Version | None"

    def lineage(self) -> list["_Version"]:
        """From the version that wrote it anew to this one."""
        versions = [self]
        while versions[-1].change.text is None and (before := versions[-1].before):
            versions.append(before)
        return versions[::-1]

    def name(self) -> str:
        version: _Version | None = self
        while version and not version.change.name:
            version = version.before
        return version.change.name if version else f"{self.change.artifact}.txt"


class Artifacts:
    """The artifacts of one conversation. Only changes are held, not the text after each; and what
    there is after a message, only until all that follow it have come. `children` says of each
    message how many these are."""

    def __init__(self, children: Mapping[str, int]) -> None:
        self._awaited = dict(children)
        self._states: dict[str, dict[str, _Version]] = {}
        self._last: set[_Version] = set()
        self._misfits: set[_Version] = set()
        self._work = 0

    def follow(
        self, origin: str, parent: str | None, calls: Iterable[tuple[int, str, Any]]
    ) -> None:
        """What a message did: each call as (which part, the tool's name, its input). A message
        follows its parent."""
        before = state = self._take_state(parent)
        for part, name, given in calls:
            change = _read_change(name, given)
            if change is None:
                continue
            if state is before:
                state = dict(before)
            version = _Version((origin, part), change, state.get(change.artifact))
            state[change.artifact] = version
        if origin in self._awaited:
            self._states[origin] = state
        else:  # a branch ends here
            self._last.update(state.values())

    def _take_state(self, parent: str | None) -> dict[str, _Version]:
        """What there is after a message; the last that follows it takes it away."""
        if parent is None:
            return {}
        self._awaited[parent] -= 1
        return self._states[parent] if self._awaited[parent] else self._states.pop(parent)

    def finish(self) -> dict[Place, list[ImportedFile]]:
        """The last state of each artifact on each branch, by the call that made it."""
        files: dict[Place, list[ImportedFile]] = {}
        for version in sorted(self._last, key=lambda each: each.place):
            text = self._play(version)
            if text is not None:
                files.setdefault(version.place, []).append(text_file(version.name(), text))
        return files

    @property
    def misfits(self) -> int:
        """Changes that could not be played."""
        return len(self._misfits)

    def _play(self, version: _Version) -> str | None:
        text: str | None = None
        for each in version.lineage():
            change = each.change
            self._work += len(text or "")
            if change.text is not None:
                text = change.text
            elif (
                text is None
                or self._work > MOST_WORK
                or len(text) + len(change.new) > MOST_TEXT
                or not change.old
                or change.old not in text
            ):
                self._misfits.add(each)
            else:
                text = text.replace(change.old, change.new, 1)
        return text


def _read_change(tool: str, given: Any) -> _Change | None:
    """What a call changes; None for calls of other tools."""
    if not isinstance(given, Mapping):
        return None
    if tool == "artifacts":
        return _change_of_artifact(given)
    path = as_text(given.get("path"))
    if not path:
        return None
    name = PurePosixPath(path).name
    if tool == "create_file" and isinstance(given.get("file_text"), str):
        return _Change(path, name, given["file_text"])
    if tool == "str_replace":
        return _Change(
            path, name, None, as_text(given.get("old_str")), as_text(given.get("new_str"))
        )
    return None


def _change_of_artifact(given: Mapping[str, Any]) -> _Change | None:
    artifact = as_text(given.get("id")) or "artifact"
    name = _name(given)
    if given.get("command") == "update":
        old, new = as_text(given.get("old_str")), as_text(given.get("new_str"))
        return _Change(artifact, name, None, old, new)
    text = given.get("content")
    return _Change(artifact, name, text) if isinstance(text, str) else None


def _name(given: Mapping[str, Any]) -> str:
    """A file's name of its title and kind; "" where the call does not say."""
    title = re.sub(r"[/\\\s]+", " ", as_text(given.get("title"))).strip()
    if not title:
        return ""
    kind = as_text(given.get("type"))
    ending = ENDINGS.get(kind) or LANGUAGES.get(as_text(given.get("language")).lower(), "")
    ending = ending or (".txt" if kind else "")
    return title if ending and title.endswith(ending) else f"{title[:100]}{ending}"
