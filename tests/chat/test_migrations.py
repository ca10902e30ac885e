"""Migrations stand in one line, and alone: no later change of the code changes them."""

import ast
import sys
from collections.abc import Iterable, Iterator
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

APPS = ("accounts", "chat")
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
