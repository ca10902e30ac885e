"""What answers, compactions and titles have cost becomes rows of model calls.

The sums that these rows take the place of leave the models, not the database: processes of the
release before still write them, and those of this one need not name them.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import migrations, models

PAGE = 1_000  # rows that are in memory at a time
UNIT = Decimal("0.000000001")  # of stored US dollars
LEAST = Decimal("0.000001")  # US dollars: a rest below this is what floats are off by
IMPORTED = "import"  # the holder of turns that came with an import: they were paid elsewhere
BACKGROUND = ("prepared", "idle")  # triggers


@dataclass(slots=True)
class Sum:
    """What of a conversation's sums has a row."""

    read: int = 0
    written: int = 0
    dollars: Decimal = Decimal(0)


def book_what_was_spent(apps: Any, schema_editor: Any) -> None:
    """Make a call of each answer and each compaction that has cost something, and one of what a
    conversation has cost beside them: its title, and what was deleted from it. Nothing where
    there are calls: somebody has gone back to the release before, and comes again."""

    def rows_of(app: str, model: str) -> Any:
        """Those of the database that is migrated: `manage.py restore` migrates another one."""
        return apps.get_model(app, model).objects.using(schema_editor.connection.alias)

    calls = rows_of("spending", "ModelCall")
    if calls.exists():
        return
    booked: defaultdict[Any, Sum] = defaultdict(Sum)
    _store(calls, _list_answers(rows_of("chat", "Message"), booked))
    _store(calls, _list_compactions(rows_of("chat", "Compaction"), booked))
    _store(calls, _list_rests(rows_of("chat", "Conversation"), booked))


def _store(calls: Any, rows: Iterator[dict[str, Any]]) -> None:
    page: list[Any] = []
    for values in rows:
        page.append(calls.model(**values))
        if len(page) == PAGE:
            calls.bulk_create(page, batch_size=PAGE // 4)
            page = []
    calls.bulk_create(page, batch_size=PAGE // 4)


def _list_answers(messages: Any, booked: dict[Any, Sum]) -> Iterator[dict[str, Any]]:
    """Of messages with a usage. Imported ones are in their conversation's sums, and get no row."""
    messages = messages.filter(usage__isnull=False)
    columns = (
        "pk",
        "conversation",
        "conversation__owner",
        "conversation__model",
        "turn",
        "turn__holder",
        "turn__finished_at",
        "model",
        "usage",
        "cost",
        "created_at",
    )
    begun = set()  # turns
    for row in _pages(messages.exclude(status="streaming"), columns):
        usage, dollars = row["usage"] or {}, _dollars(row["cost"])
        tokens = _read_tokens(usage)
        _note(booked[row["conversation"]], tokens, dollars)
        if row["turn"] is None or row["turn__holder"] == IMPORTED:
            continue
        yield {
            **_name_model(row["model"] or row["conversation__model"]),
            **tokens,
            "opened_at": row["created_at"],
            "ended_at": row["turn__finished_at"] or row["created_at"],
            "user_id": row["conversation__owner"],
            "kind": "tool_round" if row["turn"] in begun else "answer",
            "conversation": row["conversation"],
            "turn": row["turn"],
            "message": row["pk"],
            "state": "lost" if "estimated" in usage else "settled",
            "cost": dollars,
        }
        begun.add(row["turn"])


def _list_compactions(compactions: Any, booked: dict[Any, Sum]) -> Iterator[dict[str, Any]]:
    """Of compactions that have ended. Until its worker has told, what it had spent is not in the
    conversation's sums."""
    compactions = compactions.filter(usage__isnull=False)
    columns = (
        "pk",
        "conversation",
        "conversation__owner",
        "model",
        "trigger",
        "origin",
        "usage",
        "cost",
        "created_at",
        "finished_at",
    )
    for row in _pages(compactions.exclude(status="running"), columns):
        usage, dollars = row["usage"] or {}, _dollars(row["cost"])
        tokens = _read_tokens(usage)
        if "unbooked" not in usage:
            _note(booked[row["conversation"]], tokens, dollars)
        is_background = row["trigger"] in BACKGROUND or row["origin"] == "rebuilt"
        yield {
            **_name_model(row["model"]),
            **tokens,
            "opened_at": row["created_at"],
            "ended_at": row["finished_at"] or row["created_at"],
            "user_id": row["conversation__owner"],
            "kind": "preparation" if is_background else "summary",
            "conversation": row["conversation"],
            "compaction": row["pk"],
            "state": "lost" if "estimated" in usage else "settled",
            "cost": dollars,
        }


def _list_rests(conversations: Any, booked: dict[Any, Sum]) -> Iterator[dict[str, Any]]:
    columns = ("pk", "owner", "model", "input_tokens", "output_tokens", "cost", "created_at")
    for row in _pages(conversations, columns):
        known = booked.get(row["pk"], Sum())
        read = max(0, row["input_tokens"] - known.read)
        written = max(0, row["output_tokens"] - known.written)
        dollars = _dollars(row["cost"]) - known.dollars
        if dollars < LEAST and not (read or written):
            continue
        yield {
            **_name_model(row["model"]),
            "opened_at": row["created_at"],
            "ended_at": row["created_at"],
            "user_id": row["owner"],
            "kind": "title",
            "conversation": row["pk"],
            "state": "settled",
            "input_tokens": read,
            "output_tokens": written,
            "cost": max(Decimal(0), dollars),
        }


def _pages(rows: Any, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Rows in the order of their keys, of which a page is in memory at a time."""
    last = None
    while True:
        after = rows if last is None else rows.filter(pk__gt=last)
        page = list(after.order_by("pk").values(*columns)[:PAGE])
        yield from page
        if len(page) < PAGE:
            return
        last = page[-1]["pk"]


def _note(known: Sum, tokens: dict[str, int], dollars: Decimal) -> None:
    known.read += sum(tokens.values()) - tokens["output_tokens"]
    known.written += tokens["output_tokens"]
    known.dollars += dollars


def _read_tokens(usage: dict[str, Any]) -> dict[str, int]:
    """The columns of a usage, whether the API has written it or a release before."""
    cached = usage.get("cache_creation") or {}
    written = _count(usage.get("cache_creation_input_tokens"))
    hour = usage.get("ephemeral_1h_input_tokens", cached.get("ephemeral_1h_input_tokens"))
    kept = min(written, _count(hour))
    return {
        "input_tokens": _count(usage.get("input_tokens")),
        "cache_read_tokens": _count(usage.get("cache_read_input_tokens")),
        "cache_write_tokens": written - kept,
        "cache_write_1h_tokens": kept,
        "output_tokens": _count(usage.get("output_tokens")),
    }


def _count(value: Any) -> int:
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _dollars(value: float) -> Decimal:
    return max(Decimal(0), Decimal(str(value)).quantize(UNIT))


def _name_model(name: str) -> dict[str, str]:
    provider, mark, model = name.partition("::")
    return {"provider": provider, "model": model} if mark else {"provider": "", "model": name}


# The columns, and what they hold where a row does not name them.
LEFT = {
    ("conversation", "input_tokens"): models.PositiveBigIntegerField(default=0, db_default=0),
    ("conversation", "output_tokens"): models.PositiveBigIntegerField(default=0, db_default=0),
    ("conversation", "cost"): models.FloatField(default=0.0, db_default=0.0),
    ("conversation", "compaction_cost"): models.FloatField(default=0.0, db_default=0.0),
    ("message", "cost"): models.FloatField(default=0.0, db_default=0.0),
    ("compaction", "cost"): models.FloatField(default=0.0, db_default=0.0),
}


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0008_shares_and_announcements"),
        ("spending", "0002_indexes_of_calls"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(model_name="message", name="message_spending"),
        *(
            migrations.AlterField(model_name=model, name=name, field=field)
            for (model, name), field in LEFT.items()
        ),
        migrations.RunPython(book_what_was_spent, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name=model, name=name)
                for model, name in (*LEFT, ("compaction", "usage"))
            ]
        ),
    ]
