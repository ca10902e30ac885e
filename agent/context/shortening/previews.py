"""Oversized messages are sent as previews: what they are cut down to, and how."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from agent.context.api_messages import text_block
from agent.context.message_list import Aggregates, MessageList
from agent.messages import AgentMessage, Block, RawTokens, RealTokens, is_server_tool, locate_texts
from agent.tokens import Factor, Limits

# Bytes of the note between a preview's head and tail.
NOTE_BYTES = 140
# A message above this share of the budget is a preview: half the trigger's usual place.
BUDGET_SHARE = 0.4
# As much as other agents let a tool return at once (Claude Code: 25,000).
RESULT_TOKENS = 25_000
# A factor hardly ever becomes so many times what it was.
NEAR = 1.5
# What a tool of ours fills of that: the rest is for headings, and for what bytes and tokens differ.
FILLED = 0.85


def count_sent_tokens(message: AgentMessage, limits: Limits) -> RealTokens:
    """Real tokens of a message as it is sent: of one that is cut at most those of its preview."""
    real, limit = limits.factor.apply(message.tokens), preview_limit(message, limits)
    cutting = _find_cutting(message, limits)
    if cutting.apply(message.tokens) <= limit:
        return real
    return RealTokens(min(real, math.ceil(limit * max(1.0, limits.factor.value / cutting.value))))


def sum_sent_tokens(
    messages: Sequence[AgentMessage], limits: Limits, others: Sequence[AgentMessage] = ()
) -> RealTokens:
    """`count_sent_tokens` of them all, and of the `others`. Where none is oversized they are
    rounded up once: it may be a token a message less."""
    aggregates = MessageList.of(messages).aggregates.go_on(others)
    if not _may_exceed(aggregates, limits, limits.factor.value):
        return limits.factor.apply(aggregates.tokens)
    return RealTokens(sum(count_sent_tokens(message, limits) for message in (*others, *messages)))


def find_previewed(messages: Sequence[AgentMessage], limits: Limits) -> list[int]:
    """Where those messages stand of which a request holds only a part, because they are
    oversized."""
    aggregates = MessageList.of(messages).aggregates
    factor = max(limits.factor.steady().value, aggregates.cut_factor)
    if not _may_exceed(aggregates, limits, factor):
        return []
    return [
        index
        for index, message in enumerate(messages)
        if _find_cutting(message, limits).apply(message.tokens) > preview_limit(message, limits)
    ]


def decide_cuts(messages: Sequence[AgentMessage], limits: Limits) -> dict[int, float]:
    """What is to be remembered of the messages of a request, by their numbers: the factors that
    they are cut by, or not cut, in this request and in those that follow. Only of messages that
    are so long that another factor would decide otherwise."""
    reach = NEAR * limits.factor.value
    if not _may_exceed(MessageList.of(messages).aggregates, limits, reach):
        return {}
    return {
        message.number: factor
        for message in messages
        if message.tokens * reach > preview_limit(message, limits)
        and (factor := _find_cutting(message, limits).value) != message.cut_factor
    }


def _find_cutting(message: AgentMessage, limits: Limits) -> Factor:
    """What decides whether and where a message is cut. It stays until the message is summarised:
    all that follows it in the request is cached behind it."""
    return limits.factor.steady(message.cut_factor)


def _may_exceed(aggregates: Aggregates, limits: Limits, factor: float) -> bool:
    """Whether any is above the smallest limit there is: mostly none is, and that is soon known."""
    return aggregates.largest * factor > _smallest_limit(limits)


def _smallest_limit(limits: Limits) -> int:
    """Above it the results of a round are previewed."""
    return min(int(limits.budget * BUDGET_SHARE), RESULT_TOKENS)


def preview_limit(message: AgentMessage, limits: Limits) -> int:
    """Tokens above which a message is sent as a preview: a share of the budget, and for the results
    of one round no more than `RESULT_TOKENS`; read_messages reads on."""
    if message.holds_tool_results:
        return _smallest_limit(limits)
    return int(limits.budget * BUDGET_SHARE)


def result_room(limits: Limits, calls: int) -> RawTokens:
    """Raw tokens that each of so many calls of a round may return so that all their results can be
    sent whole."""
    return limits.factor.raw(_smallest_limit(limits) * FILLED / max(1, calls))


def preview_messages(messages: Sequence[AgentMessage], limits: Limits) -> Sequence[AgentMessage]:
    """The messages, with previews in place of the oversized ones."""
    if not (oversized := find_previewed(messages, limits)):
        return messages
    sent = list(messages)
    for index in oversized:
        sent[index] = _preview(sent[index], limits)
    return sent


def _preview(message: AgentMessage, limits: Limits) -> AgentMessage:
    """An oversized message cut down to the limit: its longest texts as head and tail (a log's error
    stands at its end), attachments by their names, calls of the server's tools with their results
    as text, since neither may go without the other."""
    limit = preview_limit(message, limits)
    size = _find_cutting(message, limits).apply(message.tokens)
    texts = locate_texts(message.blocks)
    sizes = [len(text.encode("utf-8", "replace")) for _, text in texts]
    counted = sum(map(_counted, message.blocks, sizes))
    longest = max(_longest(sizes, counted * limit // size), 2 * NOTE_BYTES)
    served = any(is_server_tool(block) for block in message.blocks)
    blocks: list[Block] = []
    for block, (start, text), length in zip(message.blocks, texts, sizes, strict=True):
        if length > longest:
            text = _head_and_tail(text, longest, message.number, start)
        if block["type"] == "tool_result":
            blocks.append(block | {"content": text})
        elif length > longest or block["type"] in ("image", "document"):
            blocks.append(text_block(text))
        elif served and (is_server_tool(block) or block.get("citations")):
            # A citation points into a search result, which is not here any more.
            blocks.append(text_block(text))
        else:
            blocks.append(block)
    return replace(message, blocks=blocks)


def _counted(block: Block, length: int) -> int:
    """Bytes of a block as it was counted: of a server's tool all of it, encrypted pages too."""
    return len(json.dumps(block, ensure_ascii=False)) if is_server_tool(block) else length


def _longest(sizes: Sequence[int], room: int) -> int:
    """What to cut the largest ones down to, so that all together fit `room`."""
    rest = sorted(sizes)
    for index, size in enumerate(rest):
        even = room // (len(rest) - index)
        if size > even:
            return even
        room -= size
    return max(sizes, default=0)


def _head_and_tail(text: str, size: int, number: int, start: int) -> str:
    """A text, which begins at `start` in the text of message `number`, in about `size` bytes:
    tokens follow bytes more closely than characters, in all scripts."""
    raw = text.encode("utf-8", "replace")
    half = max(0, size - NOTE_BYTES) // 2
    head = raw[:half].decode("utf-8", "ignore")
    tail = raw[len(raw) - half :].decode("utf-8", "ignore")
    missing = len(text) - len(head) - len(tail)
    reads_on = f"read_messages(from={number}, to={number}, offset={start + len(head)}) reads on"
    return f"{head}\n\n[… {missing:,} characters of #{number} left out; {reads_on} …]\n\n{tail}"
