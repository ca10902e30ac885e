"""What a call costs whose server has not said so."""

from typing import Any

import pytest

from agent.context.request import Request
from agent.messages import RealTokens
from agent.model.reply import Reply
from agent.model.unreported import count_request, estimate_usage
from agent.tokens import Factor
from tests.agent.conversations import COUNTER

FACTOR = Factor(2.0, 0)
PROMPT = RealTokens(500)
LONG = "lorem ipsum " * 300


def reply_of(block: dict[str, Any], delta: dict[str, Any], **usage: int) -> Reply:
    """A reply that was cut within its only block."""
    reply = Reply()
    reply.apply({"type": "message_start", "message": {"model": "m", "usage": usage}})
    reply.apply({"type": "content_block_start", "index": 0, "content_block": block})
    reply.apply({"type": "content_block_delta", "index": 0, "delta": delta})
    return reply


@pytest.mark.parametrize(
    ("block", "delta"),
    [
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": LONG}),
        ({"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": LONG}),
        (
            {"type": "tool_use", "id": "a", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": f'{{"key": "{LONG}'},
        ),
    ],
    ids=["text", "thinking", "tool input"],
)
def test_all_that_was_written_counts_as_output(block: Any, delta: Any) -> None:
    reply = reply_of(block, delta, input_tokens=7, output_tokens=1)
    usage = estimate_usage(reply, PROMPT, FACTOR, COUNTER)
    assert usage.request_tokens == 7, "as reported"
    assert usage.output_tokens >= FACTOR.apply(COUNTER.count(LONG))


def test_never_less_than_reported_and_exactly_that_at_the_end() -> None:
    reply = reply_of({"type": "text", "text": ""}, {"type": "text_delta", "text": "a"})
    assert estimate_usage(reply, PROMPT, FACTOR, COUNTER).request_tokens == PROMPT
    reply.apply({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 90}})
    assert estimate_usage(reply, PROMPT, FACTOR, COUNTER).output_tokens == 90
    delta = {"stop_reason": "end_turn"}
    usage = {"input_tokens": 3, "output_tokens": 1}
    reply.apply({"type": "message_delta", "delta": delta, "usage": usage})
    final = estimate_usage(reply, PROMPT, FACTOR, COUNTER)
    assert (final.request_tokens, final.output_tokens) == (3, 1)


def test_what_was_counted_is_not_counted_again() -> None:
    counted: list[int] = []

    class Counter:
        def count(self, text: str) -> int:
            counted.append(len(text))
            return len(text)

    reply = Reply()
    for _ in range(50):
        reply.written.add("ten chars!")
        assert reply.written.count(Counter()) == sum(counted)  # type: ignore[arg-type]
    assert counted == [10] * 50


def test_an_unanswered_call_has_at_least_its_request() -> None:
    block = {"type": "text", "text": LONG}
    request = Request("m", 100, [block], [{"role": "user", "content": [block]}])
    asked = FACTOR.apply(count_request(request, COUNTER))
    usage = estimate_usage(Reply(), asked, FACTOR, COUNTER)
    assert usage.output_tokens == 0
    assert usage.request_tokens >= 2 * FACTOR.apply(COUNTER.count(LONG))
