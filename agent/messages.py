"""Messages and usage as values. Blocks are plain dicts, exactly the API's content blocks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Block = dict[str, Any]
Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the active branch; `tokens` is the raw count, before the model's factor."""

    number: int
    role: Role
    blocks: Sequence[Block]
    tokens: int

    @property
    def holds_tool_results(self) -> bool:
        return any(block["type"] == "tool_result" for block in self.blocks)

    @property
    def is_prompt(self) -> bool:
        """Whether a person wrote it: a user message that is more than tool results."""
        return self.role == "user" and any(b["type"] != "tool_result" for b in self.blocks)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the API reported for one or several calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    @classmethod
    def from_api(cls, usage: Mapping[str, Any] | None) -> "Usage":
        """From the `usage` object of a reply; absent and null fields count as 0."""
        usage = usage or {}
        return cls(**{name: int(usage.get(name) or 0) for name in cls.__slots__})

    @property
    def prompt(self) -> int:
        """The whole prompt: `input_tokens` alone leaves out what the cache served."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens

    @property
    def total(self) -> int:
        return self.prompt + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


def sound_text(text: str) -> str:
    """Join surrogate pairs that arrived in two pieces; replace lone ones and NUL by U+FFFD.

    JSON can carry both, UTF-8 cannot carry the first and PostgreSQL cannot store the second.
    """
    if text.isascii() and "\0" not in text:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "\ufffd")


def sound(value: Any) -> Any:
    """`sound_text` for every string in a JSON value."""
    if isinstance(value, str):
        return sound_text(value)
    if isinstance(value, list):
        return [sound(item) for item in value]
    if isinstance(value, dict):
        return {sound_text(key): sound(item) for key, item in value.items()}
    return value


def result_text(block: Block) -> str:
    """The readable part of a tool result, whose content is a string or a list of blocks."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return plain_text(item for item in content if isinstance(item, dict))
    return json.dumps(content, ensure_ascii=False) if content is not None else ""


def block_text(block: Block) -> str:
    """What a reader would take from one block; thinking and binary data give nothing."""
    kind = block.get("type", "")
    if kind == "text":
        return str(block.get("text", ""))
    if kind.endswith("tool_use"):
        return f"[{block.get('name', 'tool')} {json.dumps(block.get('input'), ensure_ascii=False)}]"
    if kind.endswith("tool_result"):
        return result_text(block)
    if kind in ("image", "document"):
        source = block.get("source") or {}
        name = block.get("title") or source.get("media_type") or kind
        return f"[Attached {kind}: {name}]"
    return ""


def plain_text(blocks: Iterable[Block]) -> str:
    """The text of a message, for search, export, previews and the summariser."""
    return "\n\n".join(text for text in map(block_text, blocks) if text)
