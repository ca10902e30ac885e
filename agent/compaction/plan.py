"""What to compact: pure decisions. `agent.compaction.ladder` does the model's part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from math import inf

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.policy import Extent, Policy, Trigger
from agent.compaction.topics import find_topic_start
from agent.context.assemble import Context
from agent.context.message_list import starts_within_turn
from agent.context.shortening.previews import count_sent_tokens, sum_sent_tokens
from agent.context.summary import Summary
from agent.messages import AgentMessage, RealTokens
from agent.tokens import Limits, TokenCounter

# Of the messages' tokens: so many recent ones are kept at most where a person asks, so that it was
# worth asking. A gentle compaction frees about half, and keeps twice as much of what is going on.
KEPT_BY_HAND = {Extent.THOROUGH: 0.25, Extent.GENTLE: 0.5}


@dataclass(frozen=True, slots=True)
class Plan:
    """Every message is in exactly one of the two."""

    summarise: Sequence[AgentMessage]
    keep: Sequence[AgentMessage]


def plan_compaction(
    messages: Sequence[AgentMessage],
    policy: Policy,
    limits: Limits,
    *,
    fixed: RealTokens,
    first: AgentMessage | None = None,
    trigger: Trigger = Trigger.AUTO,
    extent: Extent = Extent.THOROUGH,
    coming: int = 0,
) -> Plan | None:
    """Cut the messages after the current summary into those to summarise and the recent
    messages, which stay word for word.

    What stays in the request anyway is `fixed`, system prompt and summary in tokens, and `first`,
    see `find_protected_first`. The recent messages are the last exchange, then up to
    `keep_recent_messages` or `keep_recent_tokens` while the context stays under its target. Where a
    person asks, they are at most the share of the `extent`. Where code can see that a topic begins
    in their older half, they begin there. A compaction that is not automatic and would find nothing
    keeps the last exchange only. Where the number of messages is limited, half of that are kept at
    most. `coming`: tokens that will come before the plan is carried out, and count as kept.

    The cut never separates a tool call from its result. Where a long turn of tool rounds alone is
    too large, only its newest rounds are kept. None: fewer than two messages to summarise, not
    counting those of which nothing is sent.
    """
    room = policy.target_tokens(limits) - fixed - policy.chapter_tokens(limits) - coming
    if first:
        room -= count_sent_tokens(first, limits)
    most = policy.recent_messages_limit()
    keep_tokens = policy.recent_tokens(limits) - coming
    if trigger == Trigger.ITERATIONS:
        cut = _start_of_round(messages, policy.keep_recent_iterations)
    elif trigger == Trigger.MANUAL:
        share = int(KEPT_BY_HAND[extent] * sum_sent_tokens(messages, limits))
        keep_tokens = share if extent == Extent.GENTLE else min(keep_tokens, share)
        cut = _start_of_recent(messages, limits, 0, keep_tokens, room, most)
        cut = _start_of_topic(messages, limits, cut, 0)
    else:
        keep = policy.keep_recent_messages
        cut = _start_of_recent(messages, limits, keep, keep_tokens, room, most)
        cut = _start_of_topic(messages, limits, cut, keep, coming)
    if cut < 2 and trigger != Trigger.AUTO:
        cut = _start_of_recent(messages, limits, 0, 0, 0, most)
    if sum_sent_tokens(messages[cut:], limits) > room or len(messages) - cut > most:
        cut = max(cut, _start_of_fitting_rounds(messages, policy, limits, room))
    enough = sum(bool(message.blocks) for message in messages[:cut]) >= 2
    return Plan(messages[:cut], messages[cut:]) if enough else None


def plan_record(messages: Sequence[AgentMessage], limits: Limits, room: RealTokens) -> Plan | None:
    """Cut as for a summary, with recent messages of at most `room` tokens. An exchange that alone
    is larger is summarised too, unless it waits for its answer."""
    cut = _start_of_recent(messages, limits, 0, room, room, inf)
    too_large = sum_sent_tokens(messages[cut:], limits) > room
    if too_large and messages and messages[-1].role == "assistant":
        cut = len(messages)
    return Plan(messages[:cut], messages[cut:]) if cut else None


def find_protected_first(context: Context, policy: Policy) -> AgentMessage | None:
    """The first user message, which stays in the request when the summary covers it."""
    if context.summary_through or not policy.keep_first_message:
        return context.first
    return next((m for m in context.messages[:1] if m.is_prompt), None)


def list_verbatim(context: Context, planned: Plan) -> set[int]:
    """Numbers of the messages that are sent word for word before a plan is carried out, with those
    that it takes from under a summary to be written again."""
    sent = (message for message in (*planned.summarise, *planned.keep) if message.blocks)
    return {message.number for message in (*context.opening, *sent)}


def apply_compaction(context: Context, done: Plan, summary: Summary, policy: Policy) -> Context:
    """The context with `summary` in place of what a plan summarised."""
    return replace(
        context,
        summary=summary,
        summary_through=done.summarise[-1].number,
        first=find_protected_first(context, policy),
        prompt=find_running_prompt(context, done),
        messages=done.keep,
        thinking_from=max((m.number for m in done.keep), default=0) + 1,  # bound to the old prefix
    )


def render_chapters(
    chapters: Sequence[Chapter], policy: Policy, limits: Limits, counter: TokenCounter
) -> Summary:
    """Chapters as they are injected, pins and index within the conversation's budgets."""
    pins, index = map(limits.factor.raw, policy.pins_and_index(limits))
    return render_summary(chapters, pin_tokens=pins, index_tokens=index, counter=counter)


def find_running_prompt(context: Context, done: Plan) -> AgentMessage | None:
    """What the turn answers of which only rounds are kept."""
    if done.keep and not starts_within_turn(done.keep):
        return None
    return next((m for m in reversed(done.summarise) if m.is_prompt), context.prompt)


def _start_of_recent(
    messages: Sequence[AgentMessage],
    limits: Limits,
    keep_messages: int,
    keep_tokens: int,
    room: int,
    most: float,
) -> int:
    """Index of the first kept message; beside the last exchange, at most `room` tokens and `most`
    messages are kept."""
    prompts = [i for i, message in enumerate(messages) if message.is_prompt]
    start = _before_call(messages, prompts[-1] if prompts else max(0, len(messages) - 1))
    cut = start
    tokens: int = sum_sent_tokens(messages[start:], limits)
    while start > 0:
        tokens += count_sent_tokens(messages[start - 1], limits)
        kept = len(messages) - start
        wanted = kept < keep_messages or tokens <= keep_tokens
        if not wanted or tokens > room or kept >= most:
            break
        start -= 1
        if not _separates(messages, start):
            cut = start
    return cut


def _start_of_topic(
    messages: Sequence[AgentMessage], limits: Limits, cut: int, keep_messages: int, coming: int = 0
) -> int:
    """A later cut, where a topic begins and so many messages and half of the tokens stay, those
    that are `coming` included; else the same."""
    if cut < 2:
        return cut
    least = (sum_sent_tokens(messages[cut:], limits) + coming) / 2 - coming
    last = max(cut, len(messages) - keep_messages)
    places: list[int] = []
    kept = 0
    for index in range(len(messages) - 1, cut - 1, -1):
        kept += count_sent_tokens(messages[index], limits)
        begins = messages[index].is_prompt and not _separates(messages, index)
        if begins and kept >= least and index <= last:
            places.append(index)
    found = find_topic_start(messages, places[::-1])
    return cut if found is None else found


def _start_of_round(messages: Sequence[AgentMessage], rounds: int) -> int:
    """Index of the call that begins the last `rounds` tool rounds."""
    calls = [i for i, m in enumerate(messages) if any(b["type"] == "tool_use" for b in m.blocks)]
    return _before_call(messages, calls[-rounds]) if len(calls) >= rounds > 0 else 0


def _start_of_fitting_rounds(
    messages: Sequence[AgentMessage], policy: Policy, limits: Limits, room: int
) -> int:
    """Index of the call that begins the newest rounds of the last turn which fit, one at least; 0
    where it has no more than that."""
    begun = max((i for i, message in enumerate(messages) if message.is_prompt), default=0)
    for rounds in range(policy.keep_recent_iterations, 0, -1):
        start = _start_of_round(messages, rounds)
        kept = sum_sent_tokens(messages[start:], limits)
        if start > begun + 1 and (kept <= room or rounds == 1):
            return start
    return 0


def _before_call(messages: Sequence[AgentMessage], start: int) -> int:
    """The nearest earlier place that separates no call from its results: over budget beats
    splitting."""
    while _separates(messages, start):
        start -= 1
    return start


def _separates(messages: Sequence[AgentMessage], cut: int) -> bool:
    """Whether a call before the cut is answered after it. As the API pairs them, the results are
    in the user's messages right after the assistant's."""
    if cut == 0 or (messages[cut - 1].role, messages[cut].role) == ("user", "assistant"):
        return False
    before = takewhile(_is_assistant, dropwhile(_is_user, reversed(messages[:cut])))
    after = takewhile(_is_user, dropwhile(_is_assistant, messages[cut:]))
    calls = {b["id"] for m in before for b in m.blocks if b["type"] == "tool_use"}
    results = {b["tool_use_id"] for m in after for b in m.blocks if b["type"] == "tool_result"}
    return bool(calls & results)


def _is_user(message: AgentMessage) -> bool:
    return message.role == "user"


def _is_assistant(message: AgentMessage) -> bool:
    return message.role == "assistant"
