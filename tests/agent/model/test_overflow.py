"""What servers say of a request that is too long, word for word, and what is taken from it."""

import time

import pytest

from agent.model.client import Client
from agent.model.overflow import is_too_long, read_share_taken
from demo.api.server import DemoServer
from tests.agent.model.test_client import connected, failure, http, serving

LITELLM = (
    "litellm.ContextWindowExceededError: litellm.BadRequestError: BedrockException: Context Window "
    'Error - {"message":"Input is too long for requested model."}. Received Model Group=sonnet\n'
    "Available Model Group Fallbacks=None"
)
VLLM = (
    "You passed 10000 input tokens and requested 1000 output tokens. However, the model's context "
    "length is only 9000 tokens, resulting in a maximum input length of 8000 tokens."
)
# What is said, and how much of the request the server would take; None where it does not tell.
SAYINGS = [
    ("prompt is too long: 20000 tokens > 10000 maximum", 0.5),
    ("input length and `max_tokens` exceed context limit: 20000 + 1000 > 11000, decrease", 0.5),
    ("The model returned the following errors: prompt is too long: 20000 tokens > 5000", 0.25),
    ("Input is too long for requested model.", None),
    ("The input token count (20000) exceeds the maximum number of tokens allowed (5000).", 0.25),
    (LITELLM, None),
    ("x" * 400 + " litellm.ContextWindowExceededError: prompt is too long: 200 tokens > 50", 0.25),
    ("the request exceeds the available context size, try increasing it", None),
    ("request (16384 tokens) exceeds the available context size (8192 tokens)", 0.5),
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in "
     "16384 tokens. Please reduce the length of the messages.", 0.5),
    ("This endpoint's maximum context length is 8192 tokens. However, you requested about 16384 "
     "tokens (16384 of text input).", 0.5),
    ("This model's maximum context length is 9000 tokens. However, you requested 1000 output "
     "tokens and your prompt contains at least 16000 input tokens.", 0.5),
    (VLLM, 0.8),
    ("The decoder prompt (length 16384) is longer than the maximum model length of 4096.", 0.25),
    ("Your input exceeds the context window of this model.", None),
    ("the input length exceeds the context length", None),
    ("prompt is too long: 0 tokens > 0 maximum", None),
    ("prompt is too long: 5 tokens > 8 maximum", None),
]  # fmt: skip


@pytest.mark.parametrize("status", [400, 413, 422, 500])
@pytest.mark.parametrize(("said", "share"), SAYINGS)
async def test_a_request_that_is_too_long_is_recognised(
    server: DemoServer, said: str, share: float | None, status: int
) -> None:
    server.script.error(status, message=said)
    async with connected(server, retries=0) as client:
        error = await failure(client)
    assert (error.code, error.retryable, error.share_taken) == ("too_long", False, share)


@pytest.mark.parametrize(("said", "share"), SAYINGS)
async def test_so_it_is_inside_a_stream_whatever_the_error_is_called(
    server: DemoServer, client: Client, said: str, share: float | None
) -> None:
    server.script.error_event("api_error", message=said)
    error = await failure(client)
    assert (error.code, error.retryable, error.share_taken) == ("too_long", False, share)
    assert error.message == "The conversation does not fit the model."


def answer(status: int, body: str) -> bytes:
    head = f"HTTP/1.1 {status} Bad\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    return head.encode() + body.encode()


@pytest.mark.parametrize(
    ("body", "share"),
    [
        ('{"error":{"code":400,"message":"try increasing it","type":"exceed_context_size_error",'
         '"n_prompt_tokens":16384,"n_ctx":4096}}', 0.25),
        ('{"error":{"message":"No.","type":"invalid_request_error",'
         '"code":"context_length_exceeded"}}', None),
        ('{"message":"Input is too long for requested model."}', None),
        ('{"detail":"prompt is too long: 200 tokens > 100 maximum"}', 0.5),
        ('{"object":"error","message":"This model\'s maximum context length is 8 tokens."}', None),
    ],
)  # fmt: skip
async def test_errors_of_other_forms_are_read(body: str, share: float | None) -> None:
    async with serving(answer(400, body)) as url, connected(url) as client:
        error = await failure(client)
    assert (error.code, error.share_taken) == ("too_long", share)


async def test_litellm_ends_a_stream_with_an_error_of_openais_form() -> None:
    event = b'data: {"error": {"message": "prompt is too long: 200 tokens > 100 maximum"}}\n\n'
    async with serving(http(event)) as url, connected(url) as client:
        error = await failure(client)
    assert (error.code, error.share_taken) == ("too_long", 0.5)


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (400, "max_tokens: 64000 > 32000, which is the maximum allowed number", "bad_request"),
        (400, "messages.0: image is too long", "bad_request"),
        (429, "prompt is too long for your rate limit", "rate_limited"),
        (401, "prompt is too long", "bad_key"),
    ],
)
async def test_another_refusal_is_not_taken_for_it(
    server: DemoServer, client: Client, status: int, said: str, code: str
) -> None:
    server.script.error(status, message=said)
    assert (await failure(client)).code == code


async def test_a_conversation_that_a_server_repeats_is_not_read() -> None:
    body = '{"detail":[{"msg":"Field required","input":{"text":"prompt is too long"}}]}'
    async with serving(answer(422, body)) as url, connected(url) as client:
        assert (await failure(client)).code == "bad_request"


@pytest.mark.parametrize(
    "piece", ["1", "1 ", "prompt (length ", "9 tokens > ", "length is 1 tokens"]
)
def test_a_hostile_error_is_read_in_no_time(piece: str) -> None:
    """Only its beginning, by patterns that do not backtrack far."""
    said = piece * (5_000_000 // len(piece))
    began = time.process_time()
    is_too_long(said)
    read_share_taken(said)
    assert time.process_time() - began < 10  # hours, where a pattern goes back far
