"""The smallest chat with Claude in Chainlit, after its documentation: no login, nothing stored.
`chainlit run` loads it with an environment of its own, `requirements/peers.txt`."""

from typing import Any

import chainlit  # type: ignore[import-not-found]
from anthropic import AsyncAnthropic

client = AsyncAnthropic(max_retries=0)


@chainlit.on_message
async def answer(question: Any) -> None:
    reply = chainlit.Message(content="")
    stream = await client.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=16_000,
        system="You are a helpful assistant.",
        messages=[{"role": "user", "content": question.content}],
        stream=True,
    )
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            await reply.stream_token(event.delta.text)
    await reply.send()
