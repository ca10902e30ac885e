"""Handing over, as an administrator does it: asked first, with counts, and for nobody else."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import User
from chat.models import Conversation
from chat.services.library import projects
from tests.chat.factories import make_conversation, make_turn, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    """A browser in which an administrator is signed in."""
    client.force_login(make_user("root", admin=True))
    return client


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def bob() -> User:
    return make_user("bob")


def ask(client: Client, *rows: Model, **more: Any) -> Any:
    meta = rows[0]._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    chosen = {"action": "hand_over", "_selected_action": [row.pk for row in rows]}
    return client.post(url, chosen | more)


def told(response: Any) -> str:
    return " ".join(str(each) for each in get_messages(response.wsgi_request))


def owners() -> set[str]:
    return set(Conversation.objects.values_list("owner__username", flat=True))


def test_it_is_asked_first_with_counts_and_to_whom(staff: Client, ada: User, bob: User) -> None:
    make_user("away").is_active = False
    User.objects.filter(username="away").update(is_active=False)
    make_conversation(ada, messages=4, title="Secret title")
    page = ask(staff, ada).content.decode()
    for line in ("Conversations", "<td>4</td>", ">bob</option>", ">root</option>"):
        assert line in page
    for not_offered in (">ada</option>", ">away</option>", "Secret title"):
        assert not_offered not in page
    assert owners() == {"ada"}
    assert "This field is required" in ask(staff, ada, confirmed="yes").content.decode()
    assert owners() == {"ada"}


def test_all_of_an_account_or_what_is_chosen_is_handed_over(
    staff: Client, ada: User, bob: User
) -> None:
    project = projects.create_project(ada, "Garden")
    make_conversation(ada, project=project, messages=2)
    first, second, third = (make_conversation(ada, messages=2) for _ in range(3))
    confirmed = {"confirmed": "yes", "receiver": bob.pk}
    response = ask(staff, first, second, **confirmed)
    assert "bob has got 0 projects and 2 conversations" in told(response)
    assert Conversation.objects.filter(owner=bob).count() == 2
    response = ask(staff, project, **confirmed)
    assert "bob has got 1 project and 1 conversation." in told(response)
    third.refresh_from_db()
    assert third.owner == ada
    ask(staff, ada, **confirmed)
    assert owners() == {"bob"}
    assert "nothing to hand over" in told(ask(staff, ada, **confirmed))


def test_what_stayed_is_told(staff: Client, ada: User, bob: User) -> None:
    make_turn(make_conversation(ada, messages=2))
    response = ask(staff, ada, confirmed="yes", receiver=bob.pk)
    assert "1 stayed" in told(response)
    assert owners() == {"ada"}


@pytest.mark.parametrize("may", [[], ["change_user", "view_user", "view_project"]])
def test_nobody_else_hands_over(client: Client, ada: User, bob: User, may: list[str]) -> None:
    talk = make_conversation(ada, messages=2)
    client.force_login(make_user(staff=True, may=may))
    for row in (ada, talk):
        ask(client, row, confirmed="yes", receiver=bob.pk)
    assert owners() == {"ada"}
