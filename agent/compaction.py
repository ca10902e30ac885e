"""When to compact and what: pure decisions. `agent.summary` does the model's part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Any, Literal

from agent.context import Context, Limits
from agent.messages import Message

Trigger = Literal["auto", "manual", "overflow"]
Chapter = dict[str, Any]  # {"text": str, "first": int, "through": int, "depth": int}

# After a compaction the context should be at most this share of the trigger, or the next one
# follows too soon (reference: compaction survey, recommendation 7).
TARGET_OF_TRIGGER = 0.5
# One chapter: 500 tokens are too few, 2,000 hold the facts (reference: retrieval_and_cost, 3).
CHAPTER_TOKENS = 2_000
SUMMARY_TOKENS = 16_000
MAX_CHAPTERS = 8


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of compaction. Absolute sizes are tokens, and shrink with small budgets."""

    enabled: bool = True
    threshold_ratio: float = 0.80  # of the budget
    keep_first_message: bool = True
    keep_recent_messages: int = 6
    keep_recent_tokens: int = 32_000

    def trigger_tokens(self, limits: Limits) -> int:
        """Context tokens at which automatic compaction starts."""
        return int(self.threshold_ratio * limits.budget)

    def chapter_tokens(self, limits: Limits) -> int:
        """`max_tokens` for one chapter: at most 10 % of the budget."""
        return min(CHAPTER_TOKENS, limits.budget // 10)

    def summary_tokens(self, limits: Limits) -> int:
        """Above this, or 8 chapters, the chapters are merged: at most 15 % of the budget."""
        return min(SUMMARY_TOKENS, limits.budget * 15 // 100)


@dataclass(frozen=True, slots=True)
class Plan:
    """Every message is in exactly one of the two."""

    summarise: Sequence[Message]
    keep: Sequence[Message]


def due(used: int, limits: Limits, policy: Policy) -> Trigger | None:
    """Whether a request of `used` tokens needs a compaction first."""
    if not policy.enabled:
        return None
    if used >= policy.trigger_tokens(limits) or used > limits.prompt_limit:
        return "auto"
    return None


def plan(
    messages: Sequence[Message],
    policy: Policy,
    limits: Limits,
    *,
    fixed: int,
    first: Message | None = None,
    manual: bool = False,
) -> Plan | None:
    """Cut the messages after the current summary into those to summarise and the kept tail.

    What stays in the prompt anyway is `fixed`, system prompt and summary in tokens, and `first`,
    see `protected_first`. The tail is the last exchange, then up to `keep_recent_messages` or
    `keep_recent_tokens` while the context stays under its target; a manual compaction that would
    find nothing keeps the last exchange only. The cut never separates a tool call from its result.
    None: fewer than two messages to summarise.
    """
    target = int(TARGET_OF_TRIGGER * policy.trigger_tokens(limits))
    room = target - fixed - policy.chapter_tokens(limits)
    if first:
        room -= limits.factor.apply(first.tokens)
    keep_tokens = min(policy.keep_recent_tokens, limits.budget // 5)
    cut = _cut(messages, limits, policy.keep_recent_messages, keep_tokens, room)
    if cut < 2 and manual:
        cut = _cut(messages, limits, 0, 0, 0)
    if cut < 2:
        return None
    return Plan(summarise=messages[:cut], keep=messages[cut:])


def protected_first(context: Context, policy: Policy) -> Message | None:
    """The first user message, which stays in the prompt when the summary covers it."""
    if context.summary_through or not policy.keep_first_message:
        return context.first
    return next((m for m in context.messages[:1] if m.is_prompt), None)


def compacted(context: Context, done: Plan, summary: str, policy: Policy) -> Context:
    """The context with `summary` in the place of what a plan summarised."""
    return replace(
        context,
        summary=summary,
        summary_through=done.summarise[-1].number,
        first=protected_first(context, policy),
        messages=done.keep,
    )


def _cut(
    messages: Sequence[Message], limits: Limits, keep_messages: int, keep_tokens: int, room: int
) -> int:
    """Index of the first kept message."""
    cost = [limits.factor.apply(message.tokens) for message in messages]
    prompts = [i for i, message in enumerate(messages) if message.is_prompt]
    start = prompts[-1] if prompts else max(0, len(messages) - 1)
    # Over budget beats splitting.
    while _separates(messages, start):
        start -= 1
    cut = start
    tokens = sum(cost[start:])
    while start > 0:
        tokens += cost[start - 1]
        wanted = len(messages) - start < keep_messages or tokens <= keep_tokens
        if not wanted or tokens > room:
            break
        start -= 1
        if not _separates(messages, start):
            cut = start
    return cut


def _separates(messages: Sequence[Message], cut: int) -> bool:
    """Whether a call before the cut is answered after it. As the API pairs them, the results are
    in the user's messages right after the assistant's."""
    if cut == 0 or (messages[cut - 1].role, messages[cut].role) == ("user", "assistant"):
        return False
    before = takewhile(_is_assistant, dropwhile(_is_user, reversed(messages[:cut])))
    after = takewhile(_is_user, dropwhile(_is_assistant, messages[cut:]))
    calls = {b["id"] for m in before for b in m.blocks if b["type"] == "tool_use"}
    results = {b["tool_use_id"] for m in after for b in m.blocks if b["type"] == "tool_result"}
    return bool(calls & results)


def _is_user(message: Message) -> bool:
    return message.role == "user"


def _is_assistant(message: Message) -> bool:
    return message.role == "assistant"


def render_chapters(chapters: Sequence[Mapping[str, Any]]) -> str:
    """The text that is injected and shown: the chapters in order, each under its range."""
    if len(chapters) == 1:
        return str(chapters[0]["text"])
    return "\n\n".join(
        f"**Messages #{chapter['first']} to #{chapter['through']}**\n\n{chapter['text']}"
        for chapter in chapters
    )
