"""The record of what came from elsewhere, for as long as its owner has not agreed that a model
reads it: chapters with an outline, exact values and standing instructions, which cost nothing.

Each is written in its place, when a model may read its messages.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import ceil

from agent.clock import Days
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.standing_pins import keep_edits, list_pins, retire_pins
from agent.compaction.extraction.decisions import find_decisions
from agent.compaction.extraction.outline import (
    measure_pause,
    write_current_work,
    write_outline,
)
from agent.compaction.extraction.phrases import choose_phrases
from agent.compaction.instructions.named import Named
from agent.compaction.policy import Policy
from agent.compaction.writing.job import Job, convert_to_raw, count_chapter_tokens
from agent.context.summary import DECISIONS
from agent.messages import AgentMessage, RawTokens, RealTokens, Usage
from agent.search.exact_values import IndexEntry
from agent.tokens import Limits

COVERED = 100_000  # raw tokens of the messages of a chapter, about
LEAST_TEXT, MOST_TEXT = 120, 400  # raw tokens of a chapter's text
AROUND_TEXT = 40  # raw tokens of the line above it and the fence around it, about
TEXT_SHARE = 0.25  # of what it covers, at most
LEAST_WRITTEN = 500  # tokens of a chapter that a model writes in its place
INSTRUCTION = 1_500  # raw tokens of what a request says beside its material, about
# A chapter may be so much of its size longer or shorter, to begin after a long pause.
SLACK = 0.25
# Of a chapter, what is kept: the newest instructions, and the values that were settled, then the
# newest. A summary has room for fewer; search has them all.
MOST_PINS, MOST_VALUES, MOST_CHANGES = 20, 60, 3
# What the request after a record may hold beside its system prompt and tools: of that, shares for
# the chapters, the index, the pins, and the first message. The rest are recent messages.
CHAPTERS_SHARE, INDEX_SHARE, PINS_SHARE, FIRST_SHARE = 0.4, 0.12, 0.08, 0.1


def make_frugal(policy: Policy, limits: Limits, room: RealTokens) -> Policy:
    """The policy for a record, of which a request may hold `room` tokens with the recent
    messages."""
    return replace(
        policy,
        summary_total_tokens=min(policy.total_tokens(limits), int(CHAPTERS_SHARE * room)),
        index_tokens=min(policy.index_tokens, int(INDEX_SHARE * room)),
        pin_tokens=min(policy.pin_tokens, int(PINS_SHARE * room)),
        keep_recent_tokens=min(
            policy.recent_tokens(limits),
            int((1 - CHAPTERS_SHARE - INDEX_SHARE - PINS_SHARE - FIRST_SHARE) * room),
        ),
    )


def share_out(policy: Policy, limits: Limits, chapters: int) -> Policy:
    """The policy for having a model write so many chapters: all of them together as many tokens as
    a summary has."""
    most = max(LEAST_WRITTEN, policy.total_tokens(limits) // chapters)
    return replace(policy, summary_max_tokens=min(policy.summary_max_tokens, most))


def estimate_reading(
    tokens: RealTokens, *, chapters: int, total: int, policy: Policy, limits: Limits
) -> Usage:
    """What it takes to have a model read messages of so many tokens, and write so many chapters of
    `total` ones, each after those before it."""
    written = share_out(policy, limits, total).summary_max_tokens
    asked = limits.factor.apply(RawTokens(INSTRUCTION)) * chapters
    before = written * sum(range(total - chapters, total))
    return Usage(tokens + asked + before, written * chapters)


async def record_by_rule(
    job: Job, messages: Sequence[AgentMessage], *, most: int | None = None
) -> list[Chapter]:
    """The job's chapters, and after them those of some messages, `most` at most. Others get their
    turn between two: all of it may take many seconds."""
    covered = sum(message.tokens for message in messages)
    total = convert_to_raw(job, job.policy.total_tokens(job.context.limits))
    written = convert_to_raw(job, count_chapter_tokens(job, job.chapters))
    room = max(LEAST_TEXT, total - written)
    fitting = room // (LEAST_TEXT + AROUND_TEXT)
    number = max(1, most or min(ceil(covered / COVERED), fitting))
    fitting = min(room // number - AROUND_TEXT, MOST_TEXT, int(TEXT_SHARE * covered / number))
    tokens = RawTokens(max(LEAST_TEXT, fitting))
    chapters = list(job.chapters)
    for part in split_evenly(messages, number):
        chapters = _add_chapter(job, chapters, part, tokens)
        await asyncio.sleep(0)
    last = chapters[-1]
    work = write_current_work(part, choose_phrases(part))
    chapters[-1] = replace(last, text=f"{last.text}\n{work}")
    return keep_edits(chapters, job.edited)


def split_evenly(messages: Sequence[AgentMessage], number: int) -> list[Sequence[AgentMessage]]:
    """At most so many parts of about as many tokens. Each begins with a user's message, after the
    longest pause near the place that is due."""
    before = [0, *accumulate(message.tokens for message in messages)]
    size = before[-1] / number
    starts = [place for place, each in enumerate(messages) if place and each.is_prompt]
    reached = [before[place] for place in starts]
    cuts = [0]
    for due in (at * size for at in range(1, number)):
        near = starts[
            bisect_left(reached, due - SLACK * size) : bisect_right(reached, due + SLACK * size)
        ]
        later = [place for place in near if place > cuts[-1]]
        if later:
            cuts.append(max(later, key=lambda place: measure_pause(messages, place)))
    return [messages[a:b] for a, b in zip(cuts, [*cuts[1:], len(messages)], strict=True)]


def _add_chapter(
    job: Job, chapters: Sequence[Chapter], part: Sequence[AgentMessage], tokens: RawTokens
) -> list[Chapter]:
    prompts = [message for message in part if message.is_prompt]
    known = [entry for chapter in chapters for entry in chapter.index]
    entries, changes = find_decisions(prompts, known)
    named = Named()
    named.add_by_rule(prompts, list_pins(chapters))
    text = write_outline(part, tokens, job.counter, job.skill.chapter_headings[0])
    if changed := [each.render() for each in changes[-MOST_CHANGES:]]:
        text = "\n".join([text, DECISIONS, *changed])
    chapter = Chapter(
        text,
        first=part[0].number,
        through=part[-1].number,
        pins=named.in_order[-MOST_PINS:],
        index=_choose_values(entries),
        days=Days.of(part),
        by_rule=True,
    )
    return retire_pins([*chapters, chapter], named)


def _choose_values(entries: Sequence[IndexEntry]) -> tuple[IndexEntry, ...]:
    """The most that are kept of a chapter, in their order."""
    best = sorted(entries, key=lambda entry: (entry.weight, entry.number))[-MOST_VALUES:]
    return tuple(sorted(best, key=lambda entry: entry.number))
