"""Users, operators, administrators: what each sees of the administration, and who makes whom
what."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Role, User
from accounts.roles import LastAdministrator, require_administrator_without, set_role
from tests.chat.factories import PASSWORD, make_compaction, make_conversation, make_user

pytestmark = pytest.mark.django_db

# What an operator sees; a page that is registered and not named here is closed to them.
OPEN = {"compaction", "conversation", "message", "modelprofile", "turn", "modelcall"}


@pytest.fixture
def root() -> User:
    return make_user("root", admin=True)


@pytest.fixture
def staff(client: Client, root: User) -> Client:
    """A browser in which an administrator is signed in."""
    client.force_login(root)
    return client


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def change_url(user: User) -> str:
    return reverse("admin:accounts_user_change", args=[user.pk])


def values_of(client: Client, url: str, **changed: Any) -> dict[str, Any]:
    """What the page of an account would post; a change to None leaves a box empty."""
    form = client.get(url).context["adminform"].form
    values = {name: form[name].value() for name in form.fields if form[name].value()}
    values |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", **changed}
    return {name: value for name, value in values.items() if value is not None}


def test_the_administration_has_no_form_of_its_own_to_guess_a_password_with(staff: Client) -> None:
    address = reverse("admin:password_change")
    new = {
        "old_password": PASSWORD,
        "new_password1": "battery horse",
        "new_password2": "battery horse",
    }
    for response in (staff.get(address), staff.post(address, new)):
        assert response["Location"] == reverse("account_change_password")
    assert User.objects.get(username="root").check_password(PASSWORD)


# --- What an operator sees ------------------------------------------------------------------------


def test_an_operator_sees_the_pages_of_operators_and_no_others() -> None:
    operator = signed_in(make_user(staff=True))
    seen = set()
    for model in admin.site._registry:
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        status = operator.get(reverse(f"admin:{name}_changelist")).status_code
        assert status in (200, 403), name
        if status == 200:
            seen.add(model._meta.model_name)
            assert operator.get(reverse(f"admin:{name}_add")).status_code == 403
    assert seen <= OPEN
    assert {"compaction", "turn"} <= seen
    assert operator.get(reverse("admin:index")).status_code == 200


def test_an_operator_sees_nothing_that_people_wrote_without_a_reason() -> None:
    marker = "zqx-secret"
    talk = make_conversation(messages=[marker] * 4, title=marker, system_prompt=marker)
    summary = make_compaction(talk, f"## Overview\n\n- {marker} [#1]", through=2, focus=marker)
    operator = signed_in(make_user(staff=True))
    for row in (talk, talk.messages.first(), summary, talk.turns.first()):
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}"
        for url in (reverse(f"{name}_changelist"), reverse(f"{name}_change", args=[row.pk])):
            page = operator.get(url)
            assert page.status_code == 200
            assert marker not in page.content.decode(), url


@pytest.mark.parametrize("may", [[], ["view_user"]])
def test_a_user_who_is_no_staff_sees_nothing(may: list[str]) -> None:
    user = make_user(may=may)
    assert user.role == Role.USER
    assert signed_in(user).get(reverse("admin:index")).status_code == 302


def test_staff_keep_the_permissions_that_were_ticked(root: User) -> None:
    helper = make_user(staff=True, may=["view_user", "change_user"])
    assert helper.role == Role.OPERATOR
    page = signed_in(helper).get(reverse("admin:accounts_user_changelist"))
    assert page.status_code == 200


def test_a_disabled_operator_may_nothing() -> None:
    operator = make_user(staff=True)
    assert operator.has_perm("chat.view_turn")
    operator.is_active = False
    assert not operator.has_perm("chat.view_turn")
    assert not operator.has_module_perms("chat")


# --- Who makes whom what --------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
def test_an_administrator_sets_a_role_in_one_field(staff: Client, role: Role) -> None:
    ada = make_user("ada")
    url = change_url(ada)
    response = staff.post(url, values_of(staff, url, role=role))
    assert response.status_code == 302, response.context["adminform"].form.errors
    ada = User.objects.get(pk=ada.pk)
    assert ada.role == role
    assert (ada.is_staff, ada.is_superuser) == (role != Role.USER, role == Role.ADMINISTRATOR)
    assert f'value="{role}"' in staff.get(url).content.decode()
    entry = AuditEntry.objects.latest("pk")
    assert (entry.act, entry.owner_id) == ("change", ada.pk)
    assert ("role" in entry.changed) == (role != Role.USER)


def test_staff_who_may_change_accounts_raise_nobody(root: User) -> None:
    helper = make_user("helper", staff=True, may=["view_user", "change_user"])
    group = Group.objects.create(name="those who may all")
    client = signed_in(helper)
    for account in (helper, make_user("ada")):
        url = change_url(account)
        raised = {"role": Role.ADMINISTRATOR, "is_superuser": "on", "is_staff": "on"}
        posted = values_of(client, url, **raised, groups=[group.pk], user_permissions=[1])
        assert client.post(url, posted).status_code == 302
        after = User.objects.get(pk=account.pk)
        assert after.role == account.role
        assert not after.groups.exists()
        assert after.user_permissions.count() == account.user_permissions.count()


def test_staff_who_may_change_accounts_take_over_no_administrators(root: User) -> None:
    helper = make_user(staff=True, may=["view_user", "change_user", "delete_user"])
    client = signed_in(helper)
    password = reverse("admin:auth_user_password_change", args=[root.pk])
    new = {"password1": "battery horse staple", "password2": "battery horse staple"}
    assert client.post(password, new).status_code == 403
    assert client.post(change_url(root), {"username": "mine"}).status_code == 403
    for url in (reverse("admin:accounts_user_delete", args=[root.pk]),):
        assert client.post(url, {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": root.pk, "post": "yes"}
    client.post(reverse("admin:accounts_user_changelist"), chosen)
    root.refresh_from_db()
    assert root.check_password(PASSWORD)


def test_staff_take_over_no_administrator_by_the_ways_in(root: User) -> None:
    """An address that somebody else could confirm would open the account by a new password."""
    address = EmailAddress.objects.create(user=root, email="root@example.org")
    factor = Authenticator.objects.create(user=root, type=Authenticator.Type.TOTP, data={})
    rights = [f"{do}_{what}" for do in ("view", "add", "change", "delete")
              for what in ("emailaddress", "authenticator")]  # fmt: skip
    for client in (signed_in(make_user("helper", staff=True, may=rights)), signed_in(root)):
        changelist = reverse("admin:account_emailaddress_changelist")
        client.post(changelist, {"action": "make_verified", "_selected_action": address.pk})
        for page in ("add", "change"):
            args = [] if page == "add" else [address.pk]
            values = {"user": root.pk, "email": "else@example.org", "verified": "on"}
            url = reverse(f"admin:account_emailaddress_{page}", args=args)
            assert client.post(url, values).status_code == 403
        assert not EmailAddress.objects.filter(verified=True).exists()
    helper = signed_in(User.objects.get(username="helper"))
    for row in (address, factor):
        names = f"{row._meta.app_label}_{row._meta.model_name}"
        url = reverse(f"admin:{names}_delete", args=[row.pk])
        assert helper.post(url, {"post": "yes"}).status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}
        helper.post(reverse(f"admin:{names}_changelist"), chosen)
        assert type(row).objects.filter(pk=row.pk).exists()


def test_staff_who_may_change_groups_give_no_permissions(root: User) -> None:
    helper = make_user(staff=True, may=["view_group", "change_group"])
    group = Group.objects.create(name="helpers")
    client = signed_in(helper)
    url = reverse("admin:auth_group_change", args=[group.pk])
    assert client.post(url, {"name": "helpers", "permissions": [1]}).status_code == 302
    assert not group.permissions.exists()


# --- The last administrator -----------------------------------------------------------------------

Attempt = Callable[[Client, User], Any]
ATTEMPTS: dict[str, Attempt] = {
    "made a user": lambda client, user: save(client, user, role=Role.USER),
    "made an operator": lambda client, user: save(client, user, role=Role.OPERATOR),
    "disabled": lambda client, user: save(client, user, is_active=None),
    "deleted": lambda client, user: client.post(
        reverse("admin:accounts_user_delete", args=[user.pk]), {"post": "yes"}
    ),
    "deleted in the list": lambda client, user: client.post(
        reverse("admin:accounts_user_changelist"),
        {"action": "delete_selected", "_selected_action": user.pk, "post": "yes"},
    ),
}


def save(client: Client, user: User, **changed: Any) -> Any:
    url = change_url(user)
    return client.post(url, values_of(client, url, **changed))


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_last_administrator_stays(staff: Client, root: User, attempt: str) -> None:
    make_user("gone", admin=True).delete()
    disabled = make_user("away", admin=True)
    User.objects.filter(pk=disabled.pk).update(is_active=False)
    response = ATTEMPTS[attempt](staff, root)
    root = User.objects.get(pk=root.pk)
    assert (root.role, root.is_active) == (Role.ADMINISTRATOR, True)
    assert "last administrator" in response.content.decode()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_one_of_two_administrators_can_go(staff: Client, root: User, attempt: str) -> None:
    make_user("other", admin=True)
    ATTEMPTS[attempt](staff, root)
    stays = User.objects.filter(pk=root.pk, is_superuser=True, is_active=True)
    assert not stays.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.on_both
def test_of_two_who_go_at_once_one_stays() -> None:
    pair = [make_user(admin=True), make_user(admin=True)]
    both = threading.Barrier(2)
    refused = []

    def go(user: User) -> None:
        both.wait()
        try:
            with transaction.atomic():
                require_administrator_without([user.pk])
                set_role(user, Role.USER)
                user.save()
        except LastAdministrator:
            refused.append(user.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=go, args=[user]) for user in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert User.objects.get(is_superuser=True).pk == refused[0]
