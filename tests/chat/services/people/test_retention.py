"""Retention: what nobody writes in any more is deleted, and nothing else, and not untold."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from pytest_django import Settings

from accounts.models import AuditEntry, GroupPolicy, User
from chat.models import Conversation
from chat.services.people import retention
from chat.services.turns.sweep import sweep
from tests.chat.factories import make_conversation, make_turn, make_user

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def site(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A site that keeps conversations for 30 days, and looks at each sweep."""
    monkeypatch.setattr(retention, "_next_look", 0.0)
    monkeypatch.setattr(retention, "LOOK_SECONDS", 0.0)
    settings.RETENTION_DAYS = 30
    return settings


def make_old(owner: User | None = None, *, days: float = 31, **values: Any) -> Conversation:
    """A conversation whose last message is so old."""
    row = make_conversation(owner=owner, messages=2)
    moment = timezone.now() - timedelta(days=days)
    Conversation.objects.filter(pk=row.pk).update(updated_at=moment, **values)
    return row


def tell() -> None:
    """Let the owners have been told for long enough."""
    retention.delete_old()
    moment = timezone.now() - timedelta(days=retention.TOLD_DAYS, minutes=1)
    # As only a test may.
    AuditEntry._base_manager.filter(act="set retention").update(at=moment)


def left() -> set[Conversation]:
    retention.delete_old()
    return set(Conversation.objects.all())


def test_what_nobody_writes_in_any_more_is_deleted() -> None:
    make_old()
    recent = make_old(days=29)
    tell()
    assert left() == {recent}


def test_a_thread_in_use_keeps_everything() -> None:
    row = make_old(days=1)
    row.messages.update(created_at=timezone.now() - timedelta(days=400))
    tell()
    assert left() == {row}
    assert row.messages.count() == 2


@pytest.mark.parametrize("kept", [{"pinned": True}, {"held": True}])
def test_what_is_pinned_or_held_stays(kept: dict[str, bool]) -> None:
    row = make_old(**kept)
    tell()
    assert left() == {row}


def test_everything_of_a_person_who_is_held_stays() -> None:
    row = make_old()
    User.objects.filter(pk=row.owner_id).update(held=True)
    tell()
    assert left() == {row}


def test_a_conversation_with_a_running_turn_stays() -> None:
    row = make_old()
    make_turn(row)
    tell()
    assert left() == {row}


def test_of_several_groups_the_longest_counts() -> None:
    owner = make_user()
    for name, days in (("short", 10), ("long", 90), ("silent", None)):
        group = Group.objects.create(name=name)
        GroupPolicy.objects.create(group=group, retention_days=days)
        owner.groups.add(group)
    kept, _ = make_old(owner, days=80), make_old(owner, days=91)
    tell()
    assert left() == {kept}


def test_a_group_may_be_shorter_than_the_site_also_for_a_disabled_account() -> None:
    owner = make_user()
    group = Group.objects.create(name="short")
    GroupPolicy.objects.create(group=group, retention_days=10)
    owner.groups.add(group)
    User.objects.filter(pk=owner.pk).update(is_active=False)
    make_old(owner, days=11)
    tell()
    assert left() == set()


def test_without_a_rule_nothing_is_deleted(site: Settings) -> None:
    site.RETENTION_DAYS = 0
    row = make_old(days=10_000)
    tell()
    assert left() == {row}
    assert not AuditEntry.objects.exists()


def test_new_rules_hold_when_their_owners_could_know(site: Settings) -> None:
    row = make_old(days=100)
    tell()
    site.RETENTION_DAYS = 60
    assert left() == {row}  # from now on they are told of 60 days
    tell()
    assert left() == set()


def test_rules_that_come_back_are_told_again(site: Settings) -> None:
    row = make_old(days=100)
    tell()
    site.RETENTION_DAYS = 0
    assert left() == {row}
    site.RETENTION_DAYS = 30
    assert left() == {row}  # whose owner has seen of no deletion for as long as there was no rule
    tell()
    assert left() == set()
    rules = AuditEntry.objects.filter(act="set retention").order_by("pk")
    assert [entry.reason for entry in rules] == ["30 days", "never", "30 days"]


def test_a_conversation_that_was_pinned_meanwhile_stays() -> None:
    row = make_old()
    tell()
    (found,) = retention.find_old()
    Conversation.objects.filter(pk=row.pk).update(pinned=True)
    assert not retention.delete_if_old(found)
    assert left() == {row}


def test_a_conversation_that_cannot_be_deleted_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken, _ = make_old(days=40), make_old()
    tell()
    delete = retention.delete_if_old

    def fail_for_one(pk: UUID) -> bool:
        if pk == broken.pk:
            raise RuntimeError("a bug")
        return delete(pk)

    monkeypatch.setattr(retention, "delete_if_old", fail_for_one)
    assert left() == {broken}


def test_a_sweep_deletes_some_and_the_audit_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    titles = [make_old(title=f"secret {n}").title for n in range(3)]
    tell()
    sweep()
    assert Conversation.objects.count() == 1
    sweep()
    counts = AuditEntry.objects.filter(act="retention").values_list("reason", flat=True)
    assert list(counts) == ["conversations: 2", "conversations: 1"]
    assert not any(title in str(list(AuditEntry.objects.values())) for title in titles)
