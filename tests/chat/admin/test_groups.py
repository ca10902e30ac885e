"""Groups in the administration: what their members may use."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, GroupPolicy, User
from accounts.policies import load_rights
from chat.models import McpServer
from tests.chat.factories import make_profile, make_user

pytestmark = pytest.mark.django_db

ADD, LIST = reverse("admin:auth_group_add"), reverse("admin:auth_group_changelist")
ALL = {"model_names": ["*"], "tool_groups": ["*"], "mcp_servers": ["*"]}


@pytest.fixture
def staff(client: Client) -> Client:
    """A browser in which an administrator is signed in."""
    client.force_login(make_user("root", admin=True))
    return client


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def group(ada: User) -> Group:
    """One that she is in."""
    group = Group.objects.create(name="guests")
    ada.groups.add(group)
    return group


def save(staff: Client, group: Group, **values: Any) -> Any:
    url = reverse("admin:auth_group_change", args=[group.pk])
    return staff.post(url, {"name": group.name, "has_policy": "on", **ALL, **values})


def test_a_group_is_made_with_a_policy(staff: Client) -> None:
    make_profile("small")
    values = {"name": "guests", "has_policy": "on", **ALL, "model_names": ["small"]}
    assert staff.post(ADD, values).status_code == 302
    policy = GroupPolicy.objects.get(group__name="guests")
    assert (policy.model_names, policy.tool_groups, policy.mcp_servers) == (["small"], None, None)


def test_what_is_ticked_is_what_members_may_use(staff: Client, group: Group, ada: User) -> None:
    for name in ("small", "large"):
        make_profile(name)
    McpServer.objects.create(name="notes", url="https://notes.example/mcp")
    chosen = {"model_names": ["small"], "tool_groups": ["web"], "mcp_servers": ["notes"]}
    response = save(staff, group, **chosen, default_model="small", retention_days="30")
    assert response.status_code == 302
    rights = load_rights(ada.pk)
    assert (rights.model_names, rights.tool_groups) == ({"small"}, {"web"})
    assert (rights.mcp_servers, rights.default_models) == ({"notes"}, ("small",))
    assert rights.retention_days == 30
    entry = AuditEntry.objects.latest("pk")
    assert {"model_names", "tool_groups", "default_model", "retention_days"} <= {*entry.changed}


def test_nothing_ticked_is_nothing_allowed_and_all_is_all(
    staff: Client, group: Group, ada: User
) -> None:
    save(staff, group, model_names=[], tool_groups=[], mcp_servers=[])
    rights = load_rights(ada.pk)
    assert (rights.model_names, rights.tool_groups, rights.mcp_servers) == (frozenset(),) * 3
    save(staff, group)
    rights = load_rights(ada.pk)
    assert (rights.model_names, rights.tool_groups, rights.mcp_servers) == (None,) * 3


def test_a_group_without_a_policy_says_nothing(staff: Client, group: Group, ada: User) -> None:
    save(staff, group, model_names=[])
    assert save(staff, group, model_names=[], has_policy="").status_code == 302
    assert not GroupPolicy.objects.exists()
    assert load_rights(ada.pk).model_names is None


def test_what_is_gone_stays_visible_until_it_is_removed(
    staff: Client, group: Group, ada: User
) -> None:
    make_profile("small")
    names = {"model_names": ["small", "was here"], "mcp_servers": ["old notes"]}
    GroupPolicy.objects.create(group=group, default_model="was here", **names)
    url = reverse("admin:auth_group_change", args=[group.pk])
    page = staff.get(url).content.decode()
    for name in ("was here (gone)", "old notes (gone)"):
        assert name in page
    assert save(staff, group, **names, default_model="was here").status_code == 302
    assert load_rights(ada.pk).model_names == {"small", "was here"}
    assert save(staff, group, model_names=["small"]).status_code == 302
    assert "was here" not in staff.get(url).content.decode()


def test_a_default_that_members_may_not_use_is_refused(staff: Client, group: Group) -> None:
    for name in ("small", "large"):
        make_profile(name)
    response = save(staff, group, model_names=["small"], default_model="large")
    assert "not among the models" in response.content.decode()
    assert not GroupPolicy.objects.exists()


def test_the_list_says_what_groups_may_use(staff: Client, group: Group) -> None:
    GroupPolicy.objects.create(group=group, model_names=["a", "b"], mcp_servers=[])
    Group.objects.create(name="without a policy")
    page = staff.get(LIST).content.decode()
    assert "2 models, all tools, 0 tool servers" in page
