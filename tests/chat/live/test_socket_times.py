"""The zone of the browser, which its cookie tells, as the model reads it."""

import re

import pytest

from chat.db.threads import in_db
from chat.models import Conversation, Message
from demo.api.script import is_chat
from tests.chat.factories import MODEL
from tests.chat.sockets import Chat

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


async def say(chat: Chat, zone: str | None) -> str:
    """The zone that the request for the answer names; "" for none. `zone`: of the tab."""
    cookie = chat.cookie if zone is None else f"{chat.cookie}; everlong_zone={zone}"
    tab = await chat.open(cookie=cookie)
    chat.script.reply("Good.")
    tab.say("Hello")
    await tab.next("turn.finished")
    content = chat.script.requests[-1].messages[-1]["content"]
    told = (
        re.fullmatch(r"\[.+, \d\d:\d\d, (.+)\]", content[0]["text"]) if len(content) > 1 else None
    )
    return told[1] if told else ""


async def test_each_tab_has_its_own_zone(chat: Chat) -> None:
    await chat.start(0)
    assert await say(chat, "Asia/Tokyo") == "Asia/Tokyo"
    assert await say(chat, "Asia%2FTokyo") == ""  # it was told a moment before
    assert await say(chat, "America/Sao_Paulo") == "America/Sao_Paulo"


@pytest.mark.parametrize("zone", [None, "", "Mars/Olympus", "../../etc/passwd", "undefined"])
async def test_where_nobody_knows_the_zone_the_sites_counts(chat: Chat, zone: str | None) -> None:
    await chat.start(0)
    assert await say(chat, zone) == "UTC"


async def test_a_first_message_brings_it_too(chat: Chat) -> None:
    http = chat.http
    http.cookies["everlong_zone"] = "Asia/Tokyo"
    gate = chat.script.stall("Good", then=".", when=is_chat)
    response = await http.post("/c/", {"model": MODEL, "text": "Hello"})
    await gate.wait_reached()
    pk = response["Location"].split("/")[2]
    first = await in_db(Message.objects.get, conversation=pk, number=1)
    assert first.time_zone == "Asia/Tokyo"
    assert first.time_line.endswith(", Asia/Tokyo]")
    await in_db(Conversation.objects.filter(pk=pk).update, title_edited=True)
    gate.release()
    tab = await chat.open(await in_db(Conversation.objects.get, pk=pk))
    await tab.until(lambda: tab.all("turn.finished") or not tab.all("snapshot")[0]["turn"])
