"""What is counted in a replay: tokens of texts that come again and again, and what happened."""

from dataclasses import dataclass, field
from functools import lru_cache

from agent.compaction.policy import Method
from agent.messages import RawTokens
from agent.tokens import TokenCounter


class RememberingCounter(TokenCounter):
    """Counts a text once: the replays repeat texts, and each request measures the summary."""

    @lru_cache(maxsize=20_000)  # noqa: B019 - it lives as long as the benchmark
    def count(self, text: str) -> RawTokens:
        return super().count(text)


@dataclass
class Tally:
    """What happened. `locks`: milliseconds that a turn was held for each automatic compaction."""

    locks: list[float] = field(default_factory=list)
    blocking: int = 0
    blocking_after_large: int = 0  # where the turn itself added over a tenth of the budget
    trimmed: int = 0
    failures: list[str] = field(default_factory=list)
    engines: dict[Method, int] = field(default_factory=dict)
    depth: int = 0
    resting: int = 0
    dollars: list[float] = field(default_factory=list)  # in all, after each turn
    summary_dollars: list[float] = field(default_factory=list)  # of that, the summaries

    @property
    def compactions(self) -> int:
        return sum(self.engines.values())
