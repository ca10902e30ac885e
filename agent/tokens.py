"""Counting: a raw cl100k_base count per message, a factor per model learned from reported usage."""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NewType

from agent.attachments import reference
from agent.messages import Block, result_text
from agent.vocabulary import load_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding

# Two units that must not be mixed: what `TokenCounter` counts, which is stored with each message,
# and what the model will count. Only `Factor` makes one of the other.
RawTokens = NewType("RawTokens", int)
RealTokens = NewType("RealTokens", int)

# A million spaces make tiktoken panic with a BaseException; 100 kB pieces are safe and cut at
# most a token each.
PIECE = 100_000
# Prose has about 4 bytes a cl100k token; the smaller divisor errs towards compacting early.
BYTES_PER_TOKEN = 3.5
# What role and separators add to each message.
MESSAGE_OVERHEAD = 4
# The API counts ceil(w/28) * ceil(h/28), at most 4,784; without the size, that of 1092 x 1092.
IMAGE_TOKENS = 1_521
# A page of text in a PDF, whose size in tokens the API alone knows: 1,500 to 3,000 a page.
DOCUMENT_BYTES_PER_TOKEN = 20
# Real tokens per cl100k token, by the longest prefix of the model's name: medians of reported usage
# (`python -m bench.tokens`). From Claude 4.7 on the tokenizer gives about 30 % more tokens.
START_FACTORS = {
    "claude-3": 1.12,
    "claude-opus-4": 1.15,
    "claude-sonnet-4": 1.12,
    "claude-haiku-4": 1.11,
    "claude-opus-4-7": 1.42,
    "claude-opus-4-8": 1.42,
    "claude-sonnet-4-7": 1.42,
    "claude-sonnet-4-8": 1.42,
}
UNKNOWN_FACTOR = 1.5
# Replies after which one more moves the factor by a twentieth.
LEARNING_WINDOW = 20
# Below this, fixed overhead rules the ratio.
LEARNING_MINIMUM = 100


@dataclass(frozen=True)
class TokenCounter:
    """Raw counts of texts and blocks. `directory` holds the vocabulary file, or nothing."""

    directory: Path

    @cached_property
    def encoding(self) -> "Encoding | None":
        """The vocabulary, or None where set-up could not get it: then bytes are counted."""
        return load_encoding(self.directory)

    def count(self, text: str) -> RawTokens:
        """Raw tokens of `text`."""
        if not text:
            return RawTokens(0)
        encoding = self.encoding
        if encoding is None:
            return RawTokens(math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN))
        if len(text) <= PIECE:
            return RawTokens(len(encoding.encode_ordinary(text)))
        pieces = (text[i : i + PIECE] for i in range(0, len(text), PIECE))
        return RawTokens(sum(len(encoding.encode_ordinary(piece)) for piece in pieces))

    def count_blocks(self, blocks: list[Block]) -> RawTokens:
        """Raw tokens of one message. Thinking counts nothing: finished turns are sent without."""
        return RawTokens(MESSAGE_OVERHEAD + sum(map(self._count_block, blocks)))

    def _count_block(self, block: Block) -> int:
        kind = block.get("type", "")
        if kind == "text":
            return self.count(block.get("text", ""))
        if kind in ("thinking", "redacted_thinking"):
            return 0
        if source := reference(block):
            return int(source["tokens"])
        if kind == "image":
            return IMAGE_TOKENS
        if kind == "document":
            source = block.get("source") or {}
            data = source.get("data") or ""
            if source.get("type") == "text":
                return self.count(data)
            return max(IMAGE_TOKENS, len(data) // DOCUMENT_BYTES_PER_TOKEN)
        if kind == "tool_result":
            content = block.get("content")
            parts = content if isinstance(content, list) else []
            images = len([part for part in parts if part.get("type") == "image"])
            return self.count(result_text(block)) + images * IMAGE_TOKENS
        return self.count(json.dumps(block, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Factor:
    """Real tokens per raw token of one model, and from how many replies it was learned."""

    value: float
    samples: int

    @classmethod
    def start(cls, model: str) -> "Factor":
        """What is assumed of a model before any of its replies was seen."""
        known = [prefix for prefix in START_FACTORS if model.startswith(prefix)]
        value = START_FACTORS[max(known, key=len)] if known else UNKNOWN_FACTOR
        return cls(value, 0)

    def apply(self, raw: RawTokens) -> RealTokens:
        """What the model will count, rounded up: an estimate errs towards compacting early."""
        return RealTokens(math.ceil(raw * self.value))

    def raw(self, real: float) -> RawTokens:
        """How many raw tokens fill so many real ones, rounded down."""
        return RawTokens(int(real / self.value))

    def learn(self, raw: RawTokens, reported: int) -> "Factor":
        """Move towards one reply's ratio: the mean at first, then a moving average.

        A ratio outside 0.5 to 4 is no tokenizer's: the server counted something else.
        """
        if raw < LEARNING_MINIMUM or not 0.5 <= reported / raw <= 4:
            return self
        samples = self.samples + 1
        step = 1 / min(samples, LEARNING_WINDOW)
        return Factor(self.value + (reported / raw - self.value) * step, samples)
