"""The scripted Messages API in virtual time: usage by the prompt cache, dollars, and a record of
what was wrong with the requests."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from typing import Any

from agent.context.request import Request
from agent.messages import Block, Usage
from agent.model.ledger import Ledger
from agent.model.reply import Reply
from agent.model.rules import find_violations
from agent.tokens import Prices
from bench.replay.spending import Spending
from bench.replay.summariser import Summariser
from demo.api import protocol
from demo.api.prompt_cache import PromptCache
from demo.api.tokens import compact_json, without_cache_control

CALL_SECONDS = 30.0  # of one call of the summariser, unless it is said otherwise


@dataclass
class Clock:
    """Virtual seconds."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class ScriptedApi:
    """Counts and checks what it is sent. `window` in tokens. `digest` is of all requests: what
    should not change them leaves it as it is."""

    window: int
    prices: Prices
    summariser: Summariser
    clock: Clock = field(default_factory=Clock)
    call_seconds: float = CALL_SECONDS
    spent: Spending = field(default_factory=Spending)
    requests: int = 0
    violations: list[str] = field(default_factory=list)
    fullest: float = 0.0  # request + max_tokens over the window
    followed: int = 0  # requests that should begin like the one before
    unchanged: int = 0  # and do
    _before: tuple[Any, Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        self._cache = PromptCache(clock=self.clock)
        self.digest = sha256()

    def answer(self, request: Request, reply: Sequence[Block], version: Any) -> dict[str, Any]:
        """The usage of a chat request that is answered with `reply`. `version` names summary and
        pruning: as long as it stays the same, so must all that was sent before."""
        body = request.body()
        if self._before and self._before[0] == version:
            self.followed += 1
            self.unchanged += _continues(self._before[1], body)
        self._before = (version, body)
        usage = self._call(body, reply)
        self.spent.answers += Usage.from_api(usage)
        self.spent.requests += 1
        return usage

    def summarise(self, request: Request, at: float) -> Reply:
        """The reply to a request for a summary that is sent at virtual second `at`."""
        body = request.body()
        text = self.summariser.write(body)
        now, self.clock.now = self.clock.now, at
        blocks = [protocol.text(text)] if text else []
        usage = Usage.from_api(self._call(body, blocks))
        self.clock.now = now
        self.spent.summaries += usage
        self.spent.summary_calls += 1
        return Reply(blocks, "end_turn", usage=usage, complete=True)

    def _call(self, body: dict[str, Any], reply: Sequence[Block]) -> dict[str, Any]:
        read = self._cache.account(body)
        self.requests += 1
        # A body's JSON is little longer than what is counted; dumping each would take the time.
        self.violations += find_violations(
            body, window=self.window, request_tokens=read.total, body_bytes=5 * read.total
        )
        self.fullest = max(self.fullest, (read.total + body["max_tokens"]) / self.window)
        self.digest.update(compact_json(body).encode())
        return read.fields() | protocol.output_usage(protocol.ScriptedReply(tuple(reply)))


@dataclass
class Caller:
    """`agent.model.client.Client` for one summary that begins at virtual second `start`. What would
    be answered after the second `deadline` never is. Nothing is booked."""

    api: ScriptedApi
    start: float
    deadline: float = inf
    calls: int = 0
    late: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ends(self) -> float:
        """The virtual second of its last reply, or when it was given up."""
        return self.deadline if self.late.is_set() else self._replied

    @property
    def _replied(self) -> float:
        return self.start + self.calls * self.api.call_seconds

    async def complete(self, request: Request, ledger: Ledger) -> Reply:
        if self._replied + self.api.call_seconds > self.deadline:
            self.late.set()
            await asyncio.Event().wait()  # it is cancelled
        reply = self.api.summarise(request, self._replied)
        self.calls += 1
        return reply

    async def pass_deadline(self) -> None:
        """Return when it has passed."""
        await self.late.wait()

    async def count_tokens(self, request: Request, ledger: Ledger) -> None:
        """None, as from servers without that address: the engine's estimate is what is tested."""

    async def close(self) -> None:
        """Nothing is open."""


def _continues(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a request is the beginning of the next one, breakpoints aside."""
    if list(map(without_cache_control, before["system"])) != list(
        map(without_cache_control, after["system"])
    ):
        return False
    earlier = before["messages"]
    return all(
        (a["role"], list(map(without_cache_control, a["content"])))
        == (b["role"], list(map(without_cache_control, b["content"])))
        for a, b in zip(earlier, after["messages"][: len(earlier)], strict=True)
    )
