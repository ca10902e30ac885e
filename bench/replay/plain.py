"""What the usual way keeps: one summary of 2,000 tokens, replaced by the next, by the same lossy
model, at the same trigger and with as many recent messages as ours. Nothing is checked, pinned,
indexed or searched for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.compaction.policy import Policy
from agent.compaction.writing.summary_requests import WORDS_PER_TOKEN
from agent.context.assemble import BASE_PROMPT
from agent.messages import AgentMessage, RawTokens
from agent.tokens import Limits, TokenCounter
from bench.replay.baselines import SUMMARY_TOKENS
from bench.replay.conversations import ReplayExchange
from bench.replay.keeping import Record
from bench.replay.summariser import BULLET, Summariser
from bench.replay.values import Text
from demo.api import protocol
from demo.mind.summaries import SourceMessage


class RememberingCounter(TokenCounter):
    """Counts a text once: each request measures the summary."""

    @lru_cache(maxsize=20_000)  # noqa: B019 - it lives as long as the benchmark
    def count(self, text: str) -> RawTokens:
        return super().count(text)


@dataclass(frozen=True, slots=True)
class PlainSummary:
    """The summary of the messages up to `through`."""

    text: str = ""
    through: int = 0


class PlainReplay:
    """A conversation in memory, summarised whenever it reaches the trigger."""

    def __init__(self, summariser: Summariser, limits: Limits, counter: TokenCounter) -> None:
        self._summariser, self._limits, self._counter = summariser, limits, counter
        policy = Policy()
        self._trigger = policy.trigger_tokens(limits)
        self._recent = min(policy.keep_recent_tokens, limits.budget // 5)
        self._messages: list[AgentMessage] = []
        self.summary = PlainSummary()
        self.compactions = 0

    def play(self, exchange: ReplayExchange) -> None:
        """A user's message, a summary if it is due, and the answer."""
        self._add("user", exchange.user)
        if self._measure(self.summary.through) >= self._trigger:
            self._compact()
        self._add("assistant", exchange.answer)

    @property
    def record(self) -> Record:
        """What is left at the end."""
        summary = self.summary
        return Record(self._messages, summary.through, chapters=summary.text, pins=summary.text)

    def _compact(self) -> None:
        cut = self.summary.through
        # The recent messages begin with the user.
        while cut < len(self._messages) - 1 and self._measure_messages(cut) > self._recent:
            cut += 2
        new = self._messages[self.summary.through : cut]
        entries = [SourceMessage(m.number, m.role, m.blocks[0]["text"]) for m in new]
        source = Text("\n".join([self.summary.text, *(entry.text for entry in entries)]))
        words = int(SUMMARY_TOKENS * WORDS_PER_TOKEN)
        old = BULLET.findall(self.summary.text)
        lines = self._summariser.pick_bullets(entries, old, source, words)
        self.summary = PlainSummary("\n".join(lines), through=cut)
        self.compactions += 1

    def _measure(self, through: int) -> int:
        fixed = self._counter.count(BASE_PROMPT + self.summary.text)
        return self._limits.factor.apply(fixed) + self._measure_messages(through)

    def _measure_messages(self, through: int) -> int:
        tokens: Sequence[int] = [message.tokens for message in self._messages[through:]]
        return int(sum(tokens) * self._limits.factor.value)

    def _add(self, role: str, text: str) -> None:
        blocks = [protocol.text(text)]
        number = len(self._messages) + 1
        tokens = self._counter.count_blocks(blocks)
        self._messages.append(AgentMessage(number, role, blocks, tokens))  # type: ignore[arg-type]
