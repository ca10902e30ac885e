"""The messages of a conversation, which a process keeps and every request looks at all of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from agent.messages import AgentMessage, ApiMessage, RawTokens


@dataclass(frozen=True, slots=True)
class Aggregates:
    """What is known of so many messages.

    `tokens`: of all together, `largest`: of the largest one. `cut_factor`: the highest that one of
    them was cut by, 0 for none. `mixed`: where those stand that are not text alone; `thoughtful`:
    those with thinking. `plain`: the first messages as the API takes them, as far as they are text
    alone and the roles take turns."""

    count: int = 0
    tokens: RawTokens = RawTokens(0)
    largest: RawTokens = RawTokens(0)
    cut_factor: float = 0.0
    mixed: tuple[int, ...] = ()
    thoughtful: tuple[AgentMessage, ...] = ()
    plain: tuple[ApiMessage, ...] = ()

    def go_on(self, messages: Sequence[AgentMessage]) -> "Aggregates":
        """With the messages that follow."""
        counts = [message.tokens for message in messages]
        mixed = (at for at, message in enumerate(messages, self.count) if message.plain is None)
        return Aggregates(
            self.count + len(messages),
            RawTokens(self.tokens + sum(counts)),
            max([self.largest, *counts]),
            max([self.cut_factor, *(message.cut_factor for message in messages)]),
            (*self.mixed, *mixed),
            (*self.thoughtful, *(message for message in messages if message.thinking)),
            (*self.plain, *self._find_plain(messages)),
        )

    def _find_plain(self, messages: Sequence[AgentMessage]) -> list[ApiMessage]:
        found: list[ApiMessage] = []
        if len(self.plain) < self.count:
            return found
        role = self.plain[-1]["role"] if self.plain else None
        for message in messages:
            if message.plain is None or message.role == role:
                break
            found.append(message.plain)
            role = message.role
        return found


class MessageList(tuple[AgentMessage, ...]):
    """Messages in order. What follows from all of them is found out once, and goes on with the
    messages that follow: it costs the same however many there are."""

    @classmethod
    def of(cls, messages: Iterable[AgentMessage]) -> Self:
        return messages if isinstance(messages, cls) else cls(messages)

    @cached_property
    def aggregates(self) -> Aggregates:
        return Aggregates().go_on(self)

    def followed_by(self, message: AgentMessage) -> "MessageList":
        """A longer one."""
        longer = MessageList((*self, message))
        longer.aggregates = self.aggregates.go_on([message])
        return longer


def find_turn_starts(messages: Sequence[AgentMessage]) -> list[int]:
    """Where turns begin: with prompts, but not those that came with results of tools, or after
    them: these were said while their turn ran."""
    return [
        index
        for index, message in enumerate(messages)
        if message.is_prompt and not _follows_results(messages, index)
    ]


def _follows_results(messages: Sequence[AgentMessage], index: int) -> bool:
    """Whether what the user's side says up to a message, since the assistant's, holds results."""
    while index >= 0 and messages[index].role == "user":
        if messages[index].holds_tool_results:
            return True
        index -= 1
    return False


def starts_within_turn(messages: Sequence[AgentMessage]) -> bool:
    """Whether messages begin with the rounds of a turn whose prompt comes before them, or hold no
    prompt at all. Their prompt is sent with them for as long as they are: the prompt cache holds
    what comes after it."""
    first = next((message for message in messages if message.blocks), None)
    if first is None:
        return False
    calls = first.role == "assistant" and any(b["type"] == "tool_use" for b in first.blocks)
    return calls or not any(message.is_prompt for message in messages)
