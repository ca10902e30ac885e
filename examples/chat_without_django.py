"""A chat in the terminal that compacts itself: `agent/` alone, without Django.

    ANTHROPIC_API_KEY=... python -m examples.chat_without_django [model]

ANTHROPIC_BASE_URL may name another server that speaks the Messages API.
"""

# ruff: noqa: T201

import asyncio
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.policy import Policy, Trigger
from agent.compaction.writing.drafting import SummaryRejected
from agent.compaction.writing.job import Job
from agent.context.assemble import Context, assemble
from agent.engine import (
    Compact,
    MeteredContext,
    Prune,
    compact_context,
    meter,
    next_step,
    plan_next,
    trim_if_needed,
)
from agent.messages import AgentMessage, Block, Role
from agent.model.client import Client, require_end
from agent.model.reply import Reply
from agent.tokens import Factor, Limits, Model, TokenCounter
from agent.wire.proxies import Proxies


@dataclass
class Chat:
    """A conversation in memory, and what `next_step` asks about it."""

    client: Client
    context: Context
    policy: Policy = field(default_factory=Policy)
    chapters: list[Chapter] = field(default_factory=list)
    counter: TokenCounter = TokenCounter(Path("var/tiktoken"))  # without it, bytes are counted
    asked, rounds, warm = False, 0, False  # it has no tools, and does not follow the cache

    def find_prepared(self) -> Trigger | None:
        return None

    def is_writing(self) -> bool:
        return False

    def is_breaker_open(self) -> bool:
        return False

    def add(self, role: Role, blocks: list[Block]) -> None:
        before = self.context.messages
        number = before[-1].number + 1 if before else self.context.summary_through + 1
        message = AgentMessage(number, role, blocks, self.counter.count_blocks(blocks))
        self.context = replace(self.context, messages=[*before, message])

    async def make_room(self) -> Context:
        """The engine's steps, up to the context that is sent."""
        while True:
            metered = meter(self.context, self.counter)
            match next_step(metered, self.policy, self, self.counter):
                case Prune(pruning):
                    self.context = replace(self.context, pruned_through=pruning.through)
                case Compact(trigger):
                    await self.compact(metered, trigger)
                    return trim_if_needed(meter(self.context, self.counter), self.counter)
                case _:
                    return trim_if_needed(metered, self.counter)

    async def compact(self, metered: MeteredContext, trigger: Trigger) -> None:
        plan = plan_next(metered, self.policy, trigger)
        if plan is None:
            return
        model, ask = Model(self.context.model, self.context.limits), self.client.complete
        job = Job(
            self.context,
            plan,
            self.chapters,
            metered.used,
            self.policy,
            self.counter,
            own=model,
            writer=model,
            ask=ask,
            ask_own=ask,
        )
        try:
            done = await compact_context(job)
        except SummaryRejected as error:
            print(f"[not compacted: {error}]\n")
            return
        self.context, self.chapters = done.context, done.result.chapters
        print(f"[{len(plan.summarise)} messages compacted: {done.result.method}]\n")


async def main() -> None:
    client = Client(
        api_key=os.environ["ANTHROPIC_API_KEY"],
        base_url=os.environ.get("ANTHROPIC_BASE_URL"),
        proxies=Proxies.read(os.environ),
    )
    models = {model.name: model for model in await client.models()}
    model = models[sys.argv[1]] if sys.argv[1:] else next(iter(models.values()))
    window = model.context_window or 128_000
    limits = Limits(window, model.max_output or 8_192, window, Factor.start(model.name))
    chat = Chat(client, Context(model.name, limits))
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        chat.add("user", [{"type": "text", "text": line}])
        reply = Reply()
        async for events in client.stream(assemble(await chat.make_room())):
            print("".join([reply.apply(event) for event in events]), end="", flush=True)
        require_end(reply)
        print("\n")
        chat.add("assistant", reply.blocks)
    await client.close()


if __name__ == "__main__":
    asyncio.run(main())
