"""Every way in which the model's server can fail: its own words in the transcript, what was written
is kept, and Retry works."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chat.db.threads import in_db
from chat.engine.model_profiles import load_profile
from chat.models import Compaction, ModelProfile, Turn
from demo.api.protocol import ScriptedReply, refusal, text, thinking, tool_use
from demo.api.script import Script, is_summary
from tests.chat.factories import MODEL
from tests.chat.sockets import WINDOW, Chat, long_text

PARTIAL = "What I had said so far"


@dataclass(frozen=True)
class Case:
    """`act` scripts the failure; `says` are words that the person has to read."""

    code: str
    act: Callable[[Script], Any]
    says: str
    retryable: bool = True
    retry_after: float | None = None
    kept: str = ""


CASES = {
    "bad key": Case("bad_key", lambda s: s.error(401), "API key was not accepted", False),
    "no credit": Case("no_credit", lambda s: s.error(402), "no credit", False),
    "not allowed": Case("not_allowed", lambda s: s.error(403), "key is not allowed", False),
    "unknown model": Case(
        "unknown_model", lambda s: s.error(404), "does not know this model", False
    ),
    "rate limit": Case(
        "rate_limited", lambda s: s.error(429, retry_after=30), "Try again later", retry_after=30
    ),
    "spend limit": Case("rate_limited", lambda s: s.error(429), "Try again later"),
    "overloaded": Case("overloaded", lambda s: s.error(529), "overloaded"),
    "server error": Case("server_error", lambda s: s.error(500), "server failed"),
    "too large": Case("request_too_large", lambda s: s.error(413), "size limit", False),
    "bad request": Case(
        "bad_request", lambda s: s.error(400, message="tools.0: wrong"), "tools.0: wrong", False
    ),
    "refused": Case("refused", lambda s: s.reply(refusal("cyber")), "declined to answer", False),
    "overloaded in mid-answer": Case(
        "overloaded", lambda s: s.error_event(after_text=PARTIAL), "overloaded", kept=PARTIAL
    ),
    "cut stream": Case("stream_cut", lambda s: s.cut(PARTIAL), "cut off", kept=PARTIAL),
    "cut before the text": Case("stream_cut", lambda s: s.cut(), "cut off"),
    "dropped stream": Case("connection_lost", lambda s: s.drop(PARTIAL), "lost", kept=PARTIAL),
    "dropped at once": Case("connection_lost", lambda s: s.drop(), "lost"),
    "stall in mid-answer": Case(
        "timeout", lambda s: s.stall(PARTIAL), "did not answer in time", kept=PARTIAL
    ),
    "stall before the answer": Case("timeout", lambda s: s.stall(), "did not answer in time"),
    "unknown stop reason": Case(
        "unknown_stop_reason",
        lambda s: s.reply(ScriptedReply((text(PARTIAL),), stop_reason="bored")),
        "does not know",
        False,
        kept=PARTIAL,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_failure_has_its_own_words_keeps_the_text_and_can_be_retried(
    chat: Chat, settings: Any, case: Case
) -> None:
    if case.code == "timeout":
        settings.MODEL_TIMEOUT = 0.5
    case.act(chat.script)
    tab = await chat.open()
    tab.say("Tell me")
    finished = await tab.next("turn.finished")
    error = finished["error"]
    assert (finished["status"], error["code"]) == ("failed", case.code)
    assert case.says in f"{error['message']} {error['said']}"
    assert (error["retryable"], error["retry_after"]) == (case.retryable, case.retry_after)
    assert f'data-code="{case.code}"' in finished["html"]
    assert case.kept in finished["html"]
    assert ('data-action="retry"' in finished["html"]) == case.retryable
    assert ("Continue" in finished["html"]) == (case.retryable and bool(case.kept))
    message = await chat.last()
    assert (message.role, message.status, message.text) == ("assistant", "failed", case.kept)
    assert await chat.is_idle()

    chat.script.reply("Now it works.")
    await chat.retry()
    again = await tab.next("turn.finished", status="completed")
    assert "Now it works." in again["html"]
    assert tab.text == "Now it works."
    retried = chat.script.requests[-1]
    assert retried.last_user_text == "Tell me"
    assert PARTIAL not in str(retried.messages)
    page = await chat.http.get(chat.conversation.get_absolute_url())
    assert case.says not in page.content.decode()


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("way", ["status", "event", "summary"])
async def test_a_key_that_the_server_repeats_reaches_nobody(
    chat: Chat, settings: Any, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    caplog.set_level("DEBUG")
    key = settings.ANTHROPIC_API_KEY = "the/sites+own=key-of-2026"
    message = f"The key {key} lacks a scope."
    if way == "status":
        chat.script.error(403, message=message)
    elif way == "event":
        chat.script.error_event("permission_error", message=message, after_text=PARTIAL)
    else:
        await chat.start([long_text(n) for n in range(12)])
        chat.script.error(400, message=message, when=is_summary, always=True)
    tab = await chat.open()
    if way == "summary":
        tab.send("compact")
    else:
        tab.say("Tell me")
    await tab.next("turn.finished")
    page = await chat.http.get(chat.conversation.get_absolute_url())
    turn = await in_db(lambda: Turn.objects.values().latest("pk"))
    rows = await in_db(lambda: [*Compaction.objects.values()])
    for place in (str(tab.frames), page.content.decode(), str(turn), str(rows), caplog.text):
        assert key not in place
    assert "[masked]" in f"{tab.frames}{rows}"


async def test_a_server_that_is_gone_is_named_and_retry_works_when_it_is_back(chat: Chat) -> None:
    chat.model.stop()
    tab = await chat.open()
    tab.say("Anybody?")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "server_unreachable"
    assert "ANTHROPIC_BASE_URL" in finished["error"]["message"]
    chat.model.start()
    chat.script.reply("Here I am.")
    await chat.retry()
    await tab.next("turn.finished", status="completed")
    assert tab.text == "Here I am."


async def test_a_passing_error_before_the_first_word_is_tried_again_in_silence(
    chat: Chat, settings: Any
) -> None:
    settings.MODEL_RETRIES = 1
    chat.script.error(529).reply("Second try.")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="completed")
    assert tab.text == "Second try."


async def test_nothing_is_tried_again_once_there_is_text(chat: Chat, settings: Any) -> None:
    settings.MODEL_RETRIES = 2
    chat.script.cut(PARTIAL)
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="failed")
    assert len(chat.script.requests) == 1


async def test_what_a_refused_answer_had_said_is_shown_and_never_sent(chat: Chat) -> None:
    """The API goes on refusing a conversation that carries it. Its thinking goes with it."""
    chat.script.reply(ScriptedReply((thinking("Hm."), text(PARTIAL)), stop_reason="refusal"))
    tab = await chat.open()
    tab.say("Tell me")
    finished = await tab.next("turn.finished", status="failed")
    assert (finished["error"]["code"], PARTIAL in finished["html"]) == ("refused", True)
    refused = await chat.last()
    assert [block["type"] for block in refused.blocks] == ["thinking", "text"]

    chat.script.reply(
        [
            tool_use("search_history", {"query": "had said so far"}),
            tool_use("read_messages", {"from": 1, "to": 9}),
        ]
    )
    chat.script.reply("Something else.")
    tab.say("Then tell me something else")
    await tab.next("turn.finished", status="completed")
    _, asked, read = chat.script.requests
    for request in (asked, read):
        assert PARTIAL not in str(request.messages)
        assert "Hm." not in str(request.messages)
    assert "Nothing was found" in str(read.messages)
    assert "[#1] user" in str(read.messages)
    page = await chat.http.get(chat.conversation.get_absolute_url())
    assert PARTIAL in page.content.decode()


TOO_LONG = "prompt is too long: 20000 tokens > 10000 maximum"


async def test_too_long_without_compaction_is_trimmed_to_what_the_server_takes(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 7)], compaction_enabled=False)
    chat.script.error(400, message=TOO_LONG).reply("Here.")
    tab = await chat.open()
    tab.say("Tell me")
    assert "left out" in (await tab.next("turn.notice"))["text"]
    await tab.next("turn.finished", status="completed")
    first, second = chat.script.requests
    sizes = [sum(f"Message {n}:" in str(r.messages) for n in range(1, 7)) for r in (first, second)]
    assert sizes == [6, 2], "half of what was sent, and less to be sure"
    assert second.last_user_text == "Tell me"


@pytest.mark.parametrize("said", ["The prompt is too long.", "prompt is too long: 0 tokens > 0"])
async def test_too_long_without_a_limit_leaves_a_quarter_out(chat: Chat, said: str) -> None:
    await chat.start([long_text(n) for n in range(1, 7)], compaction_enabled=False)
    chat.script.error(400, message=said).reply("Here.")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="completed")
    assert "Message 2:" not in str(chat.script.requests[-1].messages)
    assert "Message 3:" in str(chat.script.requests[-1].messages)


async def test_too_long_again_says_what_the_server_said(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 7)], compaction_enabled=False)
    chat.script.error(400, message=TOO_LONG, always=True)
    tab = await chat.open()
    tab.say("Tell me")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "too_long"
    assert "prompt is too long" in finished["error"]["said"]
    assert "The server said: “prompt is too long" in finished["html"]
    assert 'data-action="compact-retry"' in finished["html"]
    assert len(chat.script.requests) == 2


async def test_one_message_that_cannot_fit_is_not_sent(chat: Chat) -> None:
    """Its preview fits; what does not is a system prompt as large as the window."""
    await chat.start(2, compaction_enabled=False, system_prompt="x" * 60_000)
    tab = await chat.open()
    tab.say("Hello")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "too_long"
    assert chat.script.requests == []


async def test_a_message_is_shortened_to_a_window_that_nobody_had_asked_for(
    chat: Chat,
) -> None:
    """In the first seconds of a new site the models of its server are not known yet."""
    await in_db(ModelProfile.objects.all().delete)
    tab = await chat.open()
    chat.script.reply("Read.")
    tab.say("lorem ipsum " * 12_000)
    finished = await tab.next("turn.finished")
    assert (finished["status"], finished["error"]) == ("completed", None)
    assert (await in_db(load_profile, MODEL)).context_window == WINDOW
    (refused,) = chat.script.violations
    assert "prompt is too long" in refused
    chat.script.violations.clear()


async def test_a_retry_of_a_complete_answer_is_refused(chat: Chat) -> None:
    response = await chat.http.post(f"/c/{chat.conversation.pk}/retry/")
    assert response.status_code == 409
    assert "no unfinished answer" in response.content.decode()


# --- Over the window, with compaction off ---------------------------------------------------------


async def test_an_overfull_request_is_trimmed_each_time_and_says_so(chat: Chat) -> None:
    """The usage of a trimmed request must not hide the history from the next one."""
    await chat.start([long_text(n) for n in range(1, 13)], compaction_enabled=False)
    tab = await chat.open()
    for question in ("First", "Second", "Third"):
        chat.script.reply(f"{question} answer.")
        tab.say(question)
        notice = await tab.next("turn.notice")
        assert "left out" in notice["text"]
        finished = await tab.next("turn.finished")
        assert finished["status"] == "completed", finished["error"]
        assert "left out" in finished["html"]
        request = chat.script.requests[-1]
        assert request.last_user_text == question
        assert "Message 1:" not in str(request.messages)
        assert "Message 12:" in str(request.messages)
    assert (await tab.sync())["usage"]["ratio"] > 0.9, "the meter shows the history"
