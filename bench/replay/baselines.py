"""What the same turns cost with simpler strategies: by arithmetic on the turns' sizes.

The prompt cache is taken at its best: what was sent before is read as long as the cache lives,
after a longer pause all is written anew. `tests/bench` holds this against the real cache.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.context.request import CACHE_SECONDS, Ttl
from agent.tokens import Prices
from demo.api.tokens import MESSAGE_OVERHEAD_BYTES, tokens_of_bytes

SUMMARY_TOKENS, TAIL_TOKENS = 2_000, 32_000
WINDOW_RATIO = 0.8
OVERHEAD = tokens_of_bytes(MESSAGE_OVERHEAD_BYTES)


@dataclass(frozen=True, slots=True)
class TurnSize:
    """A turn: seconds before it, tokens of the user's message and of the answer. In a prompt each
    takes `OVERHEAD` more."""

    gap: float
    user: int
    answer: int


def full_history(
    turns: Iterable[TurnSize], prices: Prices, system: int, *, ttl: Ttl = "5m"
) -> float:
    """US dollars with everything sent each time, as if the window had no end."""
    return _grown(turns, prices, system, None, ttl)


def plain_80_window(
    turns: Iterable[TurnSize], prices: Prices, system: int, window: int, *, ttl: Ttl = "5m"
) -> float:
    """US dollars with a summary of the whole at 80 % of the window, written on the cached prefix;
    it and the last 32,000 tokens remain."""
    return _grown(turns, prices, system, int(WINDOW_RATIO * window), ttl)


def _grown(
    turns: Iterable[TurnSize], prices: Prices, system: int, limit: int | None, ttl: Ttl
) -> float:
    write = prices.cache_write if ttl == "5m" else 2 * prices.input
    micro = 0.0
    before = system  # of the next prompt, without the user's message
    cached = 0  # of it, if the next turn comes in time
    for turn in turns:
        warm = turn.gap < CACHE_SECONDS[ttl]
        if limit and before + turn.user >= limit:
            read = before * (prices.cache_read if warm else prices.input)
            micro += read + SUMMARY_TOKENS * prices.output
            before, cached = system + SUMMARY_TOKENS + TAIL_TOKENS, 0
        prompt = before + turn.user + OVERHEAD
        read = cached if warm else 0
        micro += read * prices.cache_read + (prompt - read) * write
        micro += turn.answer * prices.output
        before, cached = prompt + turn.answer + OVERHEAD, prompt
    return micro / 1e6


def sliding_window(turns: Iterable[TurnSize], prices: Prices, system: int, limit: int) -> float:
    """US dollars with the oldest turns dropped from `limit` on. Then each prompt begins
    differently, and nothing is worth writing to the cache."""
    micro = 0.0
    kept: list[int] = []
    cached = used = 0
    for turn in turns:
        warm = turn.gap < CACHE_SECONDS["5m"]
        dropped = False
        while kept and system + used + turn.user > limit:
            used -= kept.pop(0)
            dropped = True
        prompt = system + used + turn.user + OVERHEAD
        read = cached if warm and not dropped else 0
        price = prices.input if dropped else prices.cache_write
        micro += read * prices.cache_read + (prompt - read) * price + turn.answer * prices.output
        cached = 0 if dropped else prompt
        kept.append(turn.user + turn.answer + 2 * OVERHEAD)
        used += kept[-1]
    return micro / 1e6
