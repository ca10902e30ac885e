"""A database whose tables are not those of this release is told from one that fits."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from celery.exceptions import Ignore
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat import tasks
from chat.live.sweeping import _look_and_sweep
from chat.models import Turn
from chat.queries import schema
from chat.queries.schema import MisfitKind, Watch, find_misfit
from tests.chat.factories import make_conversation, make_turn

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]

LATER = "0999_of_a_later_release"


@pytest.fixture(autouse=True)
def undone(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Statements that put everything back."""
    monkeypatch.setattr(schema, "watch", Watch())
    statements: list[str] = []
    yield statements
    change(*reversed(statements))


def change(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def later_migration() -> Iterator[None]:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("chat", LATER)
    yield
    recorder.record_unapplied("chat", LATER)


def ready() -> tuple[int, str]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json()["components"]["schema"]


def test_a_migrated_database_fits_and_costs_a_few_queries() -> None:
    assert find_misfit() is None
    with CaptureQueriesContext(connection) as asked:
        assert find_misfit() is None
    assert len(asked) <= 4


def test_a_migration_that_was_not_run_is_named() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("chat", "0001_initial")
    try:
        misfit = find_misfit()
        assert misfit
        assert misfit.kind == MisfitKind.OLDER
        assert "lacks the migration chat.0001_initial." in str(misfit)
        assert "manage.py migrate" in str(misfit)
        status, words = ready()
        assert (status, "manage.py migrate" in words) == (503, True)
    finally:
        recorder.record_applied("chat", "0001_initial")


def test_a_column_that_is_missing_although_all_is_migrated_is_named(undone: list[str]) -> None:
    undone.append("ALTER TABLE chat_conversation RENAME COLUMN old_pinned TO pinned")
    assert ready() == (200, "ok")
    change("ALTER TABLE chat_conversation RENAME COLUMN pinned TO old_pinned")
    misfit = find_misfit()
    assert misfit
    assert misfit.kind == MisfitKind.CHANGED
    assert "lacks the column chat_conversation.pinned" in str(misfit)
    assert "migrate` cannot mend that" in str(misfit)


def test_a_running_process_notices_and_is_still_alive(
    undone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "KNOWN_FOR", 0.0)
    assert ready() == (200, "ok")
    undone.append("ALTER TABLE accounts_setuplink_gone RENAME TO accounts_setuplink")
    change("ALTER TABLE accounts_setuplink RENAME TO accounts_setuplink_gone")
    status, words = ready()
    assert status == 503
    assert "not those of this release" in words
    assert Client().get("/healthz").status_code == 200


def test_a_good_answer_holds_for_a_while() -> None:
    watch = Watch()
    assert watch.look() is None
    with CaptureQueriesContext(connection) as asked:
        assert watch.look() is None
    assert len(asked) == 0


def test_the_database_of_a_later_release_stops_a_start(later_migration: None) -> None:
    misfit = find_misfit()
    assert misfit
    assert misfit.kind == MisfitKind.NEWER
    assert f"chat.{LATER}" in str(misfit)
    assert "restore the backup" in str(misfit)


def test_what_a_later_release_adds_with_a_default_does_not_stop_who_runs(
    later_migration: None, undone: list[str]
) -> None:
    undone.append("ALTER TABLE chat_turn DROP COLUMN extra")
    change("ALTER TABLE chat_turn ADD COLUMN extra integer NOT NULL DEFAULT 0")
    assert ready() == (200, "ok")


def test_what_a_later_release_demands_or_takes_away_stops_who_runs(
    later_migration: None, undone: list[str]
) -> None:
    undone.append("ALTER TABLE chat_turn RENAME COLUMN purpose TO kind")
    change("ALTER TABLE chat_turn RENAME COLUMN kind TO purpose")
    misfit = find_misfit(running=True)
    assert misfit
    assert misfit.kind == MisfitKind.NEWER
    assert "lacks the column chat_turn.kind" in misfit.cause
    assert "without a default it has the column chat_turn.purpose" in misfit.cause
    assert ready()[0] == 503


def test_a_database_with_another_history_is_not_migrated(later_migration: None) -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("chat", "0001_initial")
    try:
        misfit = find_misfit(running=True)
        assert misfit
        assert misfit.kind == MisfitKind.CHANGED
        with pytest.raises(CommandError) as refusal:
            call_command("migrate", verbosity=0)
        assert f"it has the migration chat.{LATER}, and lacks the migration chat.0001_initial" in (
            str(refusal.value)
        )
        assert "name an empty database in DATABASE_URL" in str(refusal.value)
    finally:
        recorder.record_applied("chat", "0001_initial")


def test_other_apps_that_have_left_their_migrations_behind_are_no_reason() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("removed_long_ago", "0001_initial")
    try:
        assert find_misfit() is None
    finally:
        recorder.record_unapplied("removed_long_ago", "0001_initial")


def test_a_page_does_not_promise_that_waiting_helps(undone: list[str]) -> None:
    undone.append("ALTER TABLE django_session_gone RENAME TO django_session")
    change("ALTER TABLE django_session RENAME TO django_session_gone")
    client = Client(raise_request_exception=False)
    client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    answer = client.get("/")
    assert answer.status_code == 503
    assert "does not fit this release" in answer.content.decode()


def test_while_it_does_not_fit_nothing_is_served_from_it_or_written_into_it(
    undone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep notices, whichever pages are asked for, and also that it fits again."""
    monkeypatch.setattr(schema, "KNOWN_FOR", 0.0)
    turn = make_turn(make_conversation(), lease_expires=timezone.now() - timedelta(days=1))
    rename = "ALTER TABLE chat_mcpserver RENAME COLUMN {} TO {}"
    undone.append(rename.format("elsewhere", "url"))
    client = Client()
    assert client.get("/account/login/").status_code == 200
    change(rename.format("url", "elsewhere"))
    _look_and_sweep()
    with CaptureQueriesContext(connection) as asked:
        answer = client.get("/account/login/")
        told = client.get("/", headers={"x-requested-with": "XMLHttpRequest"})
    assert len(asked) == 0
    assert (answer.status_code, told.status_code) == (503, 503)
    assert "does not fit this release" in answer.content.decode()
    assert told.content.decode().startswith("The database does not fit this release.")
    assert client.get("/healthz").status_code == 200
    with pytest.raises(Ignore):
        tasks.compact.before_start("id", (1,), {})
    change(undone.pop())
    turn.refresh_from_db()
    assert turn.status == Turn.Status.QUEUED  # the sweep left it alone
    _look_and_sweep()
    assert client.get("/account/login/").status_code == 200


def test_the_log_tells_once_that_it_does_not_fit_and_once_that_it_does(
    undone: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schema, "KNOWN_FOR", 0.0)
    undone.append("ALTER TABLE accounts_setuplink_gone RENAME TO accounts_setuplink")
    change("ALTER TABLE accounts_setuplink RENAME TO accounts_setuplink_gone")
    for _ in range(3):
        ready()
    change(undone.pop())
    for _ in range(3):
        ready()
    assert caplog.text.count("database does not fit") == 1
    assert caplog.text.count("database fits again") == 1
