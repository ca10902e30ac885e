"""Two servers of models at once: each gets what is for it, with its own key."""

from collections.abc import Iterator
from typing import Any

import pytest

from chat.db.threads import in_db
from chat.models import Message, Provider
from chat.services.site import providers
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from spending.models import ModelCall
from tests.chat.factories import make_profile, make_provider
from tests.chat.sockets import MAX_OUTPUT, WINDOW, Chat

KEYS = {"first": "sk-the-first-0123456789", "second": "sk-the-second-0123456789"}
SERVED = ListedModel(id="shared", window=WINDOW, max_output=MAX_OUTPUT)


@pytest.fixture
def servers(transactional_db: None) -> Iterator[dict[str, DemoServer]]:
    """A provider of each name, with a model of the same id, that lets in its own key only."""
    running = {}
    for name, key in KEYS.items():
        server = running[name] = DemoServer(models=[SERVED], api_key=key, sampling=True)
        server.start()
        provider = make_provider(name, server.base_url, key=key)
        make_profile(
            f"{name}::shared",
            provider=provider,
            base_url="",
            context_window=WINDOW,
            max_output=MAX_OUTPUT,
            temperature=True,
            tools=False,
            input_price=1.0 if name == "first" else 4.0,
        )
    yield running
    for server in running.values():
        server.stop()
        server.script.assert_done()


def keys_of(server: DemoServer) -> set[str]:
    return {request.headers["authorization"] for request in server.script.requests}


async def talk(chat: Chat, model: str, text: str) -> Message:
    await chat.start(2, model=model, reply_settings={"temperature": 0.5})
    tab = await chat.open()
    tab.say(text)
    await tab.next("turn.finished", status="completed")
    return await chat.last()


async def test_each_server_gets_its_own_key_and_never_the_others(
    chat: Chat, servers: dict[str, DemoServer], settings: Any
) -> None:
    settings.ANTHROPIC_API_KEY = "sk-the-sites-own"
    chat.script.reply("From the site's own.")
    for name, server in servers.items():
        server.script.reply(f"From the {name}.")
    assert (await talk(chat, "test-model", "One")).text == "From the site's own."
    first = await talk(chat, "first::shared", "Two")
    second = await talk(chat, "second::shared", "Three")
    assert (first.text, first.model) == ("From the first.", "first::shared")
    assert (second.text, second.model) == ("From the second.", "second::shared")
    for name, server in servers.items():
        assert keys_of(server) == {f"Bearer {KEYS[name]}"}
        (request,) = server.script.requests
        assert (request.body["model"], request.body["temperature"]) == ("shared", 0.5)
    assert keys_of(chat.model) == {"Bearer sk-the-sites-own"}
    assert "temperature" not in chat.script.requests[0].body
    calls = ModelCall.objects.values_list("provider", "cost")
    costs = dict(await in_db(lambda: list(calls)))
    assert costs["second"] > costs["first"] > 0


async def test_a_changed_key_counts_from_the_next_message_on(
    chat: Chat, servers: dict[str, DemoServer]
) -> None:
    server = servers["first"]
    server.script.reply("One.").reply("Two.")
    await talk(chat, "first::shared", "One")
    server.api._api_key = "sk-a-new-one-0123456789"
    provider = await Provider.objects.aget(name="first")
    await in_db(providers.save_provider, provider, key="sk-a-new-one-0123456789")
    assert (await talk(chat, "first::shared", "Two")).text == "Two."


async def test_a_provider_that_is_gone_fails_the_turn_in_words_and_nobody_else_is_asked(
    chat: Chat, servers: dict[str, DemoServer]
) -> None:
    await chat.start(2, model="first::shared")
    tab = await chat.open()
    await in_db(Provider.objects.all().delete)
    tab.say("Are you there?")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "unknown_model"
    assert "Choose another model" in finished["error"]["message"]
    assert chat.script.requests == []
