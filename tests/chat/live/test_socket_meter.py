"""The gauge says what the next request holds, whatever became of the last one."""

from typing import Any

import pytest

from chat import metrics
from chat.db.threads import in_db
from chat.engine.model_server import build_request, get_counter
from chat.engine.state import RequestState, load_state
from chat.models import ModelProfile
from demo.api.protocol import ScriptedReply, text
from tests.chat.counts import read_count
from tests.chat.factories import make_compaction
from tests.chat.sockets import Chat, long_text

pytestmark = pytest.mark.on_both

NEAR = 0.1  # of the next request
# What servers report that count only what their cache did not hold.
FAR_TOO_LITTLE = {
    "input_tokens": 8,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation": None,
    "output_tokens": 1,
}


def count_next_request(state: RequestState) -> int:
    """Tokens of the next request's body, by the estimate's own tokenizer."""
    request, counter = build_request(state.context), get_counter()
    raw = sum(counter.count(block["text"]) for block in request.system)
    raw += sum(counter.count(str(tool)) for tool in request.tools)
    raw += sum(counter.count_blocks(message["content"]) for message in request.messages)
    return state.limits.factor.apply(raw)


async def read_state(chat: Chat) -> RequestState:
    return await in_db(load_state, chat.conversation.pk)


async def test_a_request_without_the_first_message_does_not_hide_it_from_the_gauge(
    chat: Chat,
) -> None:
    """What is recent is one turn, which is never cut: the protected first message is left out."""
    first, summary = long_text(1) * 5, "## Overview\n\n" + "- lorem ipsum dolor [#1]\n" * 250
    talk = await chat.start([first, "Noted."], compaction_enabled=False)
    await in_db(lambda: make_compaction(talk, summary, through=2))
    chat.script.reply("Here.")
    tab = await chat.open()
    tab.say(long_text(3) * 5)
    assert "left out" in (await tab.next("turn.notice"))["text"]
    await tab.next("turn.finished", status="completed")
    assert "Message 1:" not in str(chat.script.requests[-1].messages)
    used = (await tab.sync())["usage"]["used"]
    state = await read_state(chat)
    assert state.context.first is not None
    assert used == pytest.approx(count_next_request(state), rel=NEAR)
    assert not state.fits


async def test_a_server_that_reports_far_too_little_is_not_believed_and_the_page_says_so(
    chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    await chat.start([long_text(n) for n in range(1, 9)])
    before = await in_db(ModelProfile.objects.get, name=chat.conversation.model)
    counted = read_count(metrics.USAGE_NOT_BELIEVED)
    chat.script.reply(ScriptedReply((text("Yes."),), usage=FAR_TOO_LITTLE))
    tab = await chat.open()
    tab.say("Did you get that?")
    await tab.next("turn.finished", status="completed")
    usage: dict[str, Any] = (await tab.sync())["usage"]
    state = await read_state(chat)
    assert usage["used"] == state.used == pytest.approx(count_next_request(state), rel=NEAR)
    assert usage["estimated"]
    assert "far too few tokens" in usage["note"]
    after = await in_db(ModelProfile.objects.get, name=chat.conversation.model)
    assert (after.token_factor, after.token_samples) == (before.token_factor, before.token_samples)
    assert read_count(metrics.USAGE_NOT_BELIEVED) == counted + 1
    warned = [r for r in caplog.records if "reported usage not believed" in str(r.msg)]
    assert len(warned) == 1
    tab.say(long_text(11) + long_text(12))
    await tab.next("CompressionStarted", trigger="auto")
    tab.send("turn.stop")  # nobody writes the summary here
    await tab.next("turn.finished", status="cancelled")


# --- What the model saw only in part --------------------------------------------------------------

IN_PART = "too long to be sent whole"


async def test_a_message_that_went_out_as_a_preview_says_so_now_and_after_a_reload(
    chat: Chat,
) -> None:
    """Once: with the next turn nothing about it has changed."""
    chat.script.reply("It is long.").reply("I do.")
    tab = await chat.open()
    tab.say(long_text(1) * 6)
    await tab.next("turn.finished", status="completed")
    assert "characters of #5 left out" in str(chat.script.requests[0].messages)
    (marked,) = [e for e in tab.all("message.created") if IN_PART in e["html"]]
    assert (marked["number"], marked["role"]) == (5, "user")
    tab.say("Do you see all of it?")
    await tab.next("turn.finished", status="completed")
    assert len([e for e in tab.all("message.created") if IN_PART in e["html"]]) == 1
    page = await chat.http.get(chat.conversation.get_absolute_url())
    assert page.content.decode().count(IN_PART) == 1


async def test_an_older_one_says_so_only_when_it_is_loaded(chat: Chat) -> None:
    """The page may not have it, and would put it at its end."""
    await chat.start([long_text(1) * 6, "Noted."])
    chat.script.reply("I do.")
    tab = await chat.open()
    tab.say("Do you see all of it?")
    await tab.next("turn.finished", status="completed")
    assert [e["number"] for e in tab.all("message.created")] == [3, 4]
    page = await chat.http.get(chat.conversation.get_absolute_url())
    assert page.content.decode().count(IN_PART) == 1


async def test_a_server_that_reports_too_little_of_an_answer_does_not_hide_it_from_the_gauge(
    chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    talk = await chat.start([long_text(n) for n in range(1, 5)])
    before = await in_db(ModelProfile.objects.get, name=talk.model)
    counted = read_count(metrics.USAGE_NOT_BELIEVED)
    prompt = count_next_request(await read_state(chat))
    usage = {"input_tokens": prompt, "output_tokens": 1}
    chat.script.reply(ScriptedReply((text(long_text(6)),), usage=FAR_TOO_LITTLE | usage))
    tab = await chat.open()
    tab.say("Say it all.")
    await tab.next("turn.finished", status="completed")
    shown: dict[str, Any] = (await tab.sync())["usage"]
    state = await read_state(chat)
    assert shown["used"] == state.used == pytest.approx(count_next_request(state), rel=NEAR)
    assert "far too few tokens" in shown["note"]
    after = await in_db(ModelProfile.objects.get, name=talk.model)
    assert (after.token_factor, after.token_samples) == (before.token_factor, before.token_samples)
    assert read_count(metrics.USAGE_NOT_BELIEVED) == counted + 1
    (warned,) = [r for r in caplog.records if "reported usage not believed" in str(r.msg)]
    assert "'reported_output': 1," in str(warned.msg)
