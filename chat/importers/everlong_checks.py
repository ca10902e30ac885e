"""What a value of Everlong's own format has to be, so that it can be stored, shown and sent.

Each check gives the value back; ValueError says what is wrong with it.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from agent.clock import find_zone
from agent.compaction.policy import METHODS, ChapterForm, Policy
from agent.messages import Usage

LARGEST = 2**31 - 1  # of PostgreSQL's integer
DEEPEST = 40  # lists and objects of a value within each other: pages and the API take no more
MOST_TOKENS = 10**9  # that one call may report
# A block of a person's message that requests may carry; of an answer, any.
USER_BLOCKS = {"text", "image", "document", "tool_result", "search_result"}
# What pages and the engine read of blocks without asking.
NEEDED: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str},
    "redacted_thinking": {"data": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "image": {"source": dict},
    "document": {"source": dict},
}
# Those of its own fields that a conversation cannot have from elsewhere: `policy_for` sets them.
_NOT_CHOSEN = {"enabled", "held", "keep_first_message"}
_RATIOS = {"threshold_ratio": (0.05, 1.0), "prepare_ratio": (0.0, 1.0), "idle_ratio": (0.0, 1.0)}
_NAMED = {"engine": METHODS, "summary_form": tuple(ChapterForm)}
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]{1,200}")


def parse_moment(value: Any) -> Any:
    """A datetime with its zone, from ISO 8601."""
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not 1970 <= moment.year <= 2100:
        raise ValueError("not between 1970 and 2100")
    return moment.astimezone(UTC)


def check_json(value: Any, depth: int = 0) -> Any:
    """A value that both databases can store and every page can write."""
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("not a number that JSON has")
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            check_json(item, depth + 1)
    return value


def check_zone(name: str) -> str:
    if name and find_zone(name) is None:
        raise ValueError(f"the time zone {name[:60]!r} is unknown")
    return name


def check_usage(usage: dict[str, Any]) -> dict[str, Any]:
    """As `agent.messages.Usage` and the meter read it."""
    Usage.from_api(usage)
    details = usage.get("output_tokens_details") or {}
    if not isinstance(details, dict):
        raise ValueError("output_tokens_details is not an object")
    thinking = details.get("thinking_tokens") or 0
    if type(thinking) is not int or not 0 <= thinking <= MOST_TOKENS:
        raise ValueError("thinking_tokens is not a number of tokens")
    return usage


def check_compaction_settings(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of the policy that a conversation may have of its own, each in its range."""
    defaults = {field.name: field.default for field in fields(Policy)}
    for name, value in values.items():
        if name not in defaults or name in _NOT_CHOSEN:
            raise ValueError(f"{name[:40]!r} is no setting")
        if choices := _NAMED.get(name):
            if value not in choices:
                raise ValueError(f"{name}: one of {', '.join(choices)}")
            continue
        kind = type(defaults[name])
        allowed = (int, float) if kind is float else (kind,)
        least, most = _RATIOS.get(name, (0, LARGEST))
        if type(value) not in allowed or not least <= value <= most:
            raise ValueError(f"{name}: {kind.__name__} from {least} to {most}")
    return values


def check_block(block: Any, role: str) -> dict[str, Any]:
    """What pages and the engine read of a block of a user's or an assistant's message."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or not 0 < len(kind) <= 64:
        raise ValueError("a block is an object with a type")
    for name, wanted in NEEDED.get(kind, {}).items():
        if not isinstance(block.get(name), wanted):
            raise ValueError(f"{kind}: {name} is missing or of another type")
    if role == "user" and kind not in USER_BLOCKS:
        raise ValueError(f"a user's message holds no {kind}")
    call = block.get("id") if kind == "tool_use" else block.get("tool_use_id")
    if call is not None and not (isinstance(call, str) and _TOOL_ID.fullmatch(call)):
        raise ValueError(f"{kind}: an id of a call has letters, digits, _ and -")
    if kind == "tool_result":
        content = block.get("content")
        if isinstance(content, list):
            for part in content:
                check_block(part, "user")
        elif content is not None and not isinstance(content, str):
            raise ValueError("tool_result: content is a text or a list of blocks")
    cited = block.get("citations") if kind == "text" else None
    if cited is not None and not (
        isinstance(cited, list) and all(isinstance(each, dict) for each in cited)
    ):
        raise ValueError("text: citations are a list of objects")
    found: dict[str, Any] = block
    return found
