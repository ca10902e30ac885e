"""Migrations stand in one line, and alone: no later change of the code changes them."""

import ast
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations import AddField
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import StateApps
from django.utils import timezone

from chat.models import Compaction, Turn
from spending.models import ModelCall
from tests.chat.factories import make_conversation

APPS = ("accounts", "chat", "spending")
NOW = timezone.now()
# What a migration may import: nothing of this project.
FOREIGN = {*sys.stdlib_module_names, "django"}


def migrations(app: str) -> list[Path]:
    return sorted((settings.BASE_DIR / app / "migrations").glob("[!_]*.py"))


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else str(node.module).split(".")[0])
    return found


@pytest.mark.parametrize("app", APPS)
def test_migrations_stand_in_one_line(app: str) -> None:
    """Each has the next number, and no two the same: two lines cannot be applied."""
    names = [path.name for path in migrations(app)]
    assert names[0] == "0001_initial.py"
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


@pytest.mark.parametrize("app", APPS)
def test_migrations_import_no_code_of_ours(app: str) -> None:
    for path in migrations(app):
        assert imported(path) <= FOREIGN, path


@pytest.mark.django_db
def test_the_migrations_make_what_the_models_say() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def find_columns_without_default(operations: Iterable[Operation]) -> list[str]:
    """Columns which a process that does not know them yet could not leave out of a new row."""
    return [
        f"{operation.model_name}.{operation.name}"
        for operation in operations
        if isinstance(operation, AddField)
        and not (operation.field.many_to_many or operation.field.null)
        and not operation.field.has_db_default()
    ]


@pytest.mark.parametrize("app", APPS)
def test_an_old_process_can_write_beside_a_new_one(app: str) -> None:
    """For as long as an upgrade takes, it knows nothing of columns that are new."""
    for path in migrations(app)[1:]:
        migration = import_module(f"{app}.migrations.{path.stem}").Migration
        assert find_columns_without_default(migration.operations) == [], path


def test_a_new_column_without_a_default_of_the_database_is_found() -> None:
    operations = [
        AddField("turn", "ours", models.IntegerField(default=0)),
        AddField("turn", "theirs", models.IntegerField(db_default=0)),
        AddField("turn", "empty", models.IntegerField(null=True)),
        AddField("turn", "many", models.ManyToManyField("chat.Message")),
    ]
    assert find_columns_without_default(operations) == ["turn.ours"]


@pytest.fixture
def before_origins(transactional_db: None) -> Iterator[StateApps]:
    """The tables as they were before 0007, and their models."""
    executor = MigrationExecutor(connection)
    executor.migrate([("chat", "0006_cut_factor")])
    yield executor.loader.project_state([("chat", "0006_cut_factor")]).apps
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.on_both
def test_a_stored_trigger_becomes_when_a_compaction_came_or_what_made_the_version(
    before_origins: StateApps,
) -> None:
    make = before_origins.get_model
    user = make("accounts", "User").objects.create(username="ada")
    talk = make("chat", "Conversation").objects.create(owner_id=user.pk, model="test-model")
    turn = make("chat", "Turn").objects.create(
        conversation=talk, kind="answer", status="completed", owner="a-1", lease_expires=NOW
    )
    message = make("chat", "Message").objects.create(conversation=talk, number=1, position=0)
    before = ("auto", "model_switch", "edit", "rebuilt", "rewrite")
    of = {"conversation": talk, "first": message, "through": message, "messages": 1}
    of |= {"status": "completed", "engine": "chunks", "engine_reason": "price"}
    of |= {"lease_expires": NOW}
    ids = [make("chat", "Compaction").objects.create(trigger=t, **of).pk for t in before]
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert Turn.objects.get(pk=turn.pk).holder == "a-1"
    rows = [Compaction.objects.get(pk=pk) for pk in ids]
    assert [(row.trigger, row.origin) for row in rows] == [
        ("auto", "compaction"),
        ("model_switch", "compaction"),
        ("", "edit"),
        ("", "rebuilt"),
        ("", "rewrite"),
    ]
    assert tuple(row.occasion for row in rows) == before
    assert {(row.method, row.method_reason) for row in rows} == {("chunks", "price")}
    executor = MigrationExecutor(connection)
    executor.migrate([("chat", "0006_cut_factor")])
    old = make("chat", "Compaction").objects.filter(pk__in=ids).order_by("pk")
    assert tuple(old.values_list("trigger", flat=True)) == before


@pytest.fixture
def before_calls(transactional_db: None) -> Iterator[StateApps]:
    """The tables as they were before chat 0009, and their models."""
    executor = MigrationExecutor(connection)
    executor.migrate([("chat", "0008_shares_and_announcements")])
    yield executor.loader.project_state([("chat", "0008_shares_and_announcements")]).apps
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.on_both
def test_what_was_spent_becomes_calls_but_not_what_an_import_brought(
    before_calls: StateApps,
) -> None:
    make = before_calls.get_model
    user = make("accounts", "User").objects.create(username="ada")
    talk = make("chat", "Conversation").objects.create(
        owner_id=user.pk,
        model="local::small",
        input_tokens=1_000 + 50 + 300 + 7 + 10,
        output_tokens=20 + 5 + 30 + 1,
        cost=0.1 + 0.2 + 0.3 + 0.001 + 0.05,
    )
    turn, imported = (
        make("chat", "Turn").objects.create(
            conversation=talk, kind="answer", status=status, holder=holder, lease_expires=NOW
        )
        for status, holder in (("completed", "a-1"), ("failed", "import"))
    )
    kept = {"ephemeral_1h_input_tokens": 60, "ephemeral_5m_input_tokens": 40}
    told = {"input_tokens": 100, "cache_read_input_tokens": 800, "output_tokens": 20}
    told |= {"cache_creation_input_tokens": 100, "cache_creation": kept}
    stopped = {"input_tokens": 50, "output_tokens": 5, "estimated": "output"}
    rows: list[tuple[object, dict[str, object] | None, float, str]] = [
        (turn, None, 0.0, "complete"),
        (turn, told, 0.1, "complete"),
        (turn, stopped, 0.2, "interrupted"),
        (imported, {"input_tokens": 5}, 0.04, "failed"),
        (None, {"input_tokens": 5}, 0.01, "complete"),
        (turn, {"input_tokens": 77, "estimated": "all"}, 0.0, "streaming"),
    ]
    messages = [
        make("chat", "Message").objects.create(
            conversation=talk,
            number=place,
            position=place,
            turn=of,
            usage=usage,
            cost=cost,
            status=status,
            role="assistant" if usage else "user",
        )
        for place, (of, usage, cost, status) in enumerate(rows)
    ]
    compaction = make("chat", "Compaction").objects.create(
        conversation=talk,
        first=messages[0],
        through=messages[0],
        messages=1,
        status="ready",
        trigger="prepared",
        model="local::small",
        usage={"input_tokens": 300, "output_tokens": 30},
        cost=0.3,
        lease_expires=NOW,
    )
    for _ in range(2):  # the second time after a step back
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
        calls = ModelCall.objects.order_by("pk")
        names = "kind", "state", "message", "compaction", "input_tokens", "output_tokens", "cost"
        assert list(calls.values_list(*names)) == [
            ("answer", "settled", messages[1].pk, None, 100, 20, Decimal("0.1")),
            ("tool_round", "lost", messages[2].pk, None, 50, 5, Decimal("0.2")),
            ("preparation", "settled", None, compaction.pk, 300, 30, Decimal("0.3")),
            ("title", "settled", None, None, 7, 1, Decimal("0.001")),
        ]
        first = calls[0]
        assert (first.cache_read_tokens, first.turn) == (800, turn.pk)
        assert (first.cache_write_tokens, first.cache_write_1h_tokens) == (40, 60)
        assert {(c.user_id, c.provider, c.model) for c in calls} == {(user.pk, "local", "small")}
        assert {c.conversation for c in calls} == {talk.pk}
        executor = MigrationExecutor(connection)
        executor.migrate([("chat", "0008_shares_and_announcements")])


@pytest.mark.on_both
@pytest.mark.django_db
def test_a_process_of_0_1_0_still_finds_its_sums() -> None:
    """It names them in what it writes, and this release does not."""
    talk = make_conversation(messages=2)
    with connection.cursor() as cursor:
        cursor.execute("SELECT cost, input_tokens, compaction_cost FROM chat_conversation")
        assert cursor.fetchall() == [(0.0, 0, 0.0)]
        cursor.execute("UPDATE chat_message SET cost = 0.5")
        cursor.execute("SELECT cost FROM chat_message")
        assert cursor.fetchall() == [(0.5,)] * 2
    assert talk.messages.count() == 2
