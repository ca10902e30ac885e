"""A key that a server repeats is in no error, whatever way it comes back."""

import json
from urllib.parse import quote

import pytest

from agent.context.assemble import assemble
from agent.errors import AgentError
from agent.model.reply import read_outcome
from agent.wire.masking import MASK
from tests.agent.conversations import context, user
from tests.agent.model.asked import answer, asked, connected

REQUEST = assemble(context(user(1, "Hello")))
KEY = "my/own+Key=of-2026/that/no/pattern/knows"
FORMS = {"as it is": KEY, "in an address": quote(KEY, safe=""), "with Bearer": f"Bearer {KEY}"}
STATUSES = [
    *("307 Temporary Redirect", "400 Bad Request", "401 Unauthorized", "402 Payment Required"),
    *("403 Forbidden", "404 Not Found", "413 Too Large", "418 Teapot", "422 Unprocessable"),
    *("429 Too Many", "500 Failed", "502 Bad Gateway", "503 Away", "529 Overloaded"),
]


def error_body(message: str, kind: str = "permission_error") -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


async def fail(made: bytes, key: str = KEY) -> AgentError:
    async with asked(lambda head: made) as server, connected(server.url, key) as client:
        with pytest.raises(AgentError) as raised:
            await client.complete(REQUEST)
    return raised.value


def assert_masked(error: AgentError) -> None:
    for said in (str(error), error.said, json.dumps(error.as_dict()), repr(error)):
        assert "that/no/pattern" not in said
        assert "that%2Fno%2Fpattern" not in said


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", STATUSES)
async def test_an_error_of_any_status_is_masked(status: str, form: str) -> None:
    message = f"The key {FORMS[form]} lacks a scope."
    location = f"location: https://other.example/{quote(KEY, safe='')}/v1/messages\r\n"
    reason = f"{status} for {KEY}"
    error = await fail(answer(error_body(message), status=reason, more=location))
    assert_masked(error)
    if status.startswith(("400", "403", "404", "500")):
        assert f"The key {MASK} lacks a scope." in error.said.replace("Bearer ", "")


@pytest.mark.parametrize("kind", ["api_error", "invalid_request_error", "permission_error", ""])
@pytest.mark.parametrize(
    "make",
    [
        lambda body: answer(b"event: error\ndata: " + body + b"\n\n", kind="text/event-stream"),
        lambda body: answer(body),
        lambda body: answer(json.dumps({"detail": json.loads(body)["error"]["message"]}).encode()),
        lambda body: answer(body, status="500 Failed", kind="text/plain"),
    ],
)
async def test_an_error_that_comes_otherwise_is_masked(make, kind: str) -> None:  # type: ignore[no-untyped-def]
    assert_masked(await fail(make(error_body(f"{KEY} is out of credit", kind))))


@pytest.mark.parametrize("before", [*range(255, 305, 7), 3_990])
async def test_no_half_of_a_key_is_left_where_a_message_is_cut(before: int) -> None:
    error = await fail(answer(error_body("-" * before + KEY), status="403 Forbidden"))
    assert "my/own" not in str(error)


async def test_a_placeholder_for_a_key_does_not_cut_words_out() -> None:
    said = "none of the models is loaded"
    assert (await fail(answer(error_body(said), status="404 Not Found"), key="none")).said == said


async def test_a_stop_reason_and_a_refusal_are_masked() -> None:
    short = "k3y-of-the-server"
    for end in (
        {"stop_reason": f"bad {short}"},
        {"stop_reason": "refusal", "stop_details": {"category": short}},
    ):
        whole = {"type": "message", "content": [], "usage": {}} | end
        async with (
            asked(lambda head, whole=whole: answer(json.dumps(whole).encode())) as server,
            connected(server.url, short) as client,
        ):
            with pytest.raises(AgentError) as raised:
                read_outcome(await client.complete(REQUEST))
        assert short not in str(raised.value)
