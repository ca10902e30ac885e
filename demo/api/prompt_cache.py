"""Prompt-cache accounting: which part of a prompt an earlier request has already paid for.

The prompt is a sequence of blocks (tools, system, messages). A breakpoint stores the hash of all
bytes before and including its block. A later breakpoint finds an entry at its own block or at one
of the 19 blocks before it, as the API does. Not modelled: that an entry becomes readable only when
the first answer has begun, and that caches belong to a workspace.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from demo.api.protocol import PromptUsage
from demo.api.tokens import (
    Block,
    Body,
    compact_json,
    encode_text,
    segments,
    tokens_of_bytes,
    without_cache_control,
)

LOOKBACK_BLOCKS = 20
PURGE_AT_ENTRIES = 10_000
TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}
SETTINGS_OF_MESSAGES = ("tool_choice", "thinking", "output_config")


@dataclass
class _Entry:
    expires: float
    ttl: str


class PromptCache:
    """Remembers prefixes; `clock` gives seconds, and may be virtual.

    minimum_tokens: shorter prefixes are silently not cached (the API's minimum is 512 to 4,096).
    """

    def __init__(
        self, *, minimum_tokens: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._minimum = minimum_tokens
        self._clock = clock
        self._entries: dict[bytes, _Entry] = {}
        self._purge_at = PURGE_AT_ENTRIES

    def account(self, body: Body) -> PromptUsage:
        """Count a request's prompt, refresh what it reads and store what it writes."""
        now = self._clock()
        digests, ends, breakpoints = _walk(body)
        total = tokens_of_bytes(ends[-1]) if ends else 0
        cacheable = [b for b in breakpoints if tokens_of_bytes(ends[b[0]]) >= self._minimum]
        if not cacheable:
            return PromptUsage(total)

        hit = self._longest_hit(digests, [position for position, _ in cacheable], now)
        reached = tokens_of_bytes(ends[hit]) if hit >= 0 else 0
        read, written = reached, {"5m": 0, "1h": 0}
        for position, ttl in cacheable:
            if position > hit:
                end = tokens_of_bytes(ends[position])
                written[ttl] += end - reached
                reached = end
            self._store(digests[position], ttl, now)
        return PromptUsage(total - reached, written["5m"], written["1h"], read)

    def _longest_hit(self, digests: list[bytes], positions: list[int], now: float) -> int:
        """The last block of the longest live prefix, -1 if none; reading it renews it."""
        for position in reversed(positions):
            for candidate in range(position, max(-1, position - LOOKBACK_BLOCKS), -1):
                entry = self._entries.get(digests[candidate])
                if entry is None:
                    continue
                if entry.expires > now:
                    entry.expires = now + TTL_SECONDS[entry.ttl]
                    return candidate
                del self._entries[digests[candidate]]
        return -1

    def _store(self, digest: bytes, ttl: str, now: float) -> None:
        known = self._entries.get(digest)
        # A five-minute request must not shorten an entry that was written for an hour.
        if known is not None and known.expires > now and TTL_SECONDS[known.ttl] > TTL_SECONDS[ttl]:
            ttl = known.ttl
        if len(self._entries) >= self._purge_at:
            self._entries = {d: e for d, e in self._entries.items() if e.expires > now}
            self._purge_at = max(PURGE_AT_ENTRIES, 2 * len(self._entries))
        self._entries[digest] = _Entry(now + TTL_SECONDS[ttl], ttl)


def _walk(body: Body) -> tuple[list[bytes], list[int], list[tuple[int, str]]]:
    """Per block the hash and the end in bytes of the prefix up to it; and (position, ttl) of the
    breakpoints in order."""
    running = blake2b(encode_text(str(body.get("model"))), digest_size=16)
    digests: list[bytes] = []
    ends: list[int] = []
    breakpoints: list[tuple[int, str]] = []
    size, in_messages = 0, False
    for section, block, block_bytes in segments(body):
        if section not in ("tools", "system") and not in_messages:
            in_messages = True
            for name in SETTINGS_OF_MESSAGES:
                running.update(encode_text(compact_json(body.get(name))))
        running.update(encode_text(section + compact_json(without_cache_control(block)) + "\n"))
        size += block_bytes
        digests.append(running.copy().digest())
        ends.append(size)
        ttl = _ttl(_control(block))
        if ttl is not None:
            breakpoints.append((len(ends) - 1, ttl))
    automatic = _ttl(body.get("cache_control"))
    if automatic is not None and ends and (not breakpoints or breakpoints[-1][0] < len(ends) - 1):
        breakpoints.append((len(ends) - 1, automatic))
    return digests, ends, breakpoints


def _control(block: Block) -> Any:
    """The block's breakpoint, or one inside a tool result, which ends at the same place."""
    if "cache_control" in block:
        return block["cache_control"]
    content = block.get("content")
    if block.get("type") == "tool_result" and isinstance(content, list):
        for inner in content:
            if isinstance(inner, dict) and "cache_control" in inner:
                return inner["cache_control"]
    return None


def _ttl(control: Any) -> str | None:
    if not isinstance(control, dict):
        return None
    ttl = control.get("ttl") or "5m"
    return ttl if ttl in TTL_SECONDS else None
