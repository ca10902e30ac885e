"""The model's server is slow, stops, or breaks off; and the reader goes away."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from demo.api.answer import Gate
from demo.api.script import Script, is_chat
from tests.faults.conftest import Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import SLACK
from tests.faults.texts import WORDS, begin_story, talk
from tests.faults.visitors import Visitor

TIMEOUT = 4.0  # MODEL_TIMEOUT
LETTERS = 8  # of a slow drip, a second each: together longer than the timeout
BEGUN = "The answer has begun"


async def test_slow_drip_of_a_letter_a_second(start: Start, person: Visitor, seen: Seen) -> None:
    site = await start("embedded", MODEL_TIMEOUT=str(TIMEOUT))
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
    start: Start,
    person: Visitor,
    fault: Callable[[Script], Any],
    codes: set[str],
    seen: Seen,
) -> None:
    site = await start("embedded", MODEL_TIMEOUT=str(TIMEOUT))
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
    await goes_on(site, tab)
    check(site, person)
    seen(f"failed after {took:.1f} s with “{finished['error']['code']}”, the text is kept")
    assert took < TIMEOUT + SLACK


async def test_reader_disappears_in_mid_stream_and_returns(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("embedded")
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, WORDS[:80], until="word10 ")
    await tab.vanish()
    await asyncio.sleep(3.0)
    tab = await person.open(site.web, conversation)
    assert tab.answer is not None
    behind = len(tab.text)
    assert "word30 " in tab.text, "it was written on while nobody looked"
    await tab.next("turn.finished", status="completed")
    assert tab.text == "".join(WORDS[:80])
    await goes_on(site, tab)
    check(site, person)
    seen(f"found {behind} characters on return, and no gap to the end")
