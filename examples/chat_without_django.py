"""A chat in the terminal that compacts itself: `agent/` alone, without Django.

    ANTHROPIC_API_KEY=... python -m examples.chat_without_django [model]

ANTHROPIC_BASE_URL may name another server that speaks the Messages API.
"""

# ruff: noqa: T201

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from agent.compaction.chapters import (
    Chapter,
    render,
)
from agent.compaction.job import (
    Job,
    Writer,
)
from agent.compaction.ladder import summarise
from agent.compaction.plan import (
    Policy,
    State,
    compacted,
    due,
    plan,
    protected_first,
)
from agent.context.assemble import (
    Context,
    assemble,
    measure,
)
from agent.limits import Limits
from agent.messages import Block, Message, Role
from agent.model.client import (
    Client,
    require_end,
)
from agent.model.reply import Reply
from agent.tokens import Factor, TokenCounter

counter = TokenCounter(Path("var/tiktoken"))  # without the file, bytes are counted
policy = Policy()


def add(context: Context, role: Role, blocks: list[Block]) -> Context:
    """The context with one message more."""
    number = context.messages[-1].number + 1 if context.messages else context.summary_through + 1
    message = Message(number, role, blocks, counter.count_blocks(blocks))
    return replace(context, messages=[*context.messages, message])


async def compact(
    context: Context, chapters: list[Chapter], writer: Writer
) -> tuple[Context, list[Chapter]]:
    """Both as they are where nothing is to be done."""
    size, limits = measure(context, counter), context.limits
    fixed, first = size.fixed, protected_first(context, policy)
    cut = plan(context.messages, policy, limits, fixed=fixed, first=first)
    if not due(State(size.total, limits), policy) or not cut:
        return context, chapters
    job = Job(context, cut, chapters, size.total, policy, counter, own=writer, writer=writer)
    written = await summarise(job)
    pins, index = policy.pins_and_index(limits)
    summary = render(written.chapters, pin_tokens=pins, index_tokens=index, counter=counter)
    print(f"[{len(cut.summarise)} messages compacted: {written.engine}]\n")
    return compacted(context, cut, summary, policy), written.chapters


async def main() -> None:
    client = Client(api_key=os.environ["ANTHROPIC_API_KEY"])
    models = {model.name: model for model in await client.models()}
    model = models[sys.argv[1]] if sys.argv[1:] else next(iter(models.values()))
    window = model.context_window or 128_000
    limits = Limits(window, model.max_output or 8_192, window, Factor.start(model.name))
    context, chapters = Context(model.name, limits), list[Chapter]()
    writer = Writer(client, model.name, limits)
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        context = add(context, "user", [{"type": "text", "text": line}])
        context, chapters = await compact(context, chapters, writer)
        reply = Reply()
        async for events in client.stream(assemble(context)):
            print("".join([reply.apply(event) for event in events]), end="", flush=True)
        require_end(reply)
        print("\n")
        context = add(context, "assistant", reply.blocks)
    await client.close()


if __name__ == "__main__":
    asyncio.run(main())
