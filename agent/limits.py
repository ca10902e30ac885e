"""What fits a model."""

from dataclasses import dataclass

from agent.tokens import Factor


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
