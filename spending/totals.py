"""What the calls of a turn, a conversation and the like have cost together, without the ORM: each
turn's end and each page asks. Those that are open count when they end. Writes nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar
from uuid import UUID

from django.db import connection

from spending.amounts import quantise
from spending.calls import prepare
from spending.models import ModelCall

Key = TypeVar("Key", int, UUID)
TotalsBy = Literal["user", "conversation", "turn", "compaction"]  # each has an index


@dataclass(frozen=True, slots=True)
class Total:
    """Of some calls: tokens of their requests and replies, US dollars, how much of those for
    summaries, and whether a part is an estimate."""

    request_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = Decimal(0)
    summary_dollars: Decimal = Decimal(0)
    is_estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.request_tokens + self.output_tokens


_SUMS = f"""
    SUM(input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens),
    SUM(output_tokens),
    SUM(cost),
    SUM(CASE WHEN compaction IS NULL THEN 0 ELSE cost END),
    MAX(CASE WHEN state = '{ModelCall.State.LOST}' THEN 1 ELSE 0 END)
"""


def load_totals(
    by: TotalsBy, keys: Collection[Key], *, since: datetime | None = None
) -> dict[Key, Total]:
    """The totals of people, conversations and so on, by their ids, in one query; those of calls
    that were opened from `since` on. Who has none is not in it."""
    if not keys:
        return {}
    column = "user_id" if by == "user" else by
    places = ", ".join(["%s"] * len(keys))
    given = [prepare(by, key) for key in keys]
    if since:
        given.append(prepare("opened_at", since))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {column}, {_SUMS} FROM {ModelCall._meta.db_table} "
            f"WHERE {column} IN ({places}) AND state <> '{ModelCall.State.OPEN}' "
            f"{'AND opened_at >= %s ' if since else ''}GROUP BY {column}",
            given,
        )
        found = cursor.fetchall()
    as_key: Any = (lambda value: UUID(str(value))) if by == "conversation" else int
    return {as_key(key): _read_sums(*sums) for key, *sums in found}


def load_total(by: TotalsBy, key: Key) -> Total:
    """The total of one."""
    return load_totals(by, [key]).get(key, Total())


def _read_sums(read: Any, written: Any, cost: Any, summaries: Any, is_estimated: Any) -> Total:
    """SQLite adds up in floats, which are near enough to be rounded to the stored digits."""
    dollars, of_summaries = (quantise(Decimal(str(each))) for each in (cost, summaries))
    return Total(int(read), int(written), dollars, of_summaries, bool(is_estimated))
