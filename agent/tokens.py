"""Counting: a raw cl100k_base count per message, a factor per model learned from reported usage;
what fits a model, and what it costs."""

import json
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent.attachments import find_reference
from agent.messages import AgentMessage, Block, RawTokens, RealTokens, Usage, result_text
from agent.model_names import find_id
from agent.vocabulary import load_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding

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
# To write to the prompt cache for an hour costs twice the input price; for five minutes 1.25 times:
# 1.6 times as much, of which this is what is added.
HOUR_PREMIUM = Decimal("0.6")
# Each search of the web that the server makes: $10 per 1,000 (Anthropic's price list, November
# 2026). Pages that it fetches cost their tokens alone.
SEARCH_DOLLARS = Decimal("0.01")
PER_MILLION = Decimal("0.000001")
# A factor that is settled moves by so much at least, a hundredth of what estimates are off by: all
# conversations of a model share it, and each move is stored and measures them anew.
LEAST_MOVE = 0.0005
# Of the factor that something was cut by: between these it stays as it was cut. A preview of two
# fifths of the budget has half of it at most then, and it costs little to have it smaller.
FALLEN, RISEN = 0.5, 1.25
# Below this, fixed overhead dominates the ratio.
LEARNING_MINIMUM = 100
# A report of less than this share of the estimate is not believed.
BELIEVED_SHARE = 0.5


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
        """Raw tokens of one message. Without its thinking, of which the text that is shown tells
        nothing; see `AgentMessage.thinking`."""
        return RawTokens(MESSAGE_OVERHEAD + sum(map(self._count_block, blocks)))

    def _count_block(self, block: Block) -> int:
        kind = block.get("type", "")
        if kind == "text":
            return self.count(block.get("text", ""))
        if kind in ("thinking", "redacted_thinking"):
            return 0
        if source := find_reference(block):
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
            files = [part for part in parts if part.get("type") in ("image", "document")]
            return self.count(result_text(block)) + sum(map(self._count_block, files))
        return self.count(json.dumps(block, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Factor:
    """Real tokens per raw token of one model, and from how many replies it was learned."""

    value: float
    samples: int

    @classmethod
    def start(cls, model: str) -> "Factor":
        """What is assumed of a model before any of its replies was seen."""
        known = [prefix for prefix in START_FACTORS if find_id(model).startswith(prefix)]
        value = START_FACTORS[max(known, key=len)] if known else UNKNOWN_FACTOR
        return cls(value, 0)

    def apply(self, raw: RawTokens) -> RealTokens:
        """What the model will count, rounded up: an estimate errs towards compacting early."""
        return RealTokens(math.ceil(raw * self.value))

    def raw(self, real: float) -> RawTokens:
        """How many raw tokens fill so many real ones, rounded down."""
        return RawTokens(int(real / self.value))

    def steady(self, before: float = 0.0) -> "Factor":
        """For what is cut to size and cached: it must not be cut elsewhere with each reply that the
        factor learns from. Rounded up to tenths; or the value that it was cut by `before`, while
        the factor is near enough for it to fit."""
        if before and FALLEN <= self.value / before <= RISEN:
            return replace(self, value=before)
        return replace(self, value=math.ceil(self.value * 10) / 10)

    def learn(self, raw: RawTokens, reported: int) -> "Factor":
        """Move towards one reply's ratio: the mean at first, then a moving average, which stays
        where it would move by less than `LEAST_MOVE`.

        Not from what is not believed. A ratio outside 0.5 to 4 does not come from a tokenizer: the
        server counted something else.
        """
        believed = is_believable(reported, self.apply(raw), self)
        if raw < LEARNING_MINIMUM or not believed or not 0.5 <= reported / raw <= 4:
            return self
        samples = self.samples + 1
        move = (reported / raw - self.value) / min(samples, LEARNING_WINDOW)
        if samples > LEARNING_WINDOW and abs(move) < LEAST_MOVE:
            return self
        return Factor(self.value + move, samples)


def is_believable(reported: int, estimate: RealTokens, factor: Factor) -> bool:
    """Whether a request can have had so few tokens: no estimate of text is twice too high, but some
    servers report only what their cache did not hold. A `factor` that was not learned yet may be
    too high itself."""
    if not factor.samples:
        estimate = min(estimate, RealTokens(factor.raw(estimate)))
    return reported >= BELIEVED_SHARE * estimate


def is_output_believable(reported: int, written: AgentMessage, factor: Factor) -> bool:
    """Whether an answer can have had so few tokens. Its thinking only adds to them, and of a short
    one, or of what the server's own tools did, nobody but the server knows them."""
    if written.tokens < LEARNING_MINIMUM or not written.is_countable:
        return True
    return is_believable(reported, factor.apply(written.tokens), factor)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of one conversation with one model, in real tokens."""

    window: int
    max_output: int
    budget: int
    factor: Factor
    reply: int | None = None  # what a person wants a reply to have at most

    @property
    def usual_reserve(self) -> int:
        """Room for a reply whose length nobody has chosen, and for a summary."""
        return max(1, min(self.max_output, 16_000, self.budget // 5))

    @property
    def max_tokens(self) -> int:
        """Limit of a reply, as it is sent. Half of the budget at most: what a compaction leaves has
        to fit beside it."""
        if self.reply is None:
            return self.usual_reserve
        return max(1, min(self.reply, self.max_output, self.budget // 2))

    @property
    def reserve(self) -> int:
        """Room that is kept free for the reply. A short one frees none: summaries are written in
        the same window."""
        return max(self.usual_reserve, self.max_tokens)

    @property
    def request_limit(self) -> int:
        """The largest request to send: the rest of the window is the reply's, and 1 % margin for
        what the estimate misses."""
        return self.window - self.reserve - self.window // 100


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs in US dollars per million real tokens; to write to the prompt cache, for
    five minutes."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)

    @classmethod
    def of(
        cls,
        input: float = 0.0,
        output: float = 0.0,
        cache_read: float = 0.0,
        cache_write: float = 0.0,
    ) -> "Prices":
        """Prices that are stored as floats, each as the text that somebody typed: 0.1 is a tenth,
        and not the fraction of two that is next to it."""
        typed = (Decimal(str(price)) for price in (input, output, cache_read, cache_write))
        return cls(*typed)

    def dollars(self, usage: Usage) -> Decimal:
        """US dollars of one call, reported or estimated, with its searches of the web. Prices are
        applied nowhere else."""
        millionths = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_input_tokens * self.cache_read
            + usage.cache_creation_input_tokens * self.cache_write
            + usage.ephemeral_1h_input_tokens * self.cache_write * HOUR_PREMIUM
        )
        return millionths * PER_MILLION + usage.web_search_requests * SEARCH_DOLLARS

    def dearest(self, request_tokens: int, cached_for: str | None) -> Decimal:
        """The most US dollars that a request can cost of which the server keeps nothing (None), or
        all of it, for "5m" or "1h"."""
        read = Usage(request_tokens)
        hour = request_tokens if cached_for == "1h" else 0
        kept = Usage(cache_creation_input_tokens=request_tokens, ephemeral_1h_input_tokens=hour)
        return max(self.dollars(read), self.dollars(kept) if cached_for else Decimal(0))

    @property
    def dollars_per_written(self) -> Decimal:
        """US dollars of a token that the model writes."""
        return self.output * PER_MILLION


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can write summaries, by its id."""

    name: str
    limits: Limits
    prices: Prices = Prices()
