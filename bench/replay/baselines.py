"""What the same turns cost with simpler strategies: by arithmetic on the turns' sizes.

The prompt cache is taken at its best: what was sent before is read as long as the cache lives,
after a longer pause all is written anew. `tests/bench` holds this against the real cache.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.context.request import CACHE_SECONDS, Ttl
from agent.messages import Usage
from bench.replay.spending import Spending
from demo.api.tokens import MESSAGE_OVERHEAD_BYTES, tokens_of_bytes

# A plain summary replaces the one before it.
SUMMARY_TOKENS = 2_000
WINDOW_RATIO = 0.8
OVERHEAD = tokens_of_bytes(MESSAGE_OVERHEAD_BYTES)


@dataclass(frozen=True, slots=True)
class TurnSize:
    """A turn: seconds before it, tokens of the user's message and of the answer. In a request each
    takes `OVERHEAD` more."""

    gap: float
    user: int
    answer: int


def full_history(turns: Iterable[TurnSize], system: int, *, ttl: Ttl = "5m") -> Spending:
    """Everything is sent each time, as if the window had no end."""
    return _grow(turns, system, None, 0, ttl)


def plain_summary(
    turns: Iterable[TurnSize], system: int, limit: int, recent: int, *, ttl: Ttl = "5m"
) -> Spending:
    """The usual way: at `limit` tokens one call on the cached prefix writes one summary of the
    whole, without an instruction's price and without a check; it and the last `recent` tokens
    remain."""
    return _grow(turns, system, limit, recent, ttl)


def _grow(
    turns: Iterable[TurnSize], system: int, limit: int | None, recent: int, ttl: Ttl
) -> Spending:
    spent = Spending()
    before = system  # of the next request, without the user's message
    cached = 0  # of it, if the next turn comes in time
    for turn in turns:
        warm = turn.gap < CACHE_SECONDS[ttl]
        if limit and before + turn.user >= limit:
            read, new = (before, 0) if warm else (0, before)
            spent.summaries += Usage(new, SUMMARY_TOKENS, cache_read_input_tokens=read)
            spent.summary_calls += 1
            spent.sizes_before.append(before + turn.user)
            before, cached = system + SUMMARY_TOKENS + recent, 0
            spent.sizes_after.append(before)
        request = before + turn.user + OVERHEAD
        read = cached if warm else 0
        spent.answers += _cached(read, request - read, turn.answer, ttl)
        spent.requests += 1
        before, cached = request + turn.answer + OVERHEAD, request
    return spent


def _cached(read: int, written: int, output: int, ttl: Ttl) -> Usage:
    return Usage(0, output, read, written, written if ttl == "1h" else 0)
