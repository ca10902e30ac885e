"""What is known of models before and after their server has been asked."""

from typing import Any

import pytest

from chat.engine.model_profiles import list_offered
from chat.models import ModelProfile
from tests.chat.factories import make_profile

pytestmark = pytest.mark.django_db


def test_before_the_servers_list_is_read_the_default_model_is_offered(settings: Any) -> None:
    settings.DEFAULT_MODEL = "claude-sonnet-5-5"
    assert [profile.name for profile in list_offered()] == ["claude-sonnet-5-5"]
    assert not ModelProfile.objects.exists(), "nothing is stored by looking"


def test_where_an_administrator_has_switched_all_models_off_none_is_offered() -> None:
    make_profile(enabled=False)
    assert list_offered() == []
