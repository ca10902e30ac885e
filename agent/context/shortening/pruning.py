"""The cheapest step: old, large tool results are sent as previews. Only requests change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.context.shortening.previews import count_sent_tokens, sum_sent_tokens
from agent.context.shortening.text_previews import HEAD, TAIL, preview_text
from agent.messages import AgentMessage, Block, RealTokens, result_text
from agent.tokens import Limits, TokenCounter

KEEP_MESSAGES = 6  # the newest ones keep their results whole
# A batch must free this share of the budget: each one rewrites the cached prefix. From a tenth on,
# a request of agent work cost 15 to 28 % more, as the batches grew smaller and smaller. Where
# nothing is cached, it costs nothing.
WORTH_IT, WORTH_IT_UNCACHED = 0.30, 0.05
# What a compaction has written anew for each token that it frees, its summary included: a batch
# that rewrites more is dearer.
REWRITTEN_BY_COMPACTION = 0.3


@dataclass(frozen=True, slots=True)
class Pruning:
    """A batch: results up to message `through` are previewed from now on, which frees `freed`
    tokens and has `rewritten` others written to the cache again."""

    through: int
    freed: RealTokens
    rewritten: RealTokens = RealTokens(0)

    @property
    def is_dear(self) -> bool:
        """Whether a compaction frees as much for less."""
        return self.rewritten > REWRITTEN_BY_COMPACTION * self.freed


def prune_message(message: AgentMessage, counter: TokenCounter | None = None) -> AgentMessage:
    """The message with its large tool results as previews that name it; counted anew with a
    counter."""
    if not message.holds_tool_results:
        return message
    blocks = [_pruned(block, message.number) for block in message.blocks]
    if blocks == list(message.blocks):
        return message
    tokens = counter.count_blocks(blocks) if counter else message.tokens
    return replace(message, blocks=blocks, tokens=tokens)


def prune_messages(
    messages: Sequence[AgentMessage], through: int, counter: TokenCounter | None = None
) -> Sequence[AgentMessage]:
    """The messages with the large results of those up to a number as previews, counted where asked
    for."""
    if not through:
        return messages
    return [
        prune_message(message, counter) if message.number <= through else message
        for message in messages
    ]


def _pruned(block: Block, number: int) -> Block:
    text = result_text(block) if block["type"] == "tool_result" else ""
    if len(text) <= 2 * (HEAD + TAIL):
        return block
    where = f"; message #{number} has it whole"
    return block | {"content": preview_text(text, HEAD, TAIL, where)}


def plan_pruning(
    messages: Sequence[AgentMessage],
    pruned_through: int,
    limits: Limits,
    counter: TokenCounter,
    *,
    uncached: bool = False,
    keep_tokens: int = 0,
) -> Pruning | None:
    """The next batch, or None where it would not be worth a rewritten prefix, of which nothing is
    cached if it is `uncached`. Results of the newest `keep_tokens` tokens stay whole."""
    newest = len(messages) - KEEP_MESSAGES
    kept: int = sum_sent_tokens(messages[max(0, newest) :], limits)
    while newest > 0 and kept < keep_tokens:
        newest -= 1
        kept += count_sent_tokens(messages[newest], limits)
    old = [m for m in messages[: max(0, newest)] if m.number > pruned_through]
    freed = rewritten = 0
    for message in old:
        sent = count_sent_tokens(message, limits)
        short = count_sent_tokens(prune_message(message, counter), limits)
        freed += sent - short
        rewritten += short if freed else 0  # what comes before the first one stays cached
    if not old or freed < (WORTH_IT_UNCACHED if uncached else WORTH_IT) * limits.budget:
        return None
    return Pruning(old[-1].number, RealTokens(freed), RealTokens(rewritten + kept))
