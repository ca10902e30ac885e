"""What a call costs, or may cost."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from spending.models import DECIMALS, Unit

NANO = 10**DECIMALS  # counters count billionths of a dollar
_UNIT = Decimal(1).scaleb(-DECIMALS)


def quantise(dollars: Decimal) -> Decimal:
    """US dollars as they are stored."""
    return dollars.quantize(_UNIT)


@dataclass(frozen=True, slots=True)
class Amount:
    """US dollars as they are stored, and tokens read and written. What is changed of a cost that
    was stored may be negative."""

    dollars: Decimal = Decimal(0)
    tokens: int = 0

    def count(self, unit: str) -> int:
        """In billionths of a dollar, or in tokens."""
        return self.tokens if unit == Unit.TOKENS else int(self.dollars * NANO)


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a call can cost: its request's estimated tokens, and their US dollars at the
    dearest class of tokens; the most tokens that are written, and the US dollars of each."""

    request_tokens: int
    request_dollars: Decimal
    max_tokens: int
    dollars_per_token: Decimal

    def with_output(self, tokens: int) -> Amount:
        """What it is with so many tokens of output."""
        dollars = self.request_dollars + self.dollars_per_token * tokens
        return Amount(dollars.quantize(_UNIT, ROUND_CEILING), self.request_tokens + tokens)


FREE = Bound(0, Decimal(0), 0, Decimal(0))  # a call that the server does not charge for
