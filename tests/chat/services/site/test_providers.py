"""Providers: their keys, and the profiles of their models."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command

from agent.errors import AgentError
from agent.model.listing import read_list
from agent.model.rules import EFFORTS
from chat.engine import model_server
from chat.engine.model_profiles import is_offered, list_offered, load_profile
from chat.engine.model_server import load_endpoint
from chat.engine.providers import Endpoint
from chat.models import ModelProfile, Provider
from chat.services.site import model_profiles, providers
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.factories import make_profile, make_provider, make_user

KEY = "sk-local-0123456789-wxyz"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[DemoServer]:
    listed = [
        ListedModel("org/model:8b", window=64_000, max_output=8_000, efforts=EFFORTS),
        ListedModel("shared", window=32_000, max_output=4_000),
        ListedModel("tiny", window=8_000, max_output=1_000),
    ]
    with DemoServer(models=listed, api_key=KEY) as running:
        yield running


def ask(provider: Provider) -> int:
    return async_to_sync(providers.check_provider)(provider)


def test_a_check_fills_in_the_profiles_of_a_providers_models(server: DemoServer) -> None:
    make_profile("shared", input_price=3.0)
    provider = make_provider("local", server.base_url, key=KEY)
    assert ask(provider) == 3
    profile = load_profile("local::org/model:8b")
    assert (profile.provider_id, profile.context_window) == (provider.pk, 64_000)
    assert profile.efforts == [*EFFORTS]
    assert not profile.web_tools
    names = [row.name for row in list_offered(make_user().pk)]
    assert names == ["shared", "local::org/model:8b", "local::shared"], "one is too small"
    assert load_profile("shared").input_price == 3.0
    assert load_profile("local::shared").context_window == 32_000
    provider.refresh_from_db()
    assert provider.checked_at
    assert provider.error == ""


def test_a_check_that_fails_says_why_and_changes_no_profile(server: DemoServer) -> None:
    provider = make_provider("local", server.base_url, key="wrong")
    with pytest.raises(AgentError) as raised:
        ask(provider)
    provider.refresh_from_db()
    assert raised.value.code == "bad_key"
    assert "key was not accepted" in provider.error
    assert not ModelProfile.objects.filter(provider=provider).exists()
    server.stop()
    with pytest.raises(AgentError, match="cannot be reached"):
        ask(provider)


def test_a_key_that_a_server_repeats_to_the_check_is_not_stored(server: DemoServer) -> None:
    provider = make_provider("local", server.base_url, key=KEY)
    server.script.error(403, message=f"{KEY} lacks a scope", endpoint="models")
    with pytest.raises(AgentError) as raised:
        ask(provider)
    provider.refresh_from_db()
    assert provider.error == str(raised.value)
    assert "[masked] lacks a scope" in provider.error
    assert KEY not in provider.error


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [None, {"id": 5}, {"object": "x"}]},
        {"data": {"id": "x"}},
        {"data": [{"id": "x" * 500}]},
    ],
)
def test_a_list_of_nonsense_names_no_models(answer: dict[str, Any]) -> None:
    assert read_list(answer) == []
    odd = {"id": "x", "capabilities": {"effort": {"low": "yes"}}, "meta": 3, "max_tokens": "many"}
    (model,) = read_list({"data": [odd | {"display_name": "a\0b", "max_input_tokens": 10**12}]})
    assert model.display_name == "ab"
    assert (model.context_window, model.max_output, model.efforts) == (None, None, ())


def test_a_key_is_stored_encrypted_for_one_address(server: DemoServer, settings: Any) -> None:
    provider = make_provider("local", "https://one.example/api", key=KEY)
    stored = Provider.objects.values().get()
    assert KEY not in str(stored)
    assert stored["key_end"] == "wxyz"
    assert load_endpoint("local::m") == Endpoint("https://one.example/api", KEY)
    assert KEY not in repr(load_endpoint("local::m"))
    Provider.objects.update(base_url="https://one.example/other")
    assert load_endpoint("local::m").key == KEY
    Provider.objects.update(base_url="https://two.example")
    with pytest.raises(AgentError, match="another address"):
        load_endpoint("local::m")
    Provider.objects.update(base_url="https://one.example/api")
    settings.SECRET_KEY = "another one"
    with pytest.raises(AgentError, match="SECRET_KEY") as raised:
        load_endpoint("local::m")
    assert (raised.value.code, raised.value.said) == ("bad_key", "local")
    providers.save_provider(provider, forget=True)
    assert load_endpoint("local::m").key == ""


def test_the_sites_own_key_goes_to_no_provider(settings: Any) -> None:
    make_provider("local", "http://127.0.0.1:9")
    assert load_endpoint("local::m") == Endpoint("http://127.0.0.1:9", "")
    assert load_endpoint("m").key == settings.ANTHROPIC_API_KEY


@pytest.mark.parametrize("how", ["deleted", "switched off"])
def test_what_was_said_to_a_provider_goes_to_no_other_one(server: DemoServer, how: str) -> None:
    provider = make_provider("local", server.base_url, key=KEY)
    ask(provider)
    user = make_user()
    assert is_offered(user.pk, "local::shared")
    if how == "deleted":
        provider.delete()
    else:
        Provider.objects.update(enabled=False)
    assert not is_offered(user.pk, "local::shared")
    with pytest.raises(AgentError, match="Choose another model"):
        load_endpoint("local::shared")


def test_stored_keys_are_moved_to_a_new_secret(settings: Any) -> None:
    provider = make_provider("local", "http://127.0.0.1:9", key=KEY)
    settings.ENCRYPTION_KEYS = ["a new secret of enough characters"]
    said = StringIO()
    call_command("rotate_keys", stdout=said)
    assert said.getvalue() == "1 keys encrypted anew.\n"
    settings.SECRET_KEY = "changed"
    assert load_endpoint("local::m").key == KEY
    Provider.objects.filter(pk=provider.pk).update(encrypted_key="damaged")
    with pytest.raises(CommandError, match="local"):
        call_command("rotate_keys", stdout=said)


def test_the_sites_own_server_cannot_take_a_providers_model_for_itself(
    server: DemoServer, settings: Any
) -> None:
    provider = make_provider("local", server.base_url, key=KEY)
    ask(provider)
    settings.DEFAULT_MODEL = "local::shared"
    listed = [ListedModel("local::tiny", window=90_000), ListedModel("plain", window=90_000)]
    with DemoServer(models=listed) as own:
        settings.ANTHROPIC_BASE_URL = own.base_url
        assert async_to_sync(refresh_own)() == 2
    assert load_profile("plain").provider is None
    assert load_profile("local::shared").provider_id == provider.pk
    assert load_profile("local::tiny").context_window == 8_000


async def refresh_own() -> int:
    try:
        return await model_profiles.refresh_profiles()
    finally:
        await model_server.close_clients()


@pytest.mark.parametrize("empty", [True, False])
def test_a_providers_key_goes_to_its_own_address_whatever_the_environment_names(
    server: DemoServer, monkeypatch: pytest.MonkeyPatch, settings: Any, empty: bool
) -> None:
    elsewhere = "http://127.0.0.1:9"
    settings.ANTHROPIC_BASE_URL = elsewhere
    for name in ("ANTHROPIC_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, elsewhere)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer another")
    provider = make_provider("second", "" if empty else server.base_url, key=KEY)
    endpoint = load_endpoint("second::model")

    async def find_address() -> str:
        client = model_server.new_client(endpoint)
        await client.close()
        return str(client._sdk.base_url).rstrip("/")

    assert async_to_sync(find_address)() == provider.origin
    if not empty:
        assert ask(provider) == 3, "the server takes its own key alone"
