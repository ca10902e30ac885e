"""What holds for every conversation."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from hypothesis import event, given, settings
from hypothesis import strategies as st

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.merging import select_statements
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.chapters.statements import list_statements
from agent.compaction.chapters.unsent import NOTHING_FITS
from agent.compaction.plan import Plan, apply_compaction, find_protected_first, plan_compaction
from agent.compaction.policy import TARGET_OF_TRIGGER, ContextLoad, Policy, Trigger, find_trigger
from agent.compaction.writing.summary_requests import serialise, split_messages
from agent.context.api_messages import MISSING_RESULT
from agent.context.assemble import Context, assemble, measure, render_summary_texts
from agent.context.shortening.previews import count_sent_tokens
from agent.context.shortening.pruning import plan_pruning
from agent.context.shortening.trimming import trim
from agent.context.summary import Summary
from agent.messages import AgentMessage, Block, RawTokens, sanitise
from agent.model.reply import Reply
from agent.model.rules import find_violations
from agent.model.sse import EventDecoder
from agent.tokens import Limits
from demo.api.protocol import Envelope, PromptUsage, ScriptedReply, encode_event, stream_events
from tests.agent.conversations import (
    COUNTER,
    TOOLS,
    call,
    contexts,
    flat,
    histories,
    limits,
    message,
    sized_turn,
    sizes,
    text,
    texts,
    thinking,
)

declared = st.sampled_from([TOOLS, TOOLS, TOOLS[:1], []])


# --- Requests -------------------------------------------------------------------------------------


@given(contexts(), declared)
@settings(max_examples=250)
def test_every_request_is_valid_and_the_same_again(context: Context, tools: list[Block]) -> None:
    before = repr(context)
    body = assemble(replace(context, tools=tools)).body()
    assert find_violations(body) == []
    assert flat(assemble(replace(context, tools=tools)).body()) == flat(body)
    assert find_violations(assemble(replace(trim(context, COUNTER), tools=tools)).body()) == []
    assert repr(context) == before
    sent = repr(body)
    for mark in (
        "'thinking'",
        "characters of #",
        "has it whole",
        MISSING_RESULT,
        "[Result of",
        "'tool_use'",
    ):
        if mark in sent:
            event(mark)


@given(contexts(smallest=64_000), declared)
@settings(max_examples=150)
def test_what_is_sent_is_what_was_measured(context: Context, tools: list[Block]) -> None:
    """But for notes and stand-ins, which the margin of 1 % is for."""
    request = assemble(replace(context, tools=tools))
    sent = sum(COUNTER.count_blocks(m["content"]) for m in request.messages)
    sent += sum(COUNTER.count(block["text"]) for block in request.system)
    margin = context.limits.window // 100
    assert context.limits.factor.apply(sent) <= measure(context, COUNTER).total + margin


# --- Sizes ----------------------------------------------------------------------------------------


@st.composite
def sized_contexts(draw: st.DrawFn) -> Context:
    """Conversations whose messages have token counts of any size; the texts stay small."""
    messages: list[AgentMessage] = []
    for _ in range(draw(st.integers(1, 5))):
        messages += draw(sized_turn(len(messages) + 1))
    first = message(0, "user", [text("Q0")], draw(sizes())) if draw(st.booleans()) else None
    return Context(
        model="claude-test",
        limits=draw(limits()),
        system_prompt="x" * draw(sizes(1, 20_000)),
        summary=Summary(("y" * draw(sizes(1, 20_000)), "z"), "w") if first else Summary(),
        summary_through=1 if first else 0,
        first=first,
        messages=messages,
        pruned_through=draw(st.integers(0, len(messages))),
    )


@given(sized_contexts(), st.one_of(st.none(), sizes(1, 2_000_000)))
@settings(max_examples=200)
def test_a_trimmed_request_fits_whenever_the_last_turn_alone_does(
    context: Context, used: int | None
) -> None:
    trimmed = trim(context, COUNTER, used)
    assert list(trimmed.messages) == list(context.messages[trimmed.omitted :])
    last = max(i for i in range(len(context.messages)) if starts_turn(context.messages[: i + 1]))
    assert trimmed.omitted <= last
    alone = replace(context, messages=context.messages[last:], first=None)
    size = measure(trimmed, COUNTER).total
    room = context.limits
    if measure(alone, COUNTER).total <= room.request_limit:
        assert size + room.reserve + room.window // 100 <= room.window
        event("trimmed" if trimmed != context else "fits")
    else:
        assert (trimmed.omitted, trimmed.first) == (last, None)
        event("the last turn alone does not fit")


def starts_turn(messages: Sequence[AgentMessage]) -> bool:
    """Whether the last of them does: what is said after results is said while their turn runs."""
    said = takewhile(lambda message: message.role == "user", reversed(messages))
    kinds = {block["type"] for message in said for block in message.blocks}
    return messages[-1].role == "user" and "tool_result" not in kinds


# --- Compaction -----------------------------------------------------------------------------------


def call_ids(messages: Sequence[AgentMessage], kind: str, field: str) -> set[str]:
    return {b[field] for m in messages for b in m.blocks if b["type"] == kind}


def assert_sound(made: Plan, messages: Sequence[AgentMessage]) -> None:
    """Nothing lost or doubled, and no call apart from its result (all ids are unique)."""
    assert [*made.summarise, *made.keep] == list(messages)
    assert len(made.summarise) >= 2
    calls = call_ids(made.summarise, "tool_use", "id")
    assert not calls & call_ids(made.keep, "tool_result", "tool_use_id")


def assert_under_target(
    made: Plan, context: Context, policy: Policy, fixed: int, first: AgentMessage | None
) -> None:
    """Recent messages, fixed parts and the new chapter are under the target, unless nothing but the
    last exchange, or of a long one its last round of tools, was kept."""
    limits = context.limits
    kept = sum(count_sent_tokens(m, limits) for m in [*made.keep, *filter(None, [first])])
    target = int(TARGET_OF_TRIGGER * policy.trigger_tokens(limits))
    if fixed + kept + policy.chapter_tokens(limits) > target:
        rounds = sum(any(b["type"] == "tool_use" for b in m.blocks) for m in made.keep)
        assert rounds == 1 or list(made.keep) == last_exchange(context.messages)
        event("the last exchange, or its last round, alone is over the target")


def last_exchange(messages: Sequence[AgentMessage]) -> list[AgentMessage]:
    """From the last prompt on, and from the calls before it that are answered after it."""
    start = max(i for i, m in enumerate(messages) if m.is_prompt)
    while call_ids(messages[:start], "tool_use", "id") & call_ids(
        messages[start:], "tool_result", "tool_use_id"
    ):
        start -= 1
    return list(messages[start:])


policies = st.builds(
    Policy,
    threshold_ratio=st.sampled_from([0.5, 0.8, 1.0]),
    threshold_tokens=st.sampled_from([0, 0, 50_000]),
    keep_first_message=st.booleans(),
    keep_recent_messages=st.sampled_from([0, 2, 6, 20]),
    keep_recent_tokens=st.sampled_from([0, 4_000, 32_000]),
)


@given(st.data(), limits(), policies)
@settings(max_examples=80)
def test_over_many_compactions_every_message_is_either_summarised_or_kept(
    data: st.DataObject, limits: Limits, policy: Policy
) -> None:
    """Plan, pretend a chapter, go on with new messages, preview old results, plan again."""
    context = Context(model="claude-test", limits=limits)
    said: list[AgentMessage] = []
    summarised: list[AgentMessage] = []
    chapters: list[Chapter] = []
    for _ in range(data.draw(st.integers(1, 12))):
        turn = data.draw(sized_turn(len(said) + 1))
        said += turn
        context = replace(context, messages=[*context.messages, *turn])
        if pruning := plan_pruning(context.messages, context.pruned_through, limits, COUNTER):
            assert context.pruned_through < pruning.through < said[-1].number
            context = replace(context, pruned_through=pruning.through)
            event("pruned")
        size = measure(context, COUNTER)
        trigger: Trigger | None = data.draw(st.sampled_from([None, None, "manual", "overflow"]))
        trigger = trigger or find_trigger(ContextLoad(size.total, limits), policy)
        if trigger is None:
            continue
        fixed, first = size.system + size.summary, find_protected_first(context, policy)
        made = plan_compaction(
            context.messages, policy, limits, fixed=fixed, first=first, trigger=trigger
        )
        if made is None:
            continue
        assert_sound(made, context.messages)
        assert_under_target(made, context, policy, fixed, first)
        summarised += made.summarise
        first_number, through = made.summarise[0].number, made.summarise[-1].number
        chapters.append(Chapter(f"Summary {len(chapters) + 1}.", first_number, through))
        summary = render_summary(chapters, pin_tokens=100, index_tokens=100, counter=COUNTER)
        assert Summary.from_text(summary.text) == summary
        before = render_summary_texts(context.summary)
        context = apply_compaction(context, made, summary, policy)
        assert [*summarised, *context.messages] == said
        assert context.summary_through == summarised[-1].number
        protected = policy.keep_first_message
        assert context.first == (said[0] if protected else None)
        request = assemble(replace(context, tools=TOOLS))
        assert find_violations(request.body()) == []
        sent = [block["text"] for block in request.system]
        assert sent[1 : 1 + len(before)] == before
        assert f"Summary {len(chapters)}." in sent[-1]
    event(f"{min(len(chapters), 4)} compactions")


bullets = st.builds(lambda words, number: f"- {words} [#{number}]", texts, st.integers(1, 30))
sections = st.builds(
    lambda heading, said: "\n".join([f"## {heading}", *said]),
    st.sampled_from(["Overview", "Decisions", "Facts and values", "Progress"]),
    st.lists(st.one_of(bullets, bullets, texts), max_size=8),
)
bodies = st.builds("\n\n".join, st.lists(sections, min_size=1, max_size=4))


@given(st.data(), st.lists(bodies, min_size=1, max_size=16), sizes(20, 2_000))
@settings(max_examples=100)
def test_a_merge_fits_rewrites_nothing_and_keeps_every_range(
    data: st.DataObject, bodies: list[str], most: int
) -> None:
    """It is done again after each further chapter. What a person wrote stays while it fits."""
    chapters: list[Chapter] = []
    written: list[str] = []
    for number, body in enumerate(bodies):
        said = [each.text for each in list_statements(body)]
        own = data.draw(st.sampled_from([[], [], said[:1]]))
        chapters.append(Chapter(body, number, number, own=tuple(own)))
        written.append(body)
        before = [each.text for c in chapters for each in list_statements(c.text)]
        kept_own = [each for c in chapters for each in c.own]
        chapters, left = select_statements(chapters, RawTokens(most), COUNTER)
        after = [each.text for c in chapters for each in list_statements(c.text)]
        assert sum(COUNTER.count(c.text) for c in chapters) <= most + 20 * len(chapters)
        assert {each.strip() for each in after} >= {x.strip() for x in before} - {*left} - {""}
        assert {*after} <= {*before, NOTHING_FITS}
        assert [part.text for c in chapters for part in c.written] == written
        assert [c.first for c in chapters] == sorted({c.first for c in chapters})
        if 3 * sum(map(COUNTER.count, kept_own)) + 20 * len(chapters) < most:
            assert {*kept_own} <= {*after}
            event("a person's own" if kept_own and left else "no person's own")
        event("merged" if left else "fits")


triggers: st.SearchStrategy[Trigger] = st.sampled_from(["auto", "manual", "overflow", "iterations"])


@given(histories, limits(), triggers)
@settings(max_examples=80)
def test_a_broken_history_can_be_planned_too(
    history: list[AgentMessage], limits: Limits, trigger: Trigger
) -> None:
    made = plan_compaction(history, Policy(), limits, fixed=0, trigger=trigger)
    if made:
        assert [*made.summarise, *made.keep] == history
        assert made.keep


@given(histories, sizes(200, 20_000), limits())
@settings(max_examples=100)
def test_parts_of_a_transcript_fit_and_lose_nothing(
    history: list[AgentMessage], room: int, limits: Limits
) -> None:
    """A part is over its room only for one message, and for the results of its last call."""
    parts = split_messages(history, room, limits.factor, COUNTER)
    assert [m.number for part in parts for m in part.messages] == [m.number for m in history]
    for part, tokens in parts:
        assert part or not history
        movable = next(
            (n for n in range(len(part) - 1, 0, -1) if not part[n].holds_tool_results), 0
        )
        counts = [limits.factor.apply(COUNTER.count(serialise(m))) for m in part]
        assert sum(counts) == tokens
        assert sum(counts[: movable + 1]) <= room or movable == 0


# --- Folding --------------------------------------------------------------------------------------


replies = st.lists(
    st.one_of(
        st.builds(text, texts),
        st.builds(thinking, texts),
        st.builds(lambda query: call("t1", query=query), texts),
    ),
    max_size=3,
)


@given(replies, st.integers(0, 9), st.lists(st.integers(0, 3_000), max_size=12), st.booleans())
@settings(max_examples=150)
def test_a_stream_gives_the_same_reply_however_it_is_cut(
    blocks: list[Block], piece_chars: int, cuts: list[int], crlf: bool
) -> None:
    blocks = [b | {"id": f"t{n}"} if "id" in b else b for n, b in enumerate(blocks)]
    scripted = ScriptedReply(tuple(blocks), piece_chars=piece_chars)
    events = stream_events(scripted, Envelope("msg_1", "claude-test", PromptUsage(7)))
    stream = b"".join(map(encode_event, events))
    if crlf:
        stream = stream.replace(b"\n", b"\r\n")
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    decoder, reply, shown = EventDecoder(), Reply(), ""
    for start, end in zip(bounds, bounds[1:], strict=False):
        for decoded in decoder.feed(stream[start:end]):
            shown += reply.apply(decoded)
    assert decoder.error is None
    assert reply.complete
    assert reply.blocks == sanitise(blocks)
    assert shown == "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
