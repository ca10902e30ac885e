"""HTTP: the panels of the message box."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from chat.db.threads import in_db
from chat.engine.state import load_state
from chat.models import Conversation, McpServer
from chat.services.library import memories
from tests.chat.factories import make_profile, make_turn, make_user
from tests.chat.sockets import Chat

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def checked(html: str) -> dict[str, bool]:
    """The boxes of a panel of tools."""
    boxes = re.findall(r'<input\s+type="checkbox".*?>', html, re.S)
    return {re.findall('value="([^"]+)"', box)[0]: "checked" in box for box in boxes}


def declared(conversation: Conversation) -> set[str]:
    return {tool["name"] for tool in load_state(conversation.pk).context.tools}


@pytest.mark.parametrize("panel", ["models", "tools"])
def test_a_stranger_finds_no_panel(client: Client, conversation: Conversation, panel: str) -> None:
    assert client.get(f"/{panel}/").status_code == 302
    client.force_login(make_user())
    assert client.get(f"/{panel}/").status_code == 200
    assert client.get(f"/c/{conversation.pk}/{panel}/").status_code == 404
    assert client.post(f"/c/{conversation.pk}/{panel}/").status_code in (404, 405)


def test_models_are_listed_with_window_and_price(
    browser: Client, conversation: Conversation
) -> None:
    free = dict.fromkeys(("input_price", "output_price", "cache_read_price"), 0.0)
    make_profile("free-one", **free, cache_write_price=0.0, edited=True)
    make_profile("unknown-one", **free, cache_write_price=0.0, context_window=16_000)
    html = browser.get(f"/c/{conversation.pk}/models/").content.decode()
    assert "200,000 tokens · $2 in, $10 out per million" in html
    assert "200,000 tokens · free" in html
    assert "16,000 tokens · price unknown" in html
    assert re.findall(r'data-model="([^"]+)" aria-current', html) == ["test-model"]
    assert f"/c/{conversation.pk}/settings/" in html
    chosen = browser.get("/models/", {"model": "free-one"}).content.decode()
    assert re.findall(r'data-model="([^"]+)" aria-current', chosen) == ["free-one"]
    assert "settings" not in chosen


def test_tools_are_switched_one_by_one(browser: Client, conversation: Conversation) -> None:
    McpServer.objects.create(name="library", url="http://127.0.0.1:9/mcp")
    McpServer.objects.create(name="retired", url="http://127.0.0.1:9/mcp", enabled=False)
    conversation.tool_settings = {"mcp": ["retired"], "mcp_allowed": ["library"]}
    conversation.save()
    panel = f"/c/{conversation.pk}/tools/"
    before = {"history": True, "memory": True, "mcp:library": False}
    assert checked(browser.get(panel).content.decode()) == before
    assert browser.post(panel, {"tools": ["", "history", "mcp:library"]}).status_code == 204
    conversation.refresh_from_db()
    assert conversation.tool_settings == {
        "mcp": ["retired", "library"],
        "mcp_allowed": ["library"],
        "off": ["memory"],
    }
    after = {"history": True, "memory": False, "mcp:library": True}
    assert checked(browser.get(panel).content.decode()) == after
    assert declared(conversation) == {"search_history", "read_messages", "compact_context"}
    make_profile(web_tools=True)
    assert browser.post(panel, {"tools": ["", "web", "nonsense"]}).status_code == 204
    conversation.refresh_from_db()
    assert conversation.tool_settings["web"] is True
    assert conversation.tool_settings["off"] == ["history", "memory"]
    assert declared(conversation) == {"compact_context", "web_search", "web_fetch"}
    make_turn(conversation)
    refused = browser.post(panel, {"tools": ["", "history"]})
    assert (refused.status_code, "being written" in refused.content.decode()) == (409, True)


def test_the_settings_leave_alone_what_the_panel_switched(
    browser: Client, conversation: Conversation
) -> None:
    conversation.tool_settings = {"off": ["memory"]}
    conversation.save()
    form = {"threshold": "80", "keep_recent_messages": "6", "summary_max_tokens": "2000"}
    assert browser.post(f"/c/{conversation.pk}/settings/", form).status_code == 204
    conversation.refresh_from_db()
    assert conversation.tool_settings["off"] == ["memory"]


def test_a_model_without_tools_says_so(browser: Client, conversation: Conversation) -> None:
    make_profile(tools=False)
    assert "cannot call tools" in browser.get(f"/c/{conversation.pk}/tools/").content.decode()


async def test_a_first_message_brings_the_tools_that_were_chosen(chat: Chat) -> None:
    await in_db(memories.remember_fact, chat.user.pk, "Likes tea", "user")
    first: dict[str, Any] = {"text": "Hello", "model": "test-model"}
    chat.script.reply("Hi.", always=True)
    for tools, off in ((None, []), (["", "history"], ["memory"]), ([""], ["history", "memory"])):
        posted = first if tools is None else first | {"tools": tools}
        response = await chat.http.post("/c/", posted)
        row = await Conversation.objects.aget(pk=response["Location"].split("/")[2])
        assert row.tool_settings.get("off", []) == off
        chat.conversation = row
        await chat.eventually(lambda last: last.text == "Hi.")
        told = chat.script.requests[-1].system_text
        assert ("Likes tea" in told) == ("memory" not in off)
