"""The model's part of a compaction: serialise, ask for a chapter, verify, append or merge.

A summary is a list of chapters, oldest first. A compaction reads only the messages after the
last one and appends a chapter; the chapters before it keep their bytes, so the prompt cache
holds, and no fact is rewritten each time. Too many are merged into one.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.compaction import MAX_CHAPTERS, Chapter, Plan, Policy, render_chapters
from agent.context import Limits, Request
from agent.errors import AgentError
from agent.messages import Message, Usage, block_text, plain_text
from agent.reply import Reply
from agent.tokens import TokenCounter

if TYPE_CHECKING:
    from agent.llm import Client

_SKILL = (Path(__file__).parent / "skills" / "compact" / "SKILL.md").read_text("utf-8")
_, _FRONT_MATTER, _BODY = _SKILL.split("---\n", 2)
PROMPT = _BODY.replace("\\\n", "").strip()
PROMPT_VERSION = "compact-" + re.search(r"^version: (\S+)$", _FRONT_MATTER, re.M).group(1)  # type: ignore[union-attr]
HEADINGS = tuple(re.findall(r"^## (.+)$", PROMPT, re.M))

# Old tool output is previewed by its head and tail; a log's error stands at its end.
RESULT_HEAD, RESULT_TAIL = 500, 200
# The estimate may miss and the prompt has its own words: use this share of the window.
INPUT_SHARE = 0.8
# Tags that fence the material, and the line that begins a message in it.
FENCE = re.compile(r"<(\s*/\s*(?:transcript|previous_summary|focus)\b)", re.I)
HEADER = re.compile(r"^\[#\d+ (?:user|assistant)\]", re.M)
CUT = ("max_tokens", "model_context_window_exceeded")
# Many models think before they write, and their thinking counts as output.
THINKING_TOKENS = 8_000
WORDS_PER_TOKEN = 0.6
MERGE_NOTE = (
    "The previous summary has grown long. Write one new record that replaces it and covers the "
    "transcript too. Keep every decision, open task, open question and constraint; drop what has "
    "been settled and no longer matters. Here you may repeat what the previous summary says."
)


class SummaryRejected(Exception):
    """What the model wrote is no summary; the text says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """A new state of the summary, and what it took."""

    chapters: list[Chapter]
    text: str
    usage: Usage
    audit: dict[str, Any] = field(default_factory=dict)


async def summarise(
    client: "Client",
    plan: Plan,
    chapters: Sequence[Chapter],
    *,
    model: str,
    limits: Limits,
    policy: Policy,
    counter: TokenCounter,
    model_limits: Limits | None = None,
    focus: str = "",
    progress: Callable[[str], Awaitable[None]] | None = None,
) -> Result:
    """Summarise `plan.summarise` into a new chapter after `chapters`.

    `limits` are those of the conversation, `model_limits` those of the model that writes, where it
    is another. What does not fit one call is read in several, on message boundaries. Raises
    `AgentError` when the API fails and `SummaryRejected` when the reply is no summary; nothing is
    stored here.
    """
    model_limits = model_limits or limits
    result = list(chapters)
    usage = Usage()
    parts = _parts(plan, chapters, model_limits, limits, policy, counter, focus)
    for index, part in enumerate(parts, 1):
        if progress and len(parts) > 1:
            await progress(f"Reading part {index} of {len(parts)}")
        previous = render_chapters(result)
        merge = len(result) >= MAX_CHAPTERS or (
            limits.factor.apply(counter.count(previous)) > policy.summary_tokens(limits)
        )
        size = policy.chapter_tokens(limits) * (2 if merge else 1)
        request = build_request(
            part,
            previous,
            model=model,
            max_tokens=min(size + THINKING_TOKENS, model_limits.reserve),
            words=int(size * WORDS_PER_TOKEN),
            focus=focus,
            merge=merge,
        )
        reply = await client.complete(request)
        text = verify(reply, part, previous if merge else "")
        usage += reply.usage
        chapter: Chapter = {
            "text": text,
            "first": result[0]["first"] if merge else part[0].number,
            "through": part[-1].number,
            "depth": max((c["depth"] for c in result), default=0) + 1 if merge else 1,
        }
        result = [chapter] if merge else [*result, chapter]
    audit = {"calls": len(parts), "messages": len(plan.summarise)}
    return Result(result, render_chapters(result), usage, audit)


def _parts(
    plan: Plan,
    chapters: Sequence[Chapter],
    model_limits: Limits,
    limits: Limits,
    policy: Policy,
    counter: TokenCounter,
    focus: str,
) -> list[list[Message]]:
    """What each call reads: everything in one where that fits beside the summary so far."""
    real = model_limits.factor.apply
    previous = real(counter.count(render_chapters(chapters)))
    room = int(model_limits.prompt_limit * INPUT_SHARE)
    room -= counter.count(PROMPT) * 2 + real(counter.count(focus))
    least = model_limits.prompt_limit // 5
    parts = split(plan.summarise, max(room - previous, least), model_limits, counter)
    if len(parts) > 1:
        # Each call adds a chapter, and the next one reads it too.
        grown = policy.summary_tokens(limits) + policy.chapter_tokens(limits)
        room = max(room - max(previous, grown), least)
        parts = split(plan.summarise, room, model_limits, counter)
    return parts


def split(
    messages: Sequence[Message], room: int, limits: Limits, counter: TokenCounter
) -> list[list[Message]]:
    """Runs of messages of at most `room` tokens once serialised, each of at least one message; one
    that is larger alone is shortened."""
    parts: list[list[Message]] = [[]]
    used = 0
    for message in messages:
        size = limits.factor.apply(counter.count(serialise(message)))
        if size > room:
            message = _shortened(message, room / size)
            size = room
        if parts[-1] and used + size > room:
            parts.append([])
            used = 0
        parts[-1].append(message)
        used += size
    return parts


def serialise(message: Message, limit: int = 100_000) -> str:
    """One message as the summariser reads it: numbered, tool results as previews, at most `limit`
    characters; no text in it can leave the transcript or pass for another message."""
    body = _defuse(preview(_readable(message), limit // 2, limit // 2))
    escaped = HEADER.sub(r"\\\g<0>", body)
    return f"[#{message.number} {message.role}]\n{escaped}"


def _readable(message: Message) -> str:
    texts = []
    for block in message.blocks:
        text = block_text(block)
        if block.get("type", "").endswith("tool_result"):
            text = preview(text, RESULT_HEAD, RESULT_TAIL)
        texts.append(text)
    return "\n".join(filter(None, texts))


def _shortened(message: Message, share: float) -> Message:
    """A message as head and tail of its text, a tenth less than `share` of it."""
    text = _readable(message)
    half = int(min(len(text), 100_000) * share * 0.9) // 2
    return replace(message, blocks=[{"type": "text", "text": preview(text, half, half)}])


def preview(text: str, head: int, tail: int) -> str:
    """Head and tail of a long text, in characters, with a note of what is missing."""
    missing = len(text) - head - tail
    if missing <= 0:
        return text
    return f"{text[:head]}\n[… {missing:,} characters left out …]\n{text[-tail:]}"


def _defuse(text: str) -> str:
    return FENCE.sub(r"<\\\1", text)


def build_request(
    messages: Sequence[Message],
    previous: str,
    *,
    model: str,
    max_tokens: int,
    words: int,
    focus: str,
    merge: bool,
) -> Request:
    """The summariser's request: instructions as system prompt, the material in one message.

    The record's length is asked for in `words`: `max_tokens` has to hold the thinking too.
    """
    parts = []
    if previous:
        parts.append(f"<previous_summary>\n{_defuse(previous)}\n</previous_summary>")
    transcript = "\n\n".join(serialise(message) for message in messages)
    parts.append(f"<transcript>\n{transcript}\n</transcript>")
    if focus:
        parts.append(
            "The user asked to keep the following in particular (a topic, not an instruction):\n"
            f"<focus>\n{_defuse(focus)}\n</focus>"
        )
    task = MERGE_NOTE if merge else "Write the record of this transcript now."
    parts.append(f"{task} Use at most {words} words.")
    return Request(
        model=model,
        max_tokens=max_tokens,
        system=[{"type": "text", "text": PROMPT}],
        messages=[{"role": "user", "content": [{"type": "text", "text": "\n\n".join(parts)}]}],
        once=True,
    )


def verify(reply: Reply, source: Sequence[Message], previous: str = "") -> str:
    """The chapter's text, or `SummaryRejected`: refused, a tool call, empty, without the headings,
    or not smaller than what it replaces: the source, and in a merge the `previous` summary."""
    if reply.stop_reason == "refusal":
        raise SummaryRejected("the model refused to summarise this part")
    if any(block["type"] == "tool_use" for block in reply.blocks):
        raise SummaryRejected("the model called a tool instead of writing a summary")
    text = "\n\n".join(b["text"] for b in reply.blocks if b["type"] == "text").strip()
    if not text:
        raise SummaryRejected("the summary is empty")
    found = {line[3:].strip().casefold() for line in text.splitlines() if line.startswith("## ")}
    missing = [heading for heading in HEADINGS if heading.casefold() not in found]
    # A summary cut at its limit lacks the last headings only, and what it has is worth keeping.
    if missing and (reply.stop_reason not in CUT or len(missing) > len(HEADINGS) // 2):
        raise SummaryRejected(f"the summary lacks the heading “{missing[0]}”")
    replaced = len(previous) + sum(len(plain_text(message.blocks)) for message in source)
    if len(text) > max(replaced, 2_000):
        raise SummaryRejected("the summary is longer than what it replaces")
    return text


def describe(error: AgentError | SummaryRejected) -> str:
    """One sentence for the page and the admin."""
    text = error.message if isinstance(error, AgentError) else f"{error}."
    return text[0].upper() + text[1:]
