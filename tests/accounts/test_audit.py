"""The audit: entries are only added, and hold no names, titles or contents."""

import csv
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import AsyncClient, Client
from django.urls import reverse
from django.utils import timezone

from accounts import audit
from accounts.audit import Act
from accounts.audited_admin import AuditedAdmin
from accounts.models import AppendOnly, AuditEntry, User
from chat.db.threads import in_db
from tests.chat.factories import PASSWORD, make_conversation, make_profile, make_user

LIST = reverse("admin:accounts_auditentry_changelist")
EXPORT = reverse("admin:accounts_auditentry_export")


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    """A browser in which an administrator is signed in."""
    client.force_login(make_user("root", admin=True))
    return client


def last_entry() -> AuditEntry:
    return AuditEntry.objects.latest("pk")


# --- Entries --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_entry_names_who_did_what_to_whom() -> None:
    actor, conversation = make_user(), make_conversation()
    audit.record(actor, Act.READ, target=conversation, owner=conversation.owner, reason="r" * 600)
    entry = last_entry()
    assert (entry.actor, entry.act, entry.owner) == (actor, "read", conversation.owner)
    assert (entry.target_kind, entry.target_id) == ("conversation", str(conversation.pk))
    assert entry.reason == "r" * 500


@pytest.mark.django_db
def test_an_entry_is_neither_changed_nor_deleted() -> None:
    audit.record(None, Act.RETENTION)
    entry = last_entry()
    entry.reason = "another"
    for change in (
        entry.save,
        entry.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(reason="another"),
    ):
        with pytest.raises(AppendOnly):
            change()
    assert last_entry().reason == ""


@pytest.mark.django_db
def test_the_entries_of_an_account_that_is_gone_keep_its_id_alone() -> None:
    actor, gone = make_user(), make_user("somebody-gone")
    audit.record(actor, Act.CHANGE, target=gone, owner=gone, changed=["email"])
    audit.record(gone, Act.ADD)
    number = str(gone.pk)
    gone.delete()
    of_it, by_it = AuditEntry.objects.order_by("pk")
    assert (of_it.owner, of_it.target_id, by_it.actor) == (None, number, None)
    assert "somebody-gone" not in str(list(AuditEntry.objects.values()))


# --- The administration ---------------------------------------------------------------------------


def test_every_page_of_the_administration_records() -> None:
    pages = admin.site._registry
    assert {Group, User, AuditEntry} <= set(pages)
    assert [model for model, page in pages.items() if not isinstance(page, AuditedAdmin)] == []


def test_what_an_administrator_adds_changes_and_deletes_is_recorded(staff: Client) -> None:
    staff.post(reverse("admin:auth_group_add"), {"name": "Readers"})
    group = Group.objects.get()
    assert (last_entry().act, last_entry().target_id) == ("add", str(group.pk))
    staff.post(reverse("admin:auth_group_change", args=[group.pk]), {"name": "Writers"})
    assert last_entry().act == "change"
    assert "name" in last_entry().changed
    staff.post(reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"})
    assert (last_entry().act, last_entry().target_kind) == ("delete", "group")
    assert last_entry().actor == User.objects.get(username="root")
    assert "Readers" not in str(list(AuditEntry.objects.values()))
    assert not LogEntry.objects.exists()


def test_a_change_of_somebodys_account_concerns_them(staff: Client) -> None:
    user = make_user()
    data = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    staff.post(reverse("admin:auth_user_password_change", args=[user.pk]), data)
    entry = last_entry()
    assert (entry.owner, entry.changed) == (user, ["password"])


def test_the_history_of_a_row_is_its_part_of_the_audit(staff: Client) -> None:
    profile = make_profile()
    actor = User.objects.get(username="root")
    audit.record(actor, Act.CHANGE, target=profile, changed=["enabled"])
    audit.record(actor, Act.CHANGE, target=make_profile("another"), changed=["name"])
    url = reverse("admin:chat_modelprofile_history", args=[profile.pk])
    page = staff.get(url, follow=True)
    assert [entry.changed for entry in page.context["cl"].result_list] == [["enabled"]]


def test_nobody_adds_changes_or_deletes_an_entry_by_hand(staff: Client) -> None:
    audit.record(None, Act.RETENTION)
    pk = last_entry().pk
    assert staff.post(reverse("admin:accounts_auditentry_add")).status_code == 403
    change = reverse("admin:accounts_auditentry_change", args=[pk])
    assert staff.post(change, {"reason": "another"}).status_code == 403
    delete = reverse("admin:accounts_auditentry_delete", args=[pk])
    assert staff.post(delete, {"post": "yes"}).status_code == 403
    choice = {"action": "delete_selected", "_selected_action": pk, "post": "yes"}
    staff.post(LIST, choice)
    assert AuditEntry.objects.get(pk=pk).reason == ""


# --- Export ---------------------------------------------------------------------------------------


def make_entries() -> User:
    """An entry of the day before yesterday, one of yesterday, and one of today."""
    administrator = make_user("root", admin=True)
    for days, reason in ((2, "old"), (1, "=cmd|' /C calc'!A0"), (0, "new")):
        audit.record(administrator, Act.READ, reason=reason, changed=["a", "b"])
        moment = timezone.now() - timedelta(days=days)
        # As only a test may.
        AuditEntry._base_manager.filter(reason=reason).update(at=moment)
    return administrator


async def export(client: AsyncClient, **asked: Any) -> list[str]:
    response = await client.get(EXPORT, asked)
    assert response.status_code == 200
    return "".join([part.decode() async for part in response.streaming_content]).splitlines()


@pytest.mark.django_db(transaction=True)
async def test_the_export_has_the_entries_of_a_span(
    async_client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "PAGE", 1)
    await async_client.aforce_login(await in_db(make_entries))
    day = timezone.localdate() - timedelta(days=1)
    (entry,) = map(json.loads, await export(async_client, form="jsonl", since=day, until=day))
    assert (entry["act"], entry["changed"]) == ("read", ["a", "b"])
    everything = [json.loads(line) for line in await export(async_client, form="jsonl")]
    assert [entry["reason"][:3] for entry in everything[:3]] == ["old", "=cm", "new"]
    assert {(entry["act"], entry["target_kind"]) for entry in everything[3:]} == {
        ("export", "auditentry")
    }


@pytest.mark.django_db
def test_the_command_prints_the_entries_of_a_span(capsys: pytest.CaptureFixture[str]) -> None:
    make_entries()
    day = f"{timezone.localdate() - timedelta(days=1)}"
    call_command("audit", "--since", day, "--until", day)
    (entry,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert entry["changed"] == ["a", "b"]
    assert last_entry().act == "export"


@pytest.mark.django_db(transaction=True)
async def test_no_cell_of_the_export_is_a_formula(async_client: AsyncClient) -> None:
    await async_client.aforce_login(await in_db(make_entries))
    rows = list(csv.DictReader(await export(async_client, form="csv")))
    assert [row["reason"][0] for row in rows[:3]] == ["o", "'", "n"]
    assert rows[0]["changed"] == "a b"


def test_a_day_that_is_none_is_refused(staff: Client) -> None:
    for day in ("yesterday", "0001-01-01", "9999-12-31"):
        for end in ("since", "until"):
            assert staff.get(EXPORT, {"form": "csv", end: day}).status_code == 400
    assert not AuditEntry.objects.exists()


def test_only_who_may_see_the_audit_exports_it(client: Client, db: None) -> None:
    client.force_login(make_user(staff=True))
    assert client.get(EXPORT, {"form": "csv"}).status_code == 403
