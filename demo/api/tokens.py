"""Token counting by a stand-in that needs no vocabulary: UTF-8 bytes divided by four, rounded up.

What is counted: tool definitions and non-text blocks as compact JSON, text as itself, and a fixed
number of bytes per message for the role markers. Base64 says nothing about what media cost, so an
image or a document that is not plain text counts as a fixed number of tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

BYTES_PER_TOKEN = 4
MESSAGE_OVERHEAD_BYTES = 16
MEDIA_TOKENS = 1500

Block = dict[str, Any]
Body = Mapping[str, Any]


def tokens_of_bytes(size: int) -> int:
    """Tokens for `size` bytes, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def count_text(text: str) -> int:
    """Tokens of a text."""
    return tokens_of_bytes(len(encode_text(text)))


def encode_text(text: str) -> bytes:
    """UTF-8 that also takes lone surrogates, which JSON can carry."""
    return text.encode("utf-8", "surrogatepass")


def compact_json(value: Any) -> str:
    """JSON without spaces, in the order of the keys as they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def blocks_of(content: Any) -> list[Block]:
    """Content as a list of blocks: a string is one text block; anything else has no blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def block_size(block: Block) -> int:
    """Bytes that a block counts for."""
    kind = block.get("type")
    if kind == "text":
        return len(encode_text(str(block.get("text", ""))))
    if kind in ("image", "document"):
        source = block.get("source")
        if isinstance(source, dict) and source.get("type") == "text":
            return len(encode_text(str(source.get("data", ""))))
        return MEDIA_TOKENS * BYTES_PER_TOKEN
    if kind == "tool_result" and isinstance(block.get("content"), list):
        nested = sum(block_size(inner) for inner in blocks_of(block["content"]))
        return nested + len(str(block.get("tool_use_id", "")))
    return len(encode_text(compact_json(without_cache_control(block))))


def without_cache_control(block: Block) -> Block:
    """The block without its breakpoints, which are instructions and not content."""
    if "cache_control" in block:
        block = {key: value for key, value in block.items() if key != "cache_control"}
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        nested = [without_cache_control(inner) for inner in blocks_of(block["content"])]
        block = {**block, "content": nested}
    return block


def segments(body: Body) -> Iterator[tuple[str, Block, int]]:
    """The prompt in the order in which the API reads it: (section, block, bytes).

    Sections are "tools", "system" and the role of a message; the bytes of a message's overhead
    are counted with its first block.
    """
    for tool in body.get("tools") or []:
        if isinstance(tool, dict):
            yield "tools", tool, len(encode_text(compact_json(without_cache_control(tool))))
    for block in blocks_of(body.get("system") or []):
        yield "system", block, block_size(block)
    for message in body.get("messages") or []:
        if not isinstance(message, dict):
            continue
        overhead = MESSAGE_OVERHEAD_BYTES
        for block in blocks_of(message.get("content")):
            yield str(message.get("role")), block, block_size(block) + overhead
            overhead = 0


def count_request_tokens(body: Body) -> int:
    """Tokens of system, tools and messages together."""
    return tokens_of_bytes(sum(size for _, _, size in segments(body)))


def count_blocks(blocks: tuple[Block, ...] | list[Block]) -> int:
    """Tokens of an answer's content blocks."""
    return sum(tokens_of_bytes(block_size(block)) for block in blocks)
