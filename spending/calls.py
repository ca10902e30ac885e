"""Rows of model calls: opened before a request goes out, ended once. The only writer of them.

Every turn opens one and ends one, so these are statements without the ORM.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import Field
from django.utils import timezone

from agent.messages import Usage
from agent.model_names import split_name
from agent.tokens import SEARCH_DOLLARS, Prices
from spending import budgets
from spending.amounts import Amount, Bound, quantise
from spending.models import ModelCall
from spending.queries import Sums

_TABLE = ModelCall._meta.db_table


@dataclass(frozen=True, slots=True)
class CallDetails:
    """Who pays for a call, and for what: said by whoever posts it. `user_id`: None for an account
    that was deleted; `model`: its name, a provider's with `provider::`. The others are the ids of
    rows that may be deleted."""

    user_id: int | None
    kind: ModelCall.Kind
    model: str
    conversation: UUID | None = None
    turn: int | None = None
    message: int | None = None
    compaction: int | None = None


@dataclass(frozen=True, slots=True)
class OpenedCall:
    """A row that was opened, with what is held for it: US dollars, and tokens. `max_tokens`: how
    many tokens the reply may have."""

    pk: int
    user_id: int | None
    opened_at: datetime
    held_dollars: Decimal
    held_tokens: int
    max_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended: what it used, at the prices of its model. `is_lost`: the server has not
    said all of it, so that it is an estimate; `request_id`: the API's own."""

    call: OpenedCall
    usage: Usage
    prices: Prices
    is_lost: bool = False
    request_id: str = ""

    @property
    def dollars(self) -> Decimal:
        return quantise(self.prices.dollars(self.usage))

    @property
    def amount(self) -> Amount:
        return Amount(self.dollars, self.usage.total)


def open_call(details: CallDetails, bound: Bound) -> OpenedCall:
    """Open the row of a call that is about to be posted. While it is open, its tokens are what is
    known so far and its cost is 0. In the caller's transaction, as its last statements. Raises
    BudgetUsed and BudgetBusy; where little is left of a budget, an answer may be shorter."""
    provider, model = split_name(details.model)
    opened_at = timezone.now()
    held = budgets.hold(details.user_id, bound, kind=details.kind, at=opened_at)
    pk = _insert(
        {
            "opened_at": opened_at,
            "user": details.user_id,
            "group": budgets.find_cost_centre(details.user_id),
            "provider": provider,
            "model": model,
            "kind": details.kind,
            "conversation": details.conversation,
            "turn": details.turn,
            "message": details.message,
            "compaction": details.compaction,
            "bound": held.dollars,
            "bound_tokens": held.tokens,
            "input_tokens": bound.request_tokens,
        }
    )
    return OpenedCall(pk, details.user_id, opened_at, held.dollars, held.tokens, held.max_tokens)


def end_call(end: CallEnd) -> bool:
    """End a call: once. One that was lost is settled where its server's report comes after all.
    In the caller's transaction, as its last statements. False where it had ended."""
    call = end.call
    if _update(end, before=ModelCall.State.OPEN):
        held = Amount(call.held_dollars, call.held_tokens)
        budgets.give_back(call.user_id, call.opened_at, held=held, spent=end.amount)
        return True
    return not end.is_lost and _settle_lost(end)


def _settle_lost(end: CallEnd) -> bool:
    lost = ModelCall.objects.filter(pk=end.call.pk, state=ModelCall.State.LOST)
    row = lost.select_for_update().first()
    if row is None or not _update(end, before=ModelCall.State.LOST):
        return False
    spent = end.amount
    more = Amount(spent.dollars - row.cost, spent.tokens - read_usage(row).total)
    budgets.give_back(row.user_id, row.opened_at, held=Amount(), spent=more)
    return True


def note_progress(pk: int, usage: Usage) -> None:
    """Keep what an open call has used so far, in case that nobody can end it."""
    values = _token_columns(usage)
    ModelCall.objects.filter(pk=pk, state=ModelCall.State.OPEN).update(**values)


def lose_call(row: ModelCall, prices: Prices, usage: Usage | None = None) -> bool:
    """End a call that nobody else will end, with what is known of its usage: by default what its
    row has. In the caller's transaction, as its last statement."""
    call = OpenedCall(row.pk, row.user_id, row.opened_at, row.bound, row.bound_tokens)
    return end_call(CallEnd(call, usage or read_usage(row), prices, is_lost=True))


def read_usage(counted: ModelCall | Sums) -> Usage:
    """What a row, or the sums of some, say was used, as the API reports it."""
    return Usage(
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        cache_read_input_tokens=counted.cache_read_tokens,
        cache_creation_input_tokens=counted.cache_write_tokens + counted.cache_write_1h_tokens,
        ephemeral_1h_input_tokens=counted.cache_write_1h_tokens,
        web_search_requests=counted.web_searches,
    )


# --- Statements ---------------------------------------------------------------------------------

_OPENED = [
    "opened_at",
    "user",
    "group",
    "provider",
    "model",
    "kind",
    "conversation",
    "turn",
    "message",
    "compaction",
    "bound",
    "bound_tokens",
    "input_tokens",
]
# Another process may have deleted it less than two seconds ago.
_GROUP = f"(SELECT id FROM {Group._meta.db_table} WHERE id = %s)"
_EMPTY = [
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_searches",
    "cost",
    "search_cost",
]


def _insert(values: Mapping[str, Any]) -> int:
    columns = [_field(name).column for name in _OPENED]
    places = ", ".join(_GROUP if name == "group" else "%s" for name in _OPENED)
    zeros = ", ".join(["0"] * len(_EMPTY))
    sql = (
        f"INSERT INTO {_TABLE} ({', '.join(columns)}, {', '.join(_EMPTY)}, state, request_id) "
        f"VALUES ({places}, {zeros}, 'open', '') RETURNING id"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [prepare(name, values[name]) for name in _OPENED])
        pk: int = cursor.fetchone()[0]
    return pk


def _update(end: CallEnd, *, before: ModelCall.State) -> bool:
    searches = end.usage.web_search_requests
    values = _token_columns(end.usage) | {
        "state": ModelCall.State.LOST if end.is_lost else ModelCall.State.SETTLED,
        "ended_at": timezone.now(),
        "cost": end.dollars,
        "search_cost": quantise(searches * SEARCH_DOLLARS),
        "request_id": end.request_id[:100],
    }
    sets = ", ".join(f"{name} = %s" for name in values)
    given = [prepare(name, value) for name, value in values.items()]
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {_TABLE} SET {sets} WHERE id = %s AND state = %s",
            [*given, end.call.pk, before],
        )
        return bool(cursor.rowcount)


def _token_columns(usage: Usage) -> dict[str, Any]:
    """Tokens by the classes that have a price each: those that are kept for an hour are apart."""
    hour = min(usage.ephemeral_1h_input_tokens, usage.cache_creation_input_tokens)
    return {
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": usage.cache_read_input_tokens,
        "cache_write_tokens": usage.cache_creation_input_tokens - hour,
        "cache_write_1h_tokens": hour,
        "output_tokens": usage.output_tokens,
        "web_searches": usage.web_search_requests,
    }


def prepare(name: str, value: Any) -> Any:
    """A field's value as the database takes it."""
    return _field(name).get_db_prep_save(value, connection)


@cache
def _field(name: str) -> "Field[Any, Any]":
    found = ModelCall._meta.get_field(name)
    assert isinstance(found, Field)
    return found
