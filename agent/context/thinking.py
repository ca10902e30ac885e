"""Which models read the thinking of finished turns, and where it may stand in a request. Pure."""

import re
from collections.abc import Sequence
from typing import Any

from agent.messages import ApiMessage
from agent.model_names import find_id

THINKING = ("thinking", "redacted_thinking")
# The first version of each family that keeps the thinking of all turns in its context; older ones
# ignore it as soon as the next turn begins.
KEEPING_SINCE = {
    "opus": (4, 5),
    "sonnet": (4, 6),
    "haiku": (5, 0),
    "fable": (5, 0),
    "mythos": (5, 0),
}
# The version's second number has one or two digits: what is longer is a date.
MODEL_NAME = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?![\d.])")


def keeps_thinking(model: str) -> bool:
    """Whether a model reads the thinking of finished turns: then it belongs to the cached request
    and counts. False for models that are not known."""
    name = MODEL_NAME.match(find_id(model))
    if name is None or name[1] not in KEEPING_SINCE:
        return False
    return (int(name[2]), int(name[3] or 0)) >= KEEPING_SINCE[name[1]]


def drop_misplaced_thinking(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without thinking where the API does not take it: after a call, or at the end.
    What is decided of a message hangs on nothing after it, so that requests go on as they began."""
    kept: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ApiMessage):  # all text
            kept.append(message)
            continue
        content = message["content"]
        if _is_misplaced([block["type"] for block in content]):
            content = [block for block in content if block["type"] not in THINKING]
        if content:
            kept.append(message | {"content": content})
    return kept


def _is_misplaced(kinds: Sequence[str]) -> bool:
    thoughts = [index for index, kind in enumerate(kinds) if kind in THINKING]
    return bool(thoughts) and ("tool_use" in kinds[: thoughts[-1]] or kinds[-1] in THINKING)
