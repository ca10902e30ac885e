"""What fits a model, and what it costs."""

from dataclasses import dataclass

from agent.messages import Usage
from agent.tokens import Factor

# To write to the prompt cache for an hour costs twice the input price; for five minutes 1.25 times.
HOUR_PREMIUM = 2 / 1.25 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of one conversation with one model, in real tokens."""

    window: int
    max_output: int
    budget: int
    factor: Factor

    @property
    def reserve(self) -> int:
        """Room for the reply, sent as `max_tokens`."""
        return max(1, min(self.max_output, 16_000, self.budget // 5))

    @property
    def prompt_limit(self) -> int:
        """The largest prompt to send: the rest of the window is the reply's, and 1 % margin for
        what the estimate misses."""
        return self.window - self.reserve - self.window // 100


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs in US dollars per million real tokens; to write to the prompt cache, for
    five minutes."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    def dollars(self, usage: Usage) -> float:
        """US dollars of one call, reported or estimated. Prices are applied nowhere else."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_input_tokens * self.cache_read
            + usage.cache_creation_input_tokens * self.cache_write
            + usage.ephemeral_1h_input_tokens * self.cache_write * HOUR_PREMIUM
        ) / 1_000_000


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can write summaries, by its id."""

    name: str
    limits: Limits
    prices: Prices = Prices()
