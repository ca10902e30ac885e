"""What a provider's events may hold. Each value is checked once, where `agent.model.reply` folds
it: nothing that would break later gets into a reply. All raise ValueError."""

import math
from collections.abc import Iterator
from typing import Any

from agent.messages import Block

DEEPEST = 100  # levels of a JSON value: `sound` and Python's own encoder walk it recursively
LONGEST_STOP_REASON = 40  # characters
# Of one event or block: twenty search results or a document have some hundreds. Each is looked at
# several times, on the event loop.
MOST_VALUES = 50_000
MOST_CITATIONS = 1_000  # of one block, which may cite a text in several places

# Fields of blocks that are text wherever they occur, or null.
_TEXTS = {
    *("type", "id", "name", "text", "thinking", "signature", "tool_use_id", "url", "title"),
    *("cited_text", "document_title", "encrypted_content", "encrypted_index", "page_age"),
    "error_code",
}


def require_text(holder: dict[str, Any], name: str) -> str:
    """A field that has to be text."""
    value = holder[name]
    if type(value) is not str:
        raise ValueError(f"{name} is not text")
    return value


def read_optional_text(holder: dict[str, Any], name: str) -> str:
    """A field that is text, or absent or null: ""."""
    return "" if holder.get(name) is None else require_text(holder, name)


def require_object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that has to be an object."""
    value = holder[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    return value


def read_optional_object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that is an object, or absent or null: {}."""
    return {} if holder.get(name) is None else require_object(holder, name)


def require_index(event: dict[str, Any]) -> int:
    """The number of the block that an event is about."""
    index = event["index"]
    if type(index) is not int or index < 0:
        raise ValueError("index is not a number of a block")
    return index


def read_stop_reason(holder: dict[str, Any]) -> str:
    """Why a reply ended; "" where the server does not say."""
    reason = read_optional_text(holder, "stop_reason")
    if len(reason) > LONGEST_STOP_REASON:
        raise ValueError("stop_reason is too long")
    return reason


def require_storable(value: Any) -> Any:
    """A JSON value as it came, which a database takes and can give back: not too deep, no NaN."""
    for _ in _within(value):
        pass
    return value


def check_block(block: Any, calls: set[str]) -> Block:
    """A content block without its null fields, as a stream begins it or a whole reply brings it.
    `calls`: the ids of the calls before it, and then of its own too."""
    if not isinstance(block, dict):
        raise ValueError("a block is not an object")
    kind = require_text(block, "type")
    _check_texts({name: value for name, value in block.items() if name != "input"})
    require_storable(block.get("input"))
    if kind.endswith("tool_use"):
        read_optional_object(block, "input")
        if not require_text(block, "id") or not require_text(block, "name"):
            raise ValueError("a call has no id or no name")
        if block["id"] in calls:
            raise ValueError("two calls have one id")
        calls.add(block["id"])
    if kind.endswith("tool_result"):
        require_text(block, "tool_use_id")
    if kind == "text":
        _check_citations(block.get("citations"))
    return {name: value for name, value in block.items() if value is not None}


def check_citation(citation: Any) -> dict[str, Any]:
    """What a text cites."""
    _check_citations([citation])
    kept: dict[str, Any] = citation
    return kept


def _check_citations(citations: Any) -> None:
    if citations is None:
        return
    if not isinstance(citations, list) or not all(isinstance(each, dict) for each in citations):
        raise ValueError("citations are not a list of objects")
    if len(citations) > MOST_CITATIONS:
        raise ValueError("too many citations")
    _check_texts(citations)


def _check_texts(value: Any) -> None:
    """Raise for a field of `_TEXTS` that is something else, at any depth."""
    for each in _within(value):
        if not isinstance(each, dict):
            continue
        for name in _TEXTS & each.keys():
            if each[name] is not None or name == "type":
                require_text(each, name)
        content = each.get("content")
        if content is not None and not isinstance(content, str | list | dict):
            raise ValueError("content is neither text nor blocks")
        if isinstance(content, str) and each.get("type") == "web_fetch_result":
            raise ValueError("a page is not an object")


def _within(value: Any) -> Iterator[Any]:
    """Every value within a JSON value, and itself. Raises for one that could not be stored."""
    level, seen = [value], 0
    for _ in range(DEEPEST):
        if not level:
            return
        seen += len(level)
        if seen > MOST_VALUES:
            raise ValueError("too many values")
        yield from level
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list):
                below += each
            elif isinstance(each, float) and not math.isfinite(each):
                raise ValueError("a number is not finite")
        level = below
    raise ValueError("a value is too deep")
