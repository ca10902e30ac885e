"""What a replay took, by what it was for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.messages import Usage
from agent.tokens import Prices


@dataclass
class Spending:
    """Tokens of the answers, in so many requests, and of the summaries. `sizes_before` and
    `sizes_after`: tokens of the context before each compaction and after it."""

    answers: Usage = Usage()
    summaries: Usage = Usage()
    requests: int = 0
    summary_calls: int = 0
    sizes_before: list[int] = field(default_factory=list)
    sizes_after: list[int] = field(default_factory=list)

    @property
    def compactions(self) -> int:
        return len(self.sizes_after)

    @property
    def context(self) -> float:
        """Mean tokens of an answer's request."""
        return self.answers.request_tokens / max(1, self.requests)

    @property
    def before_compaction(self) -> float:
        """Mean tokens of the context when a summary takes the place of its oldest part."""
        return sum(self.sizes_before) / max(1, self.compactions)

    @property
    def after_compaction(self) -> float:
        return sum(self.sizes_after) / max(1, self.compactions)

    def note_compactions(self, versions: Sequence[Any]) -> None:
        """The sizes of the product's summary versions."""
        self.sizes_before = [each.tokens_before for each in versions]
        self.sizes_after = [each.tokens_after for each in versions]

    def dollars(self, prices: Prices) -> float:
        """US dollars in all."""
        return float(prices.dollars(self.answers + self.summaries))

    def list_parts(self, prices: Prices) -> dict[str, float]:
        """US dollars by what they were paid for: together they are `dollars`."""
        answers = self.answers
        hour = answers.ephemeral_1h_input_tokens
        written = Usage(
            cache_creation_input_tokens=answers.cache_creation_input_tokens,
            ephemeral_1h_input_tokens=hour,
        )
        parts = {
            "read": Usage(cache_read_input_tokens=answers.cache_read_input_tokens),
            "written": written,
            "uncached": Usage(input_tokens=answers.input_tokens),
            "output": Usage(output_tokens=answers.output_tokens),
            "summaries": self.summaries,
        }
        return {name: float(prices.dollars(usage)) for name, usage in parts.items()}
