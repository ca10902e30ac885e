"""What is known of models before and after their server has been asked, and what of them people
are offered."""

from typing import Any

import pytest

from accounts.models import User
from chat.engine.model_profiles import find_default_name, is_offered, list_offered
from chat.models import ModelProfile
from tests.chat.factories import make_profile, make_provider, make_user, set_policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user("ada")


def offered(user: User) -> list[str]:
    return [profile.name for profile in list_offered(user.pk)]


def test_before_the_servers_list_is_read_the_default_model_is_offered(
    ada: User, settings: Any
) -> None:
    settings.DEFAULT_MODEL = "claude-sonnet-5-5"
    assert offered(ada) == ["claude-sonnet-5-5"]
    assert not ModelProfile.objects.exists(), "nothing is stored by looking"


def test_where_an_administrator_has_switched_all_models_off_none_is_offered(ada: User) -> None:
    make_profile(enabled=False)
    assert offered(ada) == []


def test_only_the_models_of_ones_groups_are_offered(ada: User) -> None:
    provider = make_provider("local", "http://127.0.0.1:9")
    for name in ("large", "small"):
        make_profile(name)
    make_profile("local::tiny", provider=provider)
    set_policy(ada, model_names=["small", "local::tiny", "gone"])
    assert offered(ada) == ["small", "local::tiny"]
    assert is_offered(ada.pk, "small")
    assert not is_offered(ada.pk, "large")
    assert not is_offered(ada.pk, "gone")
    assert offered(make_user()) == ["large", "small", "local::tiny"]


def test_a_new_conversation_has_ones_own_choice_or_the_groups_or_the_sites_model(
    ada: User, settings: Any
) -> None:
    settings.DEFAULT_MODEL = "of-site"
    for name in ("of-site", "of-group", "own"):
        make_profile(name)
    assert find_default_name(ada.pk) == "of-site"
    set_policy(ada, default_model="of-group")
    assert find_default_name(ada.pk) == "of-group"
    ada.default_model = "own"
    ada.save()
    assert find_default_name(ada.pk) == "own"
    ModelProfile.objects.filter(name="own").update(enabled=False)
    assert find_default_name(ada.pk) == "of-group", "a choice that is not offered any more"


def test_where_the_sites_model_is_not_ones_own_to_use_another_one_is_the_default(
    ada: User, settings: Any
) -> None:
    settings.DEFAULT_MODEL = "of-site"
    for name in ("of-site", "b", "c"):
        make_profile(name)
    set_policy(ada, model_names=["c", "b"])
    assert find_default_name(ada.pk) == "b"
