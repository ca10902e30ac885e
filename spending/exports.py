"""Model calls as CSV: a person's own, and a cost centre's month. UTF-8, for spreadsheets too."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.utils import timezone

from accounts.csv_lines import write_csv_line
from accounts.models import User
from spending.models import ModelCall
from spending.queries import Sums, add_up, find_calls
from spending.spans import Span

TOKENS = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_searches",
)
AMOUNTS = (*TOKENS, "search_cost_usd", "cost_usd")
CALL = ("opened_at", "ended_at", "kind", "provider", "model", "state")
OWN_COLUMNS = (*CALL, "conversation", *AMOUNTS, "request_id")
CALL_COLUMNS = ("cost_centre", "person", *CALL, *AMOUNTS, "request_id")
SUM_COLUMNS = (
    *("month", "cost_centre", "person", "provider", "model", "calls", "estimated_calls"),
    *(*AMOUNTS, "estimated_cost_usd"),
)
DELETED = "(deleted account)"


def write_own_calls(user: User, month: Span) -> Iterator[str]:
    """The calls that somebody pays for, a line each, in the order in which they were opened."""
    calls = _in_order(find_calls(month).filter(user=user))
    return _write(OWN_COLUMNS, (_own_row(call) for call in calls))


def write_cost_centre_calls(group: Group, month: Span) -> Iterator[str]:
    """The same of a cost centre, with the people's names; of no conversations."""
    calls = _in_order(find_calls(month).filter(group=group).select_related("user"))
    return _write(CALL_COLUMNS, (_group_row(group, call) for call in calls))


def write_cost_centre_sums(group: Group, month: Span) -> Iterator[str]:
    """What a cost centre's calls of a month came to: a line for each person and model."""
    calls = find_calls(month).filter(group=group)
    found = add_up(calls, "user__username", "provider", "model")
    by_name = sorted(found.items(), key=lambda item: tuple(part or "" for part in item[0]))
    return _write(SUM_COLUMNS, (_sum_row(group, month, *item) for item in by_name))


def name_file(month: Span, name: str = "") -> str:
    return f"everlong-{name or 'calls'}-{month.key}.csv"


def _in_order(calls: QuerySet[ModelCall]) -> Iterable[ModelCall]:
    return calls.order_by("opened_at", "pk").iterator()


def _own_row(call: ModelCall) -> Sequence[object]:
    return (*_begin(call), call.conversation or "", *_amounts(call), call.request_id)


def _group_row(group: Group, call: ModelCall) -> Sequence[object]:
    person = call.user.get_username() if call.user else DELETED
    return (group.name, person, *_begin(call), *_amounts(call), call.request_id)


def _begin(call: ModelCall) -> Sequence[object]:
    ended = timezone.localtime(call.ended_at).isoformat() if call.ended_at else ""
    opened = timezone.localtime(call.opened_at).isoformat()
    return opened, ended, call.kind, call.provider, call.model, call.state


def _amounts(call: ModelCall) -> Sequence[object]:
    return (*(getattr(call, name) for name in TOKENS), call.search_cost, call.cost)


def _sum_row(
    group: Group, month: Span, values: tuple[str | None, str, str], sums: Sums
) -> Sequence[object]:
    person, provider, model = values
    return (
        month.key,
        *(group.name, person or DELETED, provider, model, sums.calls, sums.estimates),
        *(getattr(sums, name) for name in TOKENS),
        *(sums.search_dollars, sums.dollars, sums.estimated_dollars),
    )


def _write(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Line by line, the names of the columns first."""
    return map(write_csv_line, chain([columns], rows))
