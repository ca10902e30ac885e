"""Reading what belongs to somebody else, in the administration: first a reason, and a record."""

import time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, User
from chat.admin import reading
from chat.models import Conversation, Memory
from chat.services.library import memories, projects
from tests.chat.factories import make_compaction, make_conversation, make_turn, make_user

pytestmark = pytest.mark.django_db

SECRET = "zqx-secret"
REASON = {"reason": "Asked for help"}
LISTS = ("conversation", "project", "message", "compaction", "turn", "memory")


@pytest.fixture
def owner() -> User:
    return make_user("ada")


@pytest.fixture
def conversation(owner: User) -> Conversation:
    """One whose title, messages, summary, focus and prompt are a secret."""
    row = make_conversation(
        owner, messages=[SECRET] * 6, title=SECRET, system_prompt=SECRET, model="m"
    )
    make_compaction(row, f"## Overview\n\n- {SECRET} [#1]", focus=SECRET, through=4)
    row.refresh_from_db()
    return row


@pytest.fixture(params=["administrator", "operator"])
def staff(client: Client, request: pytest.FixtureRequest) -> Client:
    """A browser of somebody who may look into the administration."""
    may = [f"view_{name}" for name in LISTS]
    person = (
        make_user("root", admin=True)
        if request.param == "administrator"
        else make_user("op", staff=True, may=may)
    )
    client.force_login(person)
    return client


def page_url(row: Any) -> str:
    return reverse(f"admin:chat_{row._meta.model_name}_change", args=[row.pk])


def rows_of(conversation: Conversation) -> list[Any]:
    return [
        conversation,
        conversation.messages.first(),
        conversation.compaction,
        conversation.turns.first(),
    ]


def text(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_lists_show_nothing_that_somebody_wrote(
    staff: Client, owner: User, conversation: Conversation
) -> None:
    projects.create_project(owner, SECRET)
    memories.remember_fact(owner.pk, SECRET, Memory.Source.USER)
    for model in LISTS:
        url = reverse(f"admin:chat_{model}_changelist")
        for query in ({}, {"q": "ada"}, {"conversation": conversation.pk}):
            response = staff.get(url, query, follow=True)
            assert SECRET not in text(response), (model, query)
    assert not AuditEntry.objects.exists()


def test_a_list_is_not_searched_by_what_somebody_wrote(
    staff: Client, conversation: Conversation
) -> None:
    for model in LISTS:
        for query in ({"q": SECRET}, {"q": SECRET, "conversation": conversation.pk}):
            response = staff.get(reverse(f"admin:chat_{model}_changelist"), query, follow=True)
            if "q" in response.request["QUERY_STRING"]:
                assert list(response.context["cl"].result_list) == [], (model, query)


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        ("conversation", ("title", "system_prompt", "memory_text", "compaction_settings")),
        ("message", ("text", "blocks", "usage")),
        ("compaction", ("focus", "summary", "chapters", "audit")),
        ("turn", ("focus", "error")),
        ("project", ("name", "instructions")),
        ("memory", ("text",)),
    ],
)
def test_a_list_is_not_filtered_by_what_somebody_wrote(
    staff: Client, owner: User, conversation: Conversation, model: str, columns: tuple[str, ...]
) -> None:
    projects.create_project(owner, SECRET)
    memories.remember_fact(owner.pk, SECRET, Memory.Source.USER)
    url = reverse(f"admin:chat_{model}_changelist")
    for column in columns:
        for lookup in ("", "__startswith", "__icontains", "__regex"):
            response = staff.get(url, {f"{column}{lookup}": SECRET})
            assert response.status_code in (302, 400), (column, lookup)


def test_a_list_is_filtered_by_what_nobody_wrote(
    staff: Client, owner: User, conversation: Conversation
) -> None:
    """Also by columns that hold texts, where the list offers their values."""
    fits = {
        "conversation": {"model": "m", "owner": "ada"},
        "message": {"role__exact": "user", "position__gte": 2},
        "turn": {"status__exact": "completed"},
    }
    for model, query in fits.items():
        response = staff.get(reverse(f"admin:chat_{model}_changelist"), query)
        assert list(response.context["cl"].result_list), model


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "DELETE", "LOOK"])
def test_a_reason_is_asked_for_by_whatever_method(
    staff: Client, conversation: Conversation, method: str
) -> None:
    for row in rows_of(conversation):
        response = staff.generic(method, page_url(row))
        assert SECRET not in response.content.decode(), row._meta.model_name


@pytest.mark.parametrize(
    ("model", "column"),
    [("message", "conversation"), ("message", "parent"), ("compaction", "first")],
)
def test_no_form_completes_titles_or_texts(
    staff: Client, conversation: Conversation, model: str, column: str
) -> None:
    asked = {"app_label": "chat", "model_name": model, "field_name": column, "term": ""}
    response = staff.get(reverse("admin:autocomplete"), asked)
    assert response.status_code == 403


def test_each_page_asks_for_a_reason_and_shows_nothing_before(
    staff: Client, owner: User, conversation: Conversation
) -> None:
    project = projects.create_project(owner, SECRET)
    fact, _ = memories.remember_fact(owner.pk, SECRET, Memory.Source.USER)
    for row in [*rows_of(conversation), project, fact]:
        page = text(staff.get(page_url(row)))
        assert SECRET not in page, row._meta.model_name
        assert "ada" in page


def test_a_reason_lets_its_giver_read_the_conversation_and_is_recorded(
    staff: Client, owner: User, conversation: Conversation
) -> None:
    response = staff.post(page_url(conversation), REASON)
    assert response["Location"] == page_url(conversation)
    for row in rows_of(conversation):
        assert SECRET in text(staff.get(page_url(row))), row._meta.model_name
    listed = staff.get(
        reverse("admin:chat_message_changelist"), {"conversation": conversation.pk, "q": SECRET}
    )
    assert len(listed.context["cl"].result_list) == 6
    (entry,) = AuditEntry.objects.all()
    assert (entry.act, entry.owner, entry.reason) == ("read", owner, REASON["reason"])
    assert (entry.target_kind, entry.target_id) == ("conversation", str(conversation.pk))
    assert str(entry.actor) in ("root", "op")


def test_a_reason_counts_for_one_conversation_and_an_hour(
    staff: Client, owner: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_conversation(owner, messages=[SECRET], title=SECRET)
    staff.post(page_url(conversation), REASON)
    assert SECRET not in text(staff.get(page_url(other)))
    later = time.time() + reading.REASON_SECONDS + 1
    monkeypatch.setattr(reading.time, "time", lambda: later)
    assert SECRET not in text(staff.get(page_url(conversation)))


def test_a_reason_counts_for_nobody_else(staff: Client, conversation: Conversation) -> None:
    staff.post(page_url(conversation), REASON)
    another = Client()
    another.force_login(make_user("another", admin=True))
    assert SECRET not in text(another.get(page_url(conversation)))


def test_no_reason_is_none(staff: Client, conversation: Conversation) -> None:
    for reason in ("", "  ", "why", "x" * 501):
        page = text(staff.post(page_url(conversation), {"reason": reason}))
        assert SECRET not in page
    assert not AuditEntry.objects.exists()


def test_ones_own_needs_no_reason(client: Client) -> None:
    root = make_user("root", admin=True)
    client.force_login(root)
    assert SECRET in text(client.get(page_url(make_conversation(root, title=SECRET))))
    assert not AuditEntry.objects.exists()


def test_a_reason_gives_no_right(client: Client, conversation: Conversation) -> None:
    client.force_login(make_user())
    for row in rows_of(conversation):
        response = client.post(page_url(row), REASON)
        assert response["Location"].startswith(reverse("admin:login"))
    assert not AuditEntry.objects.exists()


def test_an_action_does_not_tell_the_title(client: Client, conversation: Conversation) -> None:
    client.force_login(make_user("root", admin=True))
    choice = {"action": "revert", "_selected_action": conversation.compaction_id}
    url = reverse("admin:chat_compaction_changelist")
    assert SECRET not in text(client.post(url, choice))
    done = client.post(url, choice | {"confirmed": "yes"})
    assert SECRET not in text(client.get(url))
    assert done.status_code == 302


def test_a_running_turn_of_somebody_else_is_read_with_a_reason(
    staff: Client, conversation: Conversation
) -> None:
    turn = make_turn(conversation, focus=SECRET)
    assert SECRET not in text(staff.get(page_url(turn)))


# --- Holds ----------------------------------------------------------------------------------------


def choose(client: Client, address: str, action: str, row: Any) -> None:
    data = {"action": action, "_selected_action": row.pk}
    assert client.post(reverse(address), data).status_code == 302


def test_an_administrator_holds_a_conversation_and_releases_it(
    client: Client, conversation: Conversation
) -> None:
    client.force_login(make_user("root", admin=True))
    address = "admin:chat_conversation_changelist"
    assert SECRET not in text(client.get(reverse(address)))
    for action, held in (("hold", True), ("release", False)):
        choose(client, address, action, conversation)
        conversation.refresh_from_db()
        assert conversation.held == held
        entry = AuditEntry.objects.latest("pk")
        assert (entry.act, entry.owner) == (action, conversation.owner)


def test_an_account_is_held_with_all_that_it_has(client: Client, owner: User) -> None:
    client.force_login(make_user("root", admin=True))
    choose(client, "admin:accounts_user_changelist", "hold", owner)
    owner.refresh_from_db()
    assert owner.held


def test_an_operator_holds_nothing(client: Client, conversation: Conversation) -> None:
    may = ["view_conversation", "change_conversation"]
    client.force_login(make_user("op", staff=True, may=may))
    url = reverse("admin:chat_conversation_changelist")
    client.post(url, {"action": "hold", "_selected_action": conversation.pk})
    conversation.refresh_from_db()
    assert not conversation.held
