"""What the server remembers of the requests it got."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from demo.api.tokens import blocks_of

Endpoint = Literal["messages", "count_tokens", "models"]
Kind = Literal["chat", "summary", "title"]
_TIME = re.compile(r"\[((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d[^\]\n]+)\]")


@dataclass
class RecordedRequest:
    """One request as it came.

    raw: the exact bytes of the body; body: the parsed JSON ({} if it was not a JSON object).
    headers: lower-case names. received_at: seconds since the epoch; received_ns: monotonic.
    violations: the rules of the API that it breaks. kind: chat, summary or title.
    """

    endpoint: Endpoint
    path: str
    headers: dict[str, str]
    raw: bytes
    body: dict[str, Any]
    kind: Kind = "chat"
    violations: list[str] = field(default_factory=list)
    received_at: float = field(default_factory=time.time)
    received_ns: int = field(default_factory=time.monotonic_ns)

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body.get("messages") or []
        return messages

    @property
    def system_text(self) -> str:
        """The system prompt's blocks, one after the other."""
        blocks = blocks_of(self.body.get("system") or [])
        return "\n\n".join(str(block.get("text", "")) for block in blocks)

    @property
    def last_user_text(self) -> str:
        """The text blocks of the last user message."""
        for message in reversed(self.messages):
            if message.get("role") == "user":
                return join_text(message)
        return ""


@dataclass(frozen=True)
class Disconnect:
    """A client that went away before its answer was complete."""

    request: RecordedRequest
    deltas_sent: int
    at: float


@dataclass
class BilledCall:
    """What a call costs that the server has begun to answer: the usage of the whole reply, and
    whether its client was sent all of it. Of one that was not, the reply's own tokens are the
    most that it costs."""

    request: RecordedRequest
    request_id: str
    usage: dict[str, Any]
    is_whole: bool = False


def join_text(message: dict[str, Any]) -> str:
    """A message's text blocks joined by blank lines, without what Everlong says of the time."""
    return "\n\n".join(text for text in _texts(message) if not _TIME.fullmatch(text))


def find_time(message: dict[str, Any]) -> str:
    """What a message says of the time at which it was sent, "" for nothing."""
    told = filter(None, map(_TIME.fullmatch, _texts(message)))
    return next((match[1] for match in told), "")


def _texts(message: dict[str, Any]) -> list[str]:
    blocks = blocks_of(message.get("content"))
    return [str(b.get("text", "")) for b in blocks if b.get("type") == "text"]
