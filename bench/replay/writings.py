"""The summaries of a replay, each as the row that the product has of it, and what the rows say:
whether the circuit breaker is open, and what the background has taken in a day."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile

from agent.compaction.failures import SummaryRejected
from agent.compaction.policy import BACKGROUND, Attempt, Policy, Trigger, find_breaker_end
from agent.compaction.writing.job import Job
from agent.engine import CompactedContext, compact
from agent.tokens import Limits
from bench.replay.api import Caller

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
DAY_SECONDS = 86_400.0
BY_ROUNDS = (Trigger.ITERATIONS, Trigger.MESSAGES, Trigger.TOOL)


@dataclass
class Writing:
    """A summary that is written from one virtual second to another, for `tokens` tokens in all;
    `written` is None where it fails. `turns`: how many had begun before it. `waited_for`: whether a
    turn waits for it."""

    job: Job
    trigger: Trigger
    turns: int
    began: float
    ends: float
    written: CompactedContext | None
    tokens: int
    waited_for: bool

    def ask(self, caller: Caller) -> list[str]:
        """Have it written, or written anew; what failed on the way."""

        async def is_waited_for() -> bool:
            return self.waited_for

        job = replace(
            self.job,
            ask=caller.complete,
            ask_own=caller.complete,
            waited_for=is_waited_for,
            time_up=caller.pass_deadline,
        )
        try:
            self.written = asyncio.run(compact(job))
            failures = list(map(str, self.written.result.failures))
        except SummaryRejected as error:
            failures = [str(error)]
        self.ends = caller.ends
        self.tokens += sum(usage.total for _, usage in caller.spent)
        return failures


class Writings(list[Writing]):
    """Those of one conversation, the oldest first. One is written at a time."""

    def is_breaker_open(
        self, policy: Policy, now: float, turns: int, *, unseen: bool = False
    ) -> bool:
        """`chat.services.summary.preparations.is_breaker_open`, in turn number `turns`."""
        attempts = [
            Attempt(EPOCH + timedelta(seconds=each.ends), not each.written, turns - each.turns)
            for each in islice(self._list_counted(now, unseen=unseen), policy.breaker_failures)
        ]
        return find_breaker_end(attempts, policy, EPOCH + timedelta(seconds=now)) is not None

    def _list_counted(self, now: float, *, unseen: bool) -> Iterator[Writing]:
        """Those that have ended and count, the newest first: of those that a long turn has good
        reason for the last one, and failures that nobody waited for only where nobody waits."""
        turns = set()
        for each in reversed(self):
            if each.ends > now or not (each.written or each.waited_for or unseen):
                continue
            if each.written and each.trigger in BY_ROUNDS:
                if each.turns in turns:
                    continue
                turns.add(each.turns)
            yield each

    def is_over_budget(self, policy: Policy, limits: Limits, now: float) -> bool:
        """`chat.services.summary.preparations.is_over_budget`."""
        most = policy.prepare_tokens_a_day(limits)
        recent = takewhile(lambda each: each.began > now - DAY_SECONDS, reversed(self))
        used = sum(each.tokens for each in recent if each.trigger in BACKGROUND)
        return most is not None and used >= most
