"""Which thinking blocks the server issued, and for which conversation.

A thinking block may come back only byte for byte as it was issued, and only after the very same
tools, system prompt and messages: newer models bind its signature to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from demo.api.protocol import ScriptedReply
from demo.api.tokens import Block, Body, blocks_of, compact_json, encode_text, without_cache_control


class ThinkingLedger:
    """Remembers issued thinking blocks and checks the ones that come back."""

    def __init__(self) -> None:
        self._issued: dict[str, tuple[Block, bytes]] = {}

    def issue(self, body: Body, reply: ScriptedReply) -> None:
        """Remember the reply's thinking blocks as bound to the request they answer."""
        thoughts = [b for b in reply.blocks if b["type"] in ("thinking", "redacted_thinking")]
        if thoughts:
            prefix = _digest(body, len(body.get("messages") or []))
            for block in thoughts:
                self._issued[_seal(block)] = (block, prefix)

    def violations(self, body: Body) -> list[str]:
        """What is wrong with the thinking blocks that a request carries."""
        found: list[str] = []
        for index, block in _returned(body):
            known = self._issued.get(_seal(block))
            if known is None:
                found.append(f"messages.{index}: thinking block was not issued by this server")
            elif known[0] != without_cache_control(block):
                found.append(f"messages.{index}: thinking block was modified")
            elif known[1] != _digest(body, index):
                found.append(
                    f"messages.{index}: Invalid `signature` in `thinking` block. "
                    "The block is bound to a different conversation"
                )
        return found


def _returned(body: Body) -> Iterator[tuple[int, Block]]:
    for index, message in enumerate(body.get("messages") or []):
        if isinstance(message, dict) and message.get("role") == "assistant":
            for block in blocks_of(message.get("content")):
                if block.get("type") in ("thinking", "redacted_thinking"):
                    yield index, block


def _seal(block: Block) -> str:
    return str(block.get("signature") or block.get("data"))


def _digest(body: Body, messages: int) -> bytes:
    """The hash of tools, system and the first messages, whatever form their text has."""
    running = blake2b(digest_size=16)
    for tool in body.get("tools") or []:
        _add(running, "tool", tool)
    for block in blocks_of(body.get("system") or []):
        _add(running, "system", block)
    for message in (body.get("messages") or [])[:messages]:
        for block in blocks_of(message.get("content")):
            _add(running, str(message.get("role")), block)
    return running.digest()


def _add(running: Any, section: str, block: Block) -> None:
    running.update(encode_text(section + compact_json(without_cache_control(block)) + "\n"))
