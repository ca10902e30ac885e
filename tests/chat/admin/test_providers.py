"""Providers in the administration: what is entered as a key never comes out again."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from chat.admin.base import list_url
from chat.engine.model_server import load_endpoint
from chat.models import ModelProfile, Provider
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.factories import make_provider, make_user

KEY = "sk-local-0123456789-wxyz"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(make_user(admin=True))
    return client


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer(models=[ListedModel("m", window=64_000)], api_key=KEY) as running:
        yield running


def change(provider: Provider) -> str:
    return reverse("admin:chat_provider_change", args=[provider.pk])


def test_a_new_provider_is_checked_and_its_key_is_shown_nowhere(
    staff: Client, server: DemoServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    form = {"name": "local", "base_url": f"{server.base_url}/", "enabled": "on", "new_key": KEY}
    response = staff.post(reverse("admin:chat_provider_add"), form, follow=True)
    assert "Models that it named: 1." in response.content.decode()
    provider = Provider.objects.get()
    assert (provider.base_url, provider.key_end) == (server.base_url, "wxyz")
    assert load_endpoint("local::m").key == KEY
    pages = [response, staff.get(change(provider)), staff.get(list_url(Provider))]
    pages += [
        staff.get("/admin/"),
        staff.get(reverse("admin:chat_provider_history", args=[provider.pk]), follow=True),
    ]
    for page in pages:
        assert page.status_code == 200
        assert KEY not in page.content.decode()
    assert "…wxyz, since" in pages[1].content.decode()
    wrong = staff.post(change(provider), form | {"new_key": "sk wrong\n"})
    assert "no spaces" in wrong.content.decode()
    assert "sk wrong" not in wrong.content.decode()
    assert KEY not in caplog.text


def test_an_empty_field_keeps_the_key_and_a_new_address_wants_its_own(
    staff: Client, server: DemoServer
) -> None:
    provider = make_provider("local", server.base_url, key=KEY)
    assert staff.post(change(provider), {"base_url": server.base_url}).status_code == 302
    assert not Provider.objects.get().enabled
    assert Provider.objects.get().encrypted_key
    moved = {"base_url": "http://127.0.0.1:9", "enabled": "on"}
    page = staff.post(change(provider), moved)
    assert "new address&#x27;s key" in page.content.decode()
    assert Provider.objects.get().base_url == server.base_url
    followed = staff.post(change(provider), moved | {"forget_key": "on"}, follow=True)
    assert "is not usable now. The model&#x27;s server cannot" in followed.content.decode()
    assert load_endpoint("local::m").key == ""


def test_a_key_that_cannot_be_read_any_more_is_told_in_words(
    staff: Client, server: DemoServer
) -> None:
    provider = make_provider("local", server.base_url, key=KEY)
    Provider.objects.update(encrypted_key="damaged")
    chosen = {"action": "ask_for_models", "_selected_action": provider.pk}
    page = staff.post(list_url(Provider), chosen, follow=True)
    assert "SECRET_KEY or ENCRYPTION_KEYS is" in page.content.decode()
    assert page.status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8080",
        "ftp://a.example",
        "http://user:pass@a.example",
        "https://a.example/v1",
        "http://a:99999",
        "http://a?key=1",
    ],
)
def test_an_address_that_cannot_be_right_is_refused(staff: Client, address: str) -> None:
    form = {"name": "local", "base_url": address, "enabled": "on"}
    page = staff.post(reverse("admin:chat_provider_add"), form)
    assert "errorlist" in page.content.decode()
    assert not Provider.objects.exists()


def test_a_profile_can_be_added_for_a_provider_that_lists_none(staff: Client) -> None:
    provider = make_provider("anthropic-2", "")
    form = {
        "name": "anthropic-2::claude-haiku-4-5",
        "context_window": "64000",
        "max_output": "4000",
        **dict.fromkeys(("input_price", "output_price", "cache_read_price"), "1"),
        "cache_write_price": "1",
        "enabled": "on",
    }
    add = reverse("admin:chat_modelprofile_add")
    for wrong in ({"name": "nobody::m"}, {"temperature": "on"}):
        assert "errorlist" in staff.post(add, form | wrong).content.decode()
    assert staff.post(add, form).status_code == 302
    profile = ModelProfile.objects.get()
    assert (profile.provider, profile.base_url) == (provider, "")
    assert profile.token_factor < 1.2
