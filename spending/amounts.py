"""What a call costs, or may cost."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from spending.models import DECIMALS, Unit

NANO = 10**DECIMALS  # counters count billionths of a dollar


@dataclass(frozen=True, slots=True)
class Amount:
    """What a call costs, or may cost: US dollars, and tokens read and written. What is changed of
    it later may be negative."""

    dollars: Decimal = Decimal(0)
    tokens: int = 0

    def count(self, unit: str) -> int:
        """In billionths of a dollar, rounded up, or in tokens."""
        if unit == Unit.TOKENS:
            return self.tokens
        return int((self.dollars * NANO).to_integral_value(ROUND_CEILING))


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a call can cost. `request_tokens`, `request_dollars`: of what is sent, at the
    dearest class that it may have; `max_tokens`: what may be written; `dollars_per_token`: what
    each of these costs."""

    request_tokens: int
    request_dollars: Decimal
    max_tokens: int
    dollars_per_token: Decimal

    def count(self, max_tokens: int) -> Amount:
        """What it is with so many tokens of output."""
        return Amount(
            self.request_dollars + self.dollars_per_token * max_tokens,
            self.request_tokens + max_tokens,
        )
