"""The last resort before a request is given up: the oldest turns are left out, and where the last
one alone is too large, results of its tools give way. Only this request changes. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from agent.context.api_messages import text_block
from agent.context.assemble import Context, measure
from agent.context.message_list import find_turn_starts
from agent.context.shortening.previews import count_sent_tokens
from agent.context.shortening.pruning import prune_messages
from agent.context.shortening.text_previews import preview_text
from agent.messages import AgentMessage, Block, RealTokens, result_text
from agent.tokens import TokenCounter

# Characters that may be left of a result, the most that there is room for.
LENGTHS = (20_000, 10_000, 5_000, 2_500, 1_200, 600, 300)
HEAD_SHARE = 0.7  # the rest is the end, where errors stand
LEAST = 150  # characters that are not worth a note
LEFT_OUT = (
    "[The calls of tools in messages #{first} to #{last}, and their results, were left out here "
    "because they do not fit. read_messages reads them.]"
)


def trim(
    context: Context,
    counter: TokenCounter,
    used: RealTokens | None = None,
    most: RealTokens | None = None,
) -> Context:
    """Leave out the oldest whole turns, then the protected first message, until the request fits
    the window, or has at most so many tokens.

    The last resort where compaction is off or failed: the database keeps everything. `used` is
    the metered size, where it is known better than the estimate. The last turn always stays.
    """
    limits, messages = context.limits, context.messages
    size = max(measure(context, counter).total, used or 0)
    excess = size - (limits.request_limit if most is None else most)
    starts = [start for start in find_turn_starts(messages) if start]
    pruned = prune_messages(messages, context.pruned_through, counter)
    sizes = [count_sent_tokens(message, limits) for message in pruned]
    cut = 0
    for start in starts:
        if excess <= 0:
            break
        excess -= sum(sizes[cut:start])
        cut = start
    first = context.first if excess <= 0 else None
    return replace(context, messages=messages[cut:], omitted=cut, first=first)


def shorten_turn(context: Context, counter: TokenCounter, most: int) -> Context:
    """The context in at most so many tokens, where the turn's prompt has them: results of its tools
    are cut, the oldest ones most, and each names the message that has it whole. Where that is not
    enough, the oldest rounds are left out."""
    if measure(context, counter).total <= most:
        return context
    messages = list(prune_messages(context.messages, context.pruned_through, counter))
    start = _find_first_round(messages)
    before, rounds = messages[:start], messages[start:]
    least = [_cut_results(message, 0, counter) for message in rounds]
    made = context
    for cut in _list_starts(rounds):
        made = _with_rounds(context, before, rounds[:cut], least[cut:], counter)
        room = most - measure(made, counter).total
        if room >= 0:
            room -= len(made.messages)  # of oversized ones each is rounded up by itself
            kept = _lengthen(rounds[cut:], least[cut:], room, context, counter)
            return _with_rounds(context, before, rounds[:cut], kept, counter)
    return made


def _find_first_round(messages: Sequence[AgentMessage]) -> int:
    """Where the rounds of the running turn begin."""
    return max(find_turn_starts(messages), default=-1) + 1


def _list_starts(rounds: Sequence[AgentMessage]) -> list[int]:
    """Where the rounds that are kept may begin: with a call, or after all of them."""
    calls = [n for n, message in enumerate(rounds) if n and message.role == "assistant"]
    return [0, *calls, len(rounds)] if rounds else []


def _with_rounds(
    context: Context,
    before: Sequence[AgentMessage],
    left_out: Sequence[AgentMessage],
    kept: Sequence[AgentMessage],
    counter: TokenCounter,
) -> Context:
    notes: list[AgentMessage] = []
    if left_out:
        note = LEFT_OUT.format(first=left_out[0].number, last=left_out[-1].number)
        blocks = [text_block(note)]
        notes.append(AgentMessage(left_out[0].number, "user", blocks, counter.count_blocks(blocks)))
        # What the user said between two rounds stays.
        notes += (m for m in left_out if m.is_prompt and not m.holds_tool_results)
    return replace(
        context,
        messages=[*before, *notes, *kept],
        omitted=context.omitted + len(left_out),
        shortened=True,
    )


def _lengthen(
    whole: Sequence[AgentMessage],
    least: Sequence[AgentMessage],
    room: int,
    context: Context,
    counter: TokenCounter,
) -> list[AgentMessage]:
    """The messages, each with as much of its results as there is room for, the newest first."""
    kept = list(least)
    for at in reversed(range(len(kept))):
        if kept[at] is whole[at]:
            continue
        has = count_sent_tokens(kept[at], context.limits)
        for length in (None, *LENGTHS):
            longer = whole[at] if length is None else _cut_results(whole[at], length, counter)
            more = RealTokens(count_sent_tokens(longer, context.limits) - has)
            if more <= room:
                kept[at] = longer
                room -= max(0, more)
                break
    return kept


def _cut_results(message: AgentMessage, length: int, counter: TokenCounter) -> AgentMessage:
    """A message whose results have at most so many characters each, and no pictures."""
    if not message.holds_tool_results:
        return message
    blocks = [_cut(block, length, message.number) for block in message.blocks]
    if blocks == list(message.blocks):
        return message
    return replace(message, blocks=blocks, tokens=counter.count_blocks(blocks))


def _cut(block: Block, length: int, number: int) -> Block:
    if block["type"] != "tool_result":
        return block
    text, content = result_text(block), block.get("content")
    pictures = isinstance(content, list) and any(part.get("type") != "text" for part in content)
    if not pictures and len(text) <= length + LEAST:
        return block
    head = int(length * HEAD_SHARE)
    where = f"; message #{number} has it whole"
    short = preview_text(text, head, length - head, where) if len(text) > length + LEAST else text
    return block | {"content": f"{short}\n[Files left out{where}]" if pictures else short}
