"""Tools of an MCP server, which runs as a process of its own."""

import asyncio
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from agent.errors import ToolError
from agent.tools import mcp
from agent.tools.mcp_names import declare_name
from chat.db.threads import in_db
from chat.models import Conversation, McpServer, Message, Turn
from chat.services.turns.rounds import STOPPED
from demo.api.protocol import text, tool_use
from tests.chat.factories import make_conversation, make_user, set_policy
from tests.chat.sockets import PATIENCE, Chat, Tab, sign_in
from tests.support.job_board import KEY
from tests.support.mcp_server import BARRED, NAMES, PIXEL
from tests.support.server import LoggedProcess
from tests.support.services import free_port

SECRET = "MCP_SECRET_LIBRARY"


def running(directory: Path, *options: str) -> Iterator[str]:
    """The URL of a server, while it runs."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.mcp_server", str(port), *options]
    process = LoggedProcess(command, directory, {}).start()
    process.wait_for_log("Uvicorn running")
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from running(tmp_path_factory.mktemp("mcp"))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from running(tmp_path_factory.mktemp("mcp"), "broken")


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from running(tmp_path_factory.mktemp("mcp"), "named")


@pytest.fixture(autouse=True)
def secret(settings: Settings) -> None:
    settings.MCP_SECRETS = {SECRET: KEY}


def endpoint(url: str, key: str = KEY, timeout: float = PATIENCE) -> mcp.McpEndpoint:
    return mcp.McpEndpoint("library", url, {"Authorization": key}, timeout, SECRET)


# --- The client -----------------------------------------------------------------------------------


async def test_tools_are_listed_with_their_schemas(library: str) -> None:
    tools = {tool["name"]: tool for tool in await mcp.list_tools(endpoint(library))}
    assert set(tools) == {"find_book", "cover", "find_jobs", "burn", "read_slowly"}
    assert tools["find_book"]["description"] == "Find books by their title."
    assert tools["find_book"]["input_schema"]["required"] == ["title"]


def test_a_schema_is_always_one_of_an_object() -> None:
    listed = {"name": "list", "description": "Lists.", "input_schema": {"type": "array"}}
    assert mcp.filter_usable([listed]) == ([listed | {"input_schema": {"type": "object"}}], [])


async def test_a_call_returns_content_blocks(library: str) -> None:
    (found,) = await mcp.call_tool(endpoint(library), "find_book", {"title": "Dune"})
    assert found == text("3 books like “Dune”")
    words, picture = await mcp.call_tool(endpoint(library), "cover", {})
    assert words == text("A pixel:")
    assert picture["source"]["media_type"] == "image/png"
    assert len(picture["source"]["data"]) >= len(PIXEL)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("burn", {}, "not burnt here"),
        ("find_book", {}, "title"),
        ("lend", {}, "lend"),
    ],
)
async def test_the_servers_own_errors_are_told(
    library: str, name: str, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        await mcp.call_tool(endpoint(library), name, arguments)


async def test_a_server_that_cannot_be_used_is_told_in_words(library: str) -> None:
    with pytest.raises(ToolError, match="library cannot be used"):
        await mcp.list_tools(endpoint(f"http://127.0.0.1:{free_port()}/mcp"))
    with pytest.raises(ToolError, match=r"library did not answer within 0.3 s"):
        await mcp.call_tool(endpoint(library, timeout=0.3), "read_slowly", {})


@pytest.mark.parametrize(("key", "status"), [("Bearer wrong", 401), (BARRED, 403)])
async def test_a_refused_key_is_named_by_its_variable(library: str, key: str, status: int) -> None:
    told = rf"The key in {SECRET} was refused by library \(HTTP {status}\)"
    with pytest.raises(ToolError, match=told):
        await mcp.list_tools(endpoint(library, key=key))
    with pytest.raises(ToolError, match=told):
        await mcp.call_tool(endpoint(library, key=key), "find_book", {"title": "Dune"})


async def test_a_key_that_is_wanted_but_not_given_is_told(library: str) -> None:
    with pytest.raises(ToolError, match="library requires a key"):
        await mcp.list_tools(mcp.McpEndpoint("library", library, {}, 10.0))


# --- In a conversation ----------------------------------------------------------------------------


async def register(chat: Chat, url: str, *, ask: bool = False, **values: Any) -> McpServer:
    """A server that the conversation uses; without `ask` it may act at once."""

    def make() -> McpServer:
        name = values.pop("name", "library")
        server = McpServer.objects.create(
            name=name, url=url, secret_variable=SECRET, **({"timeout": PATIENCE} | values)
        )
        row = Conversation.objects.get(pk=chat.conversation.pk)
        chosen = [*row.tool_settings.get("mcp", []), name]
        row.tool_settings = {"mcp": chosen, "mcp_allowed": [] if ask else chosen}
        row.save()
        return server

    return await in_db(make)


def names(request: Any) -> list[str]:
    return [tool["name"] for tool in request.body["tools"]]


async def test_the_model_calls_a_tool_of_a_chosen_server(chat: Chat, library: str) -> None:
    await register(chat, library)
    chat.script.reply(tool_use("library__find_book", {"title": "Dune"})).reply("Found.")
    tab = await chat.open()
    tab.say("Find Dune")
    await tab.next("turn.finished", status="completed")
    first, second = chat.script.requests
    assert "library__find_book" in names(first)
    assert names(first) == names(second)
    (block,) = second.messages[-1]["content"]
    assert block["content"] == [text("3 books like “Dune”")]
    assert "library: find_book" in tab.all("tool.finished")[0]["html"]


async def test_names_that_the_api_does_not_take_are_mapped_and_called_by_their_own(
    chat: Chat, named: str
) -> None:
    await register(chat, named)
    declared = [f"library__{declare_name(name)}" for name in NAMES]
    calls = [tool_use(name, {"path": "a.txt"}) for name in declared]
    chat.script.reply(calls).reply("Read.")
    tab = await chat.open()
    tab.say("Read")
    await tab.next("turn.finished", status="completed")
    first, second = chat.script.requests  # whose names the scripted API has checked
    assert [name for name in names(first) if name.startswith("library__")] == declared
    results = [block["content"] for block in second.messages[-1]["content"]]
    assert results == [[text(f"{name} of a.txt")] for name in NAMES]
    shown = {row["name"]: row["html"] for row in tab.all("tool.finished")}
    for name, real in zip(declared, NAMES, strict=True):
        assert f'<span class="row-name">library: {real[:80]}' in shown[name]


async def test_a_server_that_was_not_chosen_is_not_offered(chat: Chat, library: str) -> None:
    await register(chat, library)
    await in_db(Conversation.objects.update, tool_settings={})
    chat.script.reply("Hello.")
    tab = await chat.open()
    tab.say("Hello")
    await tab.next("turn.finished", status="completed")
    assert not any("library" in name for name in names(chat.script.requests[0]))


async def test_a_dead_server_is_left_out_with_a_notice_and_not_asked_again_for_a_while(
    chat: Chat, library: str
) -> None:
    await register(chat, library)
    dead = await register(chat, f"http://127.0.0.1:{free_port()}/mcp", name="dead")
    chat.script.reply("One.").reply("Two.")
    tab = await chat.open()
    tab.say("First")
    finished = await tab.next("turn.finished", status="completed")
    assert "not available now: dead" in finished["html"]
    assert "library__find_book" in names(chat.script.requests[0])
    await in_db(dead.refresh_from_db)
    assert dead.down_until
    assert "cannot be used" in dead.error
    until = dead.down_until
    tab.say("Second")
    finished = await tab.next("turn.finished", status="completed")
    assert "dead" in finished["html"]
    await in_db(dead.refresh_from_db)
    assert dead.down_until == until, "it was not asked again"


async def test_a_key_that_is_missing_is_told_by_the_name_of_its_variable(
    chat: Chat, library: str, settings: Settings
) -> None:
    settings.MCP_SECRETS = {}
    server = await register(chat, library)
    chat.script.reply("One.")
    tab = await chat.open()
    tab.say("First")
    await tab.next("turn.finished", status="completed")
    await in_db(server.refresh_from_db)
    assert f"{SECRET} is not set" in server.error


async def test_a_server_that_is_up_again_is_offered_again(chat: Chat, library: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    server = await register(chat, library, down_until=past, error="It was down.")
    chat.script.reply("One.")
    tab = await chat.open()
    tab.say("First")
    await tab.next("turn.finished", status="completed")
    assert "library__cover" in names(chat.script.requests[0])
    await in_db(server.refresh_from_db)
    assert (server.down_until, server.error) == (None, "")


async def test_a_call_that_takes_too_long_is_a_result(chat: Chat, library: str) -> None:
    await register(chat, library, timeout=2)
    chat.script.reply(tool_use("library__read_slowly", {})).reply("Never mind.")
    tab = await chat.open()
    tab.say("Read")
    await tab.next("turn.finished", status="completed")
    (block,) = chat.script.requests[-1].messages[-1]["content"]
    assert block["is_error"]
    assert "2 s" in block["content"]


async def test_what_no_request_can_declare_is_left_out_of_a_listing_and_told_the_administrator(
    chat: Chat, broken: str
) -> None:
    server = await register(chat, broken)
    chat.script.reply("One.")
    tab = await chat.open()
    tab.say("First")
    await tab.next("turn.finished", status="completed")  # the scripted API checks what it is sent
    (request,) = chat.script.requests
    ours = [tool for tool in request.body["tools"] if tool["name"].startswith("library__")]
    assert [tool["name"] for tool in ours] == ["library__good"]
    assert ours[0]["input_schema"]["properties"] == {"a": {"type": "string"}}
    await in_db(server.refresh_from_db)
    for fault in (
        "choice has anyOf at the top",
        "nonsense has an invalid schema",
        "odd has a property",
        "a tool without a name cannot be called",
        "good is listed twice",
    ):
        assert fault in server.error


async def test_an_image_that_is_none_is_told_in_words(chat: Chat, broken: str) -> None:
    await register(chat, broken)
    chat.script.reply(tool_use("library__good", {})).reply("Pity.")
    tab = await chat.open()
    tab.say("Show")
    await tab.next("turn.finished", status="completed")
    (result,) = chat.script.requests[-1].messages[-1]["content"]
    words, picture = result["content"]
    assert words == text("Look:")
    assert picture["text"].startswith("[An image was left out: The image")


# --- With the user's consent ----------------------------------------------------------------------


def find(title: str = "Dune", block_id: str = "toolu_1") -> dict[str, Any]:
    return tool_use("library__find_book", {"title": title}, block_id)


def decide(tab: Tab, question: dict[str, Any], decision: str) -> None:
    """Click a button of a question."""
    turn_id = int(re.findall(r'data-turn="(\d+)"', question["html"])[0])
    call_id = question["id"].removeprefix("call-")
    tab.send("tool.decide", turn_id=turn_id, id=call_id, decision=decision)


def outcomes(chat: Chat) -> list[tuple[Any, bool]]:
    """What the model was told of its last calls."""
    blocks = chat.script.requests[-1].messages[-1]["content"]
    return [(block["content"], block.get("is_error", False)) for block in blocks]


async def test_a_call_waits_until_the_user_allows_it(chat: Chat, library: str) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find("<b>D\u202eune</b>")).reply("Found.")
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")
    assert "find_book of library" in question["html"]
    assert "&lt;b&gt;D\\u202eune&lt;/b&gt;" in question["html"], "as text, and nothing unseen"
    assert not tab.all("tool.finished")
    assert len(chat.script.requests) == 1
    decide(tab, question, "once")
    await tab.next("question.closed", id=question["id"])
    await tab.next("turn.finished", status="completed")
    assert outcomes(chat) == [([text("3 books like “<b>D\u202eune</b>”")], False)]


async def test_a_declined_call_is_not_made_and_the_model_is_told(chat: Chat, library: str) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Then not.").reply(find(block_id="toolu_2")).reply("Found.")
    tab = await chat.open()
    tab.say("Find Dune")
    decide(tab, await tab.next("question.asked"), "deny")
    await tab.next("turn.finished", status="completed")
    ((words, failed),) = outcomes(chat)
    assert failed
    assert "declined" in words
    tab.say("Find it after all")
    decide(tab, await tab.next("question.asked", id="call-toolu_2"), "once")
    await tab.next("turn.finished", status="completed")
    assert outcomes(chat)[0][1] is False


async def test_always_answers_what_the_same_server_asks_and_holds_for_the_conversation(
    chat: Chat, library: str
) -> None:
    await register(chat, library, ask=True)
    chat.script.reply([find(block_id="toolu_1"), find("Emma", "toolu_2")])
    chat.script.reply(find("Ulysses", "toolu_3")).reply("Found.")
    tab = await chat.open()
    tab.say("Find them")
    first = await tab.next("question.asked")
    await tab.next("question.asked")
    decide(tab, first, "always")
    await tab.next("turn.finished", status="completed")
    assert len(tab.all("question.asked")) == len(tab.all("question.closed")) == 2
    row = await in_db(Conversation.objects.get, pk=chat.conversation.pk)
    assert row.tool_settings == {"mcp": ["library"], "mcp_allowed": ["library"]}


async def test_parallel_calls_are_decided_one_by_one(chat: Chat, library: str) -> None:
    await register(chat, library, ask=True)
    chat.script.reply([find(block_id="toolu_1"), find("Emma", "toolu_2")]).reply("Found one.")
    tab = await chat.open()
    tab.say("Find them")
    first, second = await tab.next("question.asked"), await tab.next("question.asked")
    decide(tab, second, "once")
    await tab.next("tool.finished", id=second["id"].removeprefix("call-"))
    decide(tab, first, "deny")
    await tab.next("turn.finished", status="completed")
    assert [failed for _, failed in outcomes(chat)] == [True, False]


async def test_a_question_survives_a_reload_and_closes_in_every_tab(
    chat: Chat, library: str
) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Found.")
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")
    await tab.close()
    chat.tabs.remove(tab)
    other, third = await chat.open(), await chat.open()
    for each in (other, third):
        assert each.all("snapshot")[0]["questions"] == question["html"]
    decide(other, question, "once")
    for each in (other, third):
        await each.next("question.closed", id=question["id"])
        await each.next("turn.finished", status="completed")
    assert (await other.sync())["questions"] == ""
    decide(third, question, "deny")  # too late
    await third.next("error", code="not_asked")


async def test_a_server_that_was_taken_away_while_it_asked_is_not_called(
    chat: Chat, library: str
) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Then not.")
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")
    await in_db(set_policy, chat.user, mcp_servers=["another"])
    decide(tab, question, "once")
    await tab.next("turn.finished", status="completed")
    result = chat.script.requests[-1].messages[-1]  # as text: the tool is not declared any more
    assert "may not be used any more" in str(result)
    assert "library__find_book" in names(chat.script.requests[0])
    assert "library__find_book" not in names(chat.script.requests[1])


async def test_a_turn_is_stopped_while_it_waits(chat: Chat, library: str) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find())
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")
    tab.send("turn.stop")
    await tab.next("question.closed", id=question["id"])
    await tab.next("turn.finished", status="cancelled")
    (result,) = (await in_db(Message.objects.get, role="user", number=7)).blocks
    assert result["content"] == STOPPED
    assert await chat.is_idle()


async def test_who_does_not_answer_declines(chat: Chat, library: str, settings: Settings) -> None:
    settings.MCP_ASK_SECONDS = 0.2
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Then not.")
    tab = await chat.open()
    tab.say("Find Dune")
    await tab.next("question.closed")
    await tab.next("turn.finished", status="completed")
    ((words, failed),) = outcomes(chat)
    assert failed
    assert "did not answer in time" in words


async def test_a_waiting_turn_keeps_its_lease(chat: Chat, library: str) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Found.")
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")
    begun = await in_db(Turn.objects.get, status="running")

    async def extended() -> bool:
        now = await in_db(Turn.objects.get, pk=begun.pk)
        return bool(now.lease_expires > begun.lease_expires)

    async with asyncio.timeout(PATIENCE):
        while not await extended():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.05)
    decide(tab, question, "once")
    await tab.next("turn.finished", status="completed")


@pytest.mark.parametrize(
    ("turn", "call", "decision", "code"),
    [
        (0, "toolu_1", "once", "not_asked"),
        (None, "toolu_9", "once", "not_asked"),
        (None, "toolu_1", "perhaps", "bad_frame"),
        ("x", "toolu_1", "once", "bad_frame"),
    ],
)
async def test_what_was_not_asked_is_not_allowed(
    chat: Chat, library: str, turn: Any, call: str, decision: str, code: str
) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Then not.")
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")
    turn_id = int(re.findall(r'data-turn="(\d+)"', question["html"])[0]) if turn is None else turn
    tab.send("tool.decide", turn_id=turn_id, id=call, decision=decision)
    await tab.next("error", code=code)
    assert not tab.all("question.closed")
    decide(tab, question, "deny")
    await tab.next("turn.finished", status="completed")


async def test_a_stranger_cannot_answer(chat: Chat, library: str) -> None:
    await register(chat, library, ask=True)
    chat.script.reply(find()).reply("Then not.")
    tab = await chat.open()
    tab.say("Find Dune")
    question = await tab.next("question.asked")

    def strange() -> tuple[Conversation, str]:
        eve = make_user("eve")
        return make_conversation(owner=eve, messages=2), sign_in(eve)

    theirs, cookie = await in_db(strange)
    other = await chat.open(theirs, cookie=cookie)
    decide(other, question, "once")
    await other.next("error", code="not_asked")
    decide(tab, question, "deny")
    await tab.next("turn.finished", status="completed")
    assert outcomes(chat)[0][1]


# --- Administrators and users ---------------------------------------------------------------------


def test_only_variables_made_for_it_can_be_sent_to_a_server(transactional_db: None) -> None:
    server = McpServer(name="x", url="https://x.example/mcp", secret_variable=SECRET)
    server.full_clean()
    server.secret_variable = "ANTHROPIC_API_KEY"
    with pytest.raises(ValidationError, match="MCP_SECRET_"):
        server.full_clean()


@pytest.mark.parametrize("name", ["a__b", "a_"])
def test_no_two_servers_come_to_the_same_name_of_a_tool(transactional_db: None, name: str) -> None:
    McpServer(name="a_b", url="https://x.example/mcp").full_clean()
    with pytest.raises(ValidationError, match="underscores"):
        McpServer(name=name, url="https://x.example/mcp").full_clean()


def saved(browser: Browser, url: str, **given: object) -> tuple[McpServer, str]:
    """A server that an administrator has added, and what the next page says."""
    browser.force_login(make_user("root", admin=True))
    fields = {"name": "library", "url": url, "header": "Authorization", "timeout": "5"}
    fields |= {"secret_variable": SECRET, "enabled": "on"}
    page = browser.post(reverse("admin:chat_mcpserver_add"), fields | given, follow=True)
    return McpServer.objects.get(), unescape(page.content.decode())


def test_a_server_that_is_saved_is_tried(
    transactional_db: None, library: str, client: Browser
) -> None:
    server, said = saved(client, library)
    assert server.listed_at
    assert "The server answered. Its tools: find_book, cover, find_jobs, burn, read_slowly." in said


def test_a_saved_server_whose_tools_are_left_out_says_which(
    transactional_db: None, broken: str, client: Browser
) -> None:
    _, said = saved(client, broken)
    assert "Its tools: good." in said
    assert "choice has anyOf at the top of its schema" in said


def test_a_server_is_saved_though_it_cannot_be_used_and_the_cause_is_told(
    transactional_db: None, library: str, client: Browser, settings: Settings
) -> None:
    settings.MCP_SECRETS = {SECRET: "Bearer wrong"}
    server, said = saved(client, library)
    assert server.down_until
    assert f"Saved, but not usable now. The key in {SECRET} was refused by library" in said


def test_a_server_that_is_switched_off_is_not_tried(
    transactional_db: None, client: Browser
) -> None:
    server, said = saved(client, f"http://127.0.0.1:{free_port()}/mcp", enabled="")
    assert not server.down_until
    assert "not usable" not in said


def test_the_user_chooses_servers_for_a_conversation(
    conversation: Conversation, client: Browser
) -> None:
    McpServer.objects.create(name="library", url="https://library.example/mcp")
    McpServer.objects.create(name="off", url="https://off.example/mcp", enabled=False)
    client.force_login(conversation.owner)
    url = f"/c/{conversation.pk}/settings/"
    page = client.get(url).content.decode()
    assert 'value="library"' in page
    assert 'value="off"' not in page
    given = {
        "threshold": 80,
        "keep_recent_messages": 6,
        "summary_max_tokens": 2000,
        "compaction_enabled": "on",
    }
    assert client.post(url, given | {"mcp": ["library"]}).status_code == 204
    conversation.refresh_from_db()
    assert conversation.tool_settings == {"mcp": ["library"], "mcp_allowed": []}
    allowed = {"mcp": ["library"], "mcp_allowed": ["library"]}
    assert client.post(url, given | allowed).status_code == 204
    conversation.refresh_from_db()
    assert conversation.tool_settings == allowed
    assert client.post(url, given | {"mcp": ["off"]}).status_code == 422
