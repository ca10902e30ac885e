"""The model's server is slow, stops, or breaks off; and the reader goes away."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from demo.api.answer import Gate
from demo.api.script import Script, is_chat
from tests.faults.conftest import Seen
from tests.faults.oracle import check, goes_on
from tests.faults.sites import SLACK, Site
from tests.faults.texts import WORDS, talk
from tests.faults.visitors import Visitor

TIMEOUT = 4.0  # MODEL_TIMEOUT
LETTERS = 8  # of a slow drip, a second each: together longer than the timeout
BEGUN = "The answer has begun"


async def test_slow_drip_of_a_letter_a_second(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("embedded", MODEL_TIMEOUT=str(TIMEOUT))
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    site.model.script.drip(list("everlong"[:LETTERS]), 1.0, when=is_chat)
    started = time.monotonic()
    tab.say("Slowly, please.")
    await tab.finished(status="completed")
    took = time.monotonic() - started
    assert site.messages(conversation)[-1]["text"] == "everlong"
    check(site, person)
    seen(f"whole after {took:.1f} s, with a timeout of {TIMEOUT:.0f} s")
    assert took > TIMEOUT


def stalls(script: Script) -> Gate:
    return script.stall(BEGUN, when=is_chat)


def is_cut(script: Script) -> Any:
    return script.cut(BEGUN, when=is_chat)


def is_dropped(script: Script) -> Any:
    return script.drop(BEGUN, when=is_chat)


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        pytest.param(stalls, {"timeout"}, id="stalls"),
        pytest.param(is_cut, {"stream_cut", "connection_lost"}, id="ends without its end"),
        pytest.param(is_dropped, {"connection_lost"}, id="resets the connection"),
    ],
)
async def test_provider_in_mid_stream(
    build: Callable[..., Site],
    person: Visitor,
    fault: Callable[[Script], Any],
    codes: set[str],
    seen: Seen,
) -> None:
    site = build("embedded", MODEL_TIMEOUT=str(TIMEOUT))
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    fault(site.model.script)
    started = time.monotonic()
    tab.say("Tell me a story.")
    finished = await tab.finished()
    took = time.monotonic() - started
    assert finished["status"] == "failed"
    assert finished["error"]["code"] in codes
    assert finished["error"]["retryable"]
    assert 'data-action="retry"' in finished["html"]
    assert site.messages(conversation)[-1]["text"] == BEGUN
    chats = [r for r in site.model.script.requests if r.last_user_text == "Tell me a story."]
    assert len(chats) == 1, "asked again although there was text"
    site.model.script.reply("A whole answer.", when=is_chat)
    await person.retry(site.web, conversation)
    await tab.next("turn.finished", status="completed")
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person)
    seen(f"failed after {took:.1f} s with “{finished['error']['code']}”, the text is kept")
    assert took < TIMEOUT + SLACK


async def test_reader_disappears_in_mid_stream_and_returns(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("embedded")
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS[:80], 0.1, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads("word10 ")
    await tab.vanish()
    await asyncio.sleep(3.0)
    tab = await person.open(site.web, conversation)
    assert tab.answer is not None
    behind = len(tab.text)
    assert "word30 " in tab.text, "it was written on while nobody looked"
    await tab.next("turn.finished", status="completed")
    assert tab.text == "".join(WORDS[:80])
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person)
    seen(f"found {behind} characters on return, and no gap to the end")
