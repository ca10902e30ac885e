"""All of an account: taken along, looked after, deleted by its owner."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.cache import cache
from django.test import AsyncClient, Client
from django.urls import reverse
from pytest_django import Settings

from accounts import audit
from accounts.audit import Act
from accounts.models import AccessToken, AuditEntry, User
from chat.db.threads import in_db
from chat.models import Attachment, Conversation, Memory, Message
from chat.queries import export, readable_export
from chat.services.library import attachments, memories, projects
from chat.services.people.handing_over import hand_over
from chat.web import exports
from spending.models import ModelCall
from tests.chat.factories import (
    PASSWORD,
    add_messages,
    make_compaction,
    make_conversation,
    make_user,
)

EXPORT, DELETE = reverse("account_export"), reverse("account_delete")
READINGS = reverse("settings_section", args=["data"])
pytestmark = pytest.mark.on_both


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> Iterator[Path]:
    settings.MEDIA_ROOT = tmp_path / "media"
    cache.clear()
    yield tmp_path / "media"
    cache.clear()


# --- Export ---------------------------------------------------------------------------------------


def make_account(name: str = "ada") -> User:
    """Somebody with a bit of everything."""
    user = make_user(name)
    project = projects.create_project(user, "Sea trip")
    projects.add_file(project, "map.txt", b"here be dragons")
    row = make_conversation(user, title="Day 1", project=project, messages=["One", "Two"] * 3)
    make_compaction(row, "## Overview\n\n- First [#1]", focus="dates", through=2)
    make_compaction(row, "## Overview\n\n- Second [#3]", through=4)
    branch = add_messages(row, ["Another end"])[0]
    Message.objects.filter(pk=branch.pk).update(active=False)
    file = attachments.store_unsent(user, "notes.txt", b"what was sent")
    file.messages.add(row.messages.first())
    make_conversation(user, title="Put away", archived=True, messages=["Old"])
    memories.remember_fact(user.pk, "Likes maps", Memory.Source.USER)
    ModelCall.objects.create(
        user=user,
        model="m",
        kind=ModelCall.Kind.ANSWER,
        opened_at=datetime(2026, 11, 26, tzinfo=UTC),
        cost=Decimal("0.25"),
    )
    AccessToken.objects.create(user=user, name="laptop", token_hash=name * 9, shown="ev_abc")
    audit.record(make_user(), Act.READ, target=row, owner=user, reason="Asked for help")
    return user


async def fetch(client: AsyncClient) -> ZipFile:
    response = await client.get(EXPORT)
    assert response.status_code == 200
    return ZipFile(BytesIO(b"".join([part async for part in response.streaming_content])))


@pytest.mark.django_db(transaction=True)
async def test_the_export_has_all_of_the_account(async_client: AsyncClient) -> None:
    user = await in_db(make_account)
    await async_client.aforce_login(user)
    archive = await fetch(async_client)
    assert archive.testzip() is None
    names = set(archive.namelist())

    def read(name: str) -> Any:
        return json.loads(archive.read(name))

    about = read("everlong.json")
    assert (about["format"], about["version"], about["kind"]) == ("everlong", 1, "account")
    assert all(any(name.startswith(each) for name in names) for each in about["contents"])
    account = read("account.json")
    assert (account["username"], account["access_tokens"][0]["name"]) == ("ada", "laptop")
    assert [fact["text"] for fact in read("memory.json")["facts"]] == ["Likes maps"]
    assert read("projects/01 sea-trip/project.json")["name"] == "Sea trip"
    assert archive.read("projects/01 sea-trip/files/01 map.txt") == b"here be dragons"
    (file,) = read("files.json")
    assert archive.read(file["file"]) == b"what was sent"
    assert file["messages"][0]["number"] == 1
    calls = [json.loads(line) for line in archive.read("model_calls.jsonl").splitlines()]
    assert ("answer", Decimal("0.25")) in {(each["kind"], Decimal(each["cost"])) for each in calls}
    talk = read("conversations/0001 day-1.json")
    assert [message["shown"] for message in talk["messages"]] == [True] * 6 + [False]
    assert [each["focus"] for each in talk["versions"]] == ["dates", ""]
    assert "Second" in talk["versions"][1]["summary"]
    assert "Old" in archive.read("conversations/0002 put-away.md").decode()
    (reading,) = read("readings.json")
    assert (reading["kind"], reading["reason"]) == ("conversation", "Asked for help")


@pytest.mark.django_db(transaction=True)
async def test_the_export_has_nothing_of_others_and_no_secret(async_client: AsyncClient) -> None:
    user = await in_db(make_account)
    await in_db(make_account, "bob")
    await async_client.aforce_login(user)
    archive = await fetch(async_client)
    everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert "bob" not in everything
    assert user.password not in everything
    assert "ada" * 9 not in everything
    assert async_client.cookies.popitem()[1].value not in everything


@pytest.mark.django_db(transaction=True)
async def test_an_export_ends_when_the_account_is_disabled(
    async_client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "CHECK_SECONDS", 0.0)
    user = await in_db(make_account)
    await async_client.aforce_login(user)
    response = await async_client.get(EXPORT)
    parts = aiter(response.streaming_content)
    assert await anext(parts)
    await in_db(User.objects.filter(pk=user.pk).update, is_active=False)
    assert [part async for part in parts] == []


@pytest.mark.django_db(transaction=True)
async def test_what_is_handed_over_meanwhile_is_not_in_the_export(
    async_client: AsyncClient,
) -> None:
    user, heir = await in_db(make_account), await in_db(make_user, "heir")
    await async_client.aforce_login(user)
    response = await async_client.get(EXPORT)
    parts = aiter(response.streaming_content)
    data = await anext(parts)
    given = Conversation.objects.filter(owner=user)
    keys = await in_db(list, given.values_list("pk", flat=True))
    await in_db(hand_over, [], keys, heir, by=None)
    data += b"".join([part async for part in parts])
    names = ZipFile(BytesIO(data)).namelist()
    assert not [name for name in names if name.startswith("conversations/")]


@pytest.mark.django_db(transaction=True)
async def test_no_page_of_a_conversation_follows_after_it_was_handed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export, "PAGE", 2)
    row = await in_db(make_conversation, messages=["One", "Two", "Three"])
    parts = readable_export.export_markdown(row)
    # The front matter, the title and the first page.
    begun = [await anext(parts) for _ in range(4)]
    heir = await in_db(make_user, "heir")
    await in_db(hand_over, [], [row.pk], heir, by=None)
    assert "Two" in begun[-1]
    assert [part async for part in parts] == []


@pytest.mark.django_db(transaction=True)
async def test_one_export_is_sent_at_a_time(async_client: AsyncClient) -> None:
    user = await in_db(make_account)
    await async_client.aforce_login(user)
    first = await async_client.get(EXPORT)
    assert (await async_client.get(EXPORT)).status_code == 429
    assert [part async for part in first.streaming_content]
    await fetch(async_client)


@pytest.mark.django_db
def test_nobody_exports_without_signing_in(client: Client) -> None:
    assert client.get(EXPORT).status_code == 302


# --- Readings -------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_owners_see_who_has_read_what(client: Client) -> None:
    owner, reader = make_user("ada"), make_user("root", admin=True)
    row = make_conversation(owner)
    audit.record(reader, Act.READ, target=row, owner=owner, reason="Asked <b>for</b> help")
    audit.record(reader, Act.CHANGE, target=owner, owner=owner)
    client.force_login(owner)
    page = client.get(READINGS).content.decode().partition('class="readings"')[2]
    for shown in ("root", row.title, row.get_absolute_url(), "Asked &lt;b&gt;for"):
        assert shown in page
    assert page.count("<li>") == 1
    pk = str(row.pk)
    row.delete()
    assert pk in client.get(READINGS).content.decode()
    client.force_login(make_user("bob"))
    assert "Nobody has read" in client.get(READINGS).content.decode()


# --- Deletion -------------------------------------------------------------------------------------


def sign_in(client: Client, user: User) -> None:
    """And say once more who it is, as a deletion asks for."""
    client.force_login(user)
    response = client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert response.status_code == 302


@pytest.mark.django_db(transaction=True)
def test_an_owner_deletes_the_account(client: Client, media: Path) -> None:
    user = make_account()
    make_user("root", admin=True)
    sign_in(client, user)
    page = client.get(DELETE).content.decode()
    assert "2 conversations" in page
    response = client.post(DELETE, {"name": "ada"})
    assert response["Location"] == reverse("account_login")
    assert not User.objects.filter(username="ada").exists()
    assert not Conversation.objects.exists()
    assert not Attachment.objects.exists()
    assert [path for path in media.rglob("*") if path.is_file()] == []
    assert client.get(reverse("home")).status_code == 302
    assert {call.user for call in ModelCall.objects.all()} == {None}
    entry = AuditEntry.objects.latest("pk")
    assert (entry.act, entry.actor, entry.target_id) == ("delete own account", None, str(user.pk))


@pytest.mark.django_db(transaction=True)
def test_a_deletion_asks_for_the_password_again(client: Client) -> None:
    user = make_user("ada")
    client.force_login(user)
    for response in (client.get(DELETE), client.post(DELETE, {"name": "ada"})):
        assert response["Location"].startswith(reverse("account_reauthenticate"))
    assert User.objects.filter(pk=user.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_a_wrong_name_deletes_nothing(client: Client) -> None:
    user = make_user("ada")
    sign_in(client, user)
    response = client.post(DELETE, {"name": "bob"})
    assert response.status_code == 422
    assert User.objects.filter(pk=user.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_the_last_administrator_stays(client: Client) -> None:
    root = make_user("root", admin=True)
    User.objects.create_user("gone", is_superuser=True, is_active=False)
    sign_in(client, root)
    response = client.post(DELETE, {"name": "root"})
    assert response.status_code == 422
    assert "only administrator" in response.content.decode()
    assert User.objects.filter(pk=root.pk).exists()
    assert not AuditEntry.objects.exists()
    url = reverse("admin:accounts_user_delete", args=[root.pk])
    client.post(url, {"post": "yes"})
    assert User.objects.filter(pk=root.pk).exists()
    make_user("second", admin=True)
    assert client.post(DELETE, {"name": "root"}).status_code == 302
