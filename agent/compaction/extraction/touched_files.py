"""The files that a part of a conversation read and changed, by its calls of tools: no model has to
list them, and none forgets one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.messages import AgentMessage, Block, RawTokens
from agent.tokens import TokenCounter

CHANGED, READ = "Files changed with tools", "Files read with tools"
MOST = 20  # of each kind, the latest
LONGEST = 200  # characters of a path
LONGEST_PATCH = 100_000  # characters that are looked through

# Words of a tool's name, or of its `command`, that tell what it does with the file that it is
# given; a search or a listing does neither.
_CHANGES = {
    *("write", "edit", "create", "replace", "insert", "patch", "update", "append", "save", "undo"),
    *("delete", "remove", "move", "rename"),
}
_READS = {"read", "view", "open", "cat", "load", "get"}
# Arguments that hold paths, in small letters and without marks.
_KEYS = {
    *("path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames"),
    *("targetfile", "absolutepath", "relativepath", "notebookpath", "oldpath", "newpath"),
    *("source", "destination"),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATH = re.compile(r"(?=.*\w)(?=.*[./\\])[^\x00-\x1f`<>\u2028\u2029]+(?<![/\\\s])")
_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b/)([^\n\r]{1,200})$", re.M)


def list_touched_files(
    messages: Sequence[AgentMessage],
    *,
    known: str,
    earlier: str,
    tokens: RawTokens,
    counter: TokenCounter,
) -> list[str]:
    """Bullets of at most so many tokens: the files that calls changed, and those that they only
    read, each kind with the messages. Those are left out that the record names already, which is
    `known`, and of the files that were only read those that an `earlier` one names. A call that
    failed counts for nothing."""
    changed, read = _find_files(messages)
    room = int(tokens) // 2
    only_read = {path: number for path, number in read.items() if path not in changed}
    lines = [
        _write_line(CHANGED, _leave_out(changed, known), room, counter),
        _write_line(READ, _leave_out(only_read, f"{known}\n{earlier}"), room, counter),
    ]
    return [line for line in lines if line]


def _find_files(messages: Sequence[AgentMessage]) -> tuple[dict[str, int], dict[str, int]]:
    """The paths that calls changed and that they read, the latest last, each with the message in
    which that was last done."""
    changed: dict[str, int] = {}
    read: dict[str, int] = {}
    blocks = [(message.number, block) for message in messages for block in message.blocks]
    failed = {block.get("tool_use_id") for _, block in blocks if block.get("is_error")}
    for number, block in blocks:
        if block["type"].endswith("tool_use") and block.get("id") not in failed:
            changes = _does_change(block)
            kind = changed if changes else read
            for path in _find_paths(block) if changes is not None else ():
                kind.pop(path, None)
                kind[path] = number
    return changed, read


def _leave_out(paths: Mapping[str, int], said: str) -> Mapping[str, int]:
    return {path: number for path, number in paths.items() if path not in said}


def _does_change(call: Block) -> bool | None:
    """Whether a call changes the files that it names; None where it does not even read them."""
    arguments = call.get("input")
    command = arguments.get("command") if isinstance(arguments, Mapping) else None
    told = command if isinstance(command, str) and len(command) <= 40 else call.get("name", "")
    words = {word.lower() for word in _WORD.findall(str(told))}
    if words & _CHANGES:
        return True
    return False if words & _READS else None


def _find_paths(call: Block) -> Iterator[str]:
    arguments = call.get("input")
    if not isinstance(arguments, Mapping):
        return
    for key, value in arguments.items():
        if re.sub(r"[^a-z]", "", str(key).lower()) in _KEYS:
            yield from _read_paths(value)
        elif isinstance(value, str) and "\n" in value and "patch" in str(call.get("name")).lower():
            yield from (path.strip() for path in _PATCHED.findall(value[:LONGEST_PATCH]))


def _read_paths(value: Any) -> Iterator[str]:
    """The paths in an argument: one, a list, or objects that have one."""
    if isinstance(value, str):
        if len(value) <= LONGEST and _PATH.fullmatch(value) and "[#" not in value:
            yield value
    elif isinstance(value, Mapping):
        yield from _find_paths({"type": "tool_use", "input": value})
    elif isinstance(value, Sequence):
        for each in value[:MOST]:
            yield from _read_paths(each)


def _write_line(name: str, paths: Mapping[str, int], room: int, counter: TokenCounter) -> str:
    """A bullet of the latest of the paths that there is room for, with the messages of all; "" for
    none."""
    kept: list[str] = []
    room -= counter.count(f"- {name}:  and 999 more [#999999–#999999]\n")
    for path in [*paths][: -MOST - 1 : -1]:
        room -= counter.count(f"`{path}`, ")
        if room < 0:
            break
        kept.append(path)
    if not kept:
        return ""
    listed = ", ".join(f"`{path}`" for path in kept)
    more = f" and {len(paths) - len(kept)} more" if len(paths) > len(kept) else ""
    first, last = min(paths.values()), max(paths.values())
    cited = f"#{first}" if first == last else f"#{first}–#{last}"
    return f"- {name}: {listed}{more} [{cited}]"
