"""What people may use: their groups' policies, and how soon a change of them holds."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts import kept, policies
from accounts.models import GroupPolicy, User
from accounts.policies import NOTHING, Rights, find_cost_centre, load_all_rights, load_rights

pytestmark = [pytest.mark.django_db, pytest.mark.on_both]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def join(user: User, name: str, **policy: Any) -> Group:
    """Put somebody into a group with that policy."""
    group = Group.objects.create(name=name)
    GroupPolicy.objects.create(group=group, **policy)
    user.groups.add(group)
    return group


def count_statements(action: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as caught:
        action()
    return len(caught)


def test_somebody_without_a_policy_may_use_everything(ada: User) -> None:
    plain = Group.objects.create(name="plain")
    ada.groups.add(plain)
    rights = load_rights(ada.pk)
    assert rights == Rights(group_ids=(plain.pk,))
    assert rights.may_use_model("any")
    assert rights.may_use_tools("web")
    assert rights.may_use_server("any")


def test_a_policy_names_what_may_be_used(ada: User) -> None:
    join(ada, "few", model_names=["small"], tool_groups=[], mcp_servers=["notes"])
    rights = load_rights(ada.pk)
    assert (rights.may_use_model("small"), rights.may_use_model("large")) == (True, False)
    assert not rights.may_use_tools("web")
    assert (rights.may_use_server("notes"), rights.may_use_server("mail")) == (True, False)


def test_of_several_groups_each_adds_what_it_allows(ada: User) -> None:
    join(ada, "one", model_names=["a"], tool_groups=["web"], mcp_servers=[], retention_days=30)
    join(ada, "two", model_names=["b"], tool_groups=None, mcp_servers=["notes"], retention_days=90)
    ada.groups.add(Group.objects.create(name="without a policy"))
    rights = load_rights(ada.pk)
    assert rights.model_names == {"a", "b"}
    assert rights.tool_groups is None
    assert rights.mcp_servers == {"notes"}
    assert rights.retention_days == 90
    assert len(rights.group_ids) == 3


def test_the_persons_own_model_comes_before_the_groups_if_they_may_use_it(ada: User) -> None:
    join(ada, "one", model_names=["a", "b"], default_model="a")
    assert load_rights(ada.pk).default_models == ("a",)
    for own, wanted in (("b", ("b", "a")), ("c", ("a",))):
        ada.default_model = own
        ada.save()
        assert load_rights(ada.pk).default_models == wanted


def test_a_disabled_or_unknown_account_may_use_nothing(ada: User) -> None:
    assert load_rights(ada.pk) == Rights()
    ada.is_active = False
    ada.save()
    assert load_rights(ada.pk) == load_rights(ada.pk + 1) == NOTHING
    assert not NOTHING.may_use_model("any")


def test_a_cost_centre_is_the_first_group(ada: User) -> None:
    assert find_cost_centre(ada.pk) is None
    first = join(ada, "z")
    join(ada, "a")
    assert find_cost_centre(ada.pk) == first.pk


def test_one_statement_reads_the_rights_of_many_and_none_what_is_known(ada: User) -> None:
    bob = User.objects.create_user("bob")
    ids = [ada.pk, bob.pk]
    assert count_statements(lambda: load_all_rights(ids)) == 1
    assert count_statements(lambda: [load_rights(pk) for pk in ids]) == 0


def test_what_another_process_has_changed_is_read_within_two_seconds(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(kept, "monotonic", lambda: now)
    group = join(ada, "few")
    assert load_rights(ada.pk).model_names is None
    GroupPolicy.objects.filter(group=group).update(model_names=[])  # sends no signal here
    now += 1.9
    assert load_rights(ada.pk).model_names is None
    now += 0.1
    assert load_rights(ada.pk).model_names == frozenset()


CHANGES: dict[str, Callable[[User, Group], object]] = {
    "a policy": lambda user, group: change(group.policy, model_names=["other"]),
    "a policy that goes": lambda user, group: group.policy.delete(),
    "a group that goes": lambda user, group: group.delete(),
    "somebody put out": lambda user, group: user.groups.remove(group),
    "the same from the group's side": lambda user, group: group.user_set.remove(user),
    "all put out": lambda user, group: group.user_set.clear(),
    "a disabled account": lambda user, group: change(user, is_active=False),
    "a deleted account": lambda user, group: User.objects.get(pk=user.pk).delete(),
}


def change(row: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.save()


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_holds_at_once_in_the_process_that_makes_it(ada: User, name: str) -> None:
    group = join(ada, "few", model_names=["small"])
    before = load_rights(ada.pk)
    CHANGES[name](ada, group)
    assert load_rights(ada.pk) != before


@pytest.mark.django_db(transaction=True)
def test_what_was_read_while_a_change_was_not_yet_visible_is_forgotten_with_the_commit(
    ada: User,
) -> None:
    group = join(ada, "few", model_names=["small"])
    old = load_rights(ada.pk)
    with transaction.atomic():
        change(group.policy, model_names=["other"])
        policies._kept.keep(ada.pk, old)  # another thread, just then
    assert load_rights(ada.pk).model_names == {"other"}
