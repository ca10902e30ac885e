"""The text of a summary, made from its chapters. Pure."""

import re
from collections.abc import Iterable, Sequence

from agent.audit.grounding import REPLACED
from agent.compaction.chapters.chapter import Chapter, list_left_out
from agent.compaction.chapters.index import is_index_line, list_index_lines
from agent.compaction.chapters.standing_pins import list_standing
from agent.compaction.chapters.superseding import combine
from agent.compaction.instructions.pins import Pin
from agent.context.summary import CURRENT_WORK, INDEX_HEADING, PINS_LEFT_OUT, SEPARATOR, Summary
from agent.messages import RawTokens
from agent.tokens import TokenCounter

ANY = RawTokens(10**9)  # a budget that everything fits in
_TOLD = re.compile(re.escape(PINS_LEFT_OUT).replace(r"\{count\}", r"\d+"))


def render_summary(
    chapters: Sequence[Chapter],
    *,
    pin_tokens: RawTokens,
    index_tokens: RawTokens,
    counter: TokenCounter,
) -> Summary:
    """The text of a state of the summary; pins and index within their budgets."""
    bodies, work = combine([chapter.text.replace(SEPARATOR, "\n\n") for chapter in chapters])
    texts = [
        f"**Messages #{chapter.first} to #{chapter.through}{_dated(chapter)}**\n\n{body}"
        for chapter, body in zip(chapters, bodies, strict=True)
    ]
    parts = [f"{CURRENT_WORK}\n{work}"] if work else []
    left_out = list_left_out(chapters)
    listed = (entry for chapter in chapters for entry in chapter.index)
    lines = list_index_lines(
        [entry for entry in listed if entry.number not in left_out],
        _list_changes(chapters),
        "\n".join([*bodies, work]),
        index_tokens,
        counter,
    )
    if lines:
        parts.append(INDEX_HEADING + "\n" + "\n".join(lines))
    instructions = _newest_within(list_standing(chapters), pin_tokens, counter)
    return Summary(tuple(texts), "\n\n".join(parts), "\n".join(instructions))


def is_text_of(summary: Summary, chapters: Sequence[Chapter], counter: TokenCounter) -> bool:
    """Whether a text is one of a state of the summary, within whatever budgets: the chapters and
    the current work word for word, and of pins and index nothing that is not theirs."""
    whole = render_summary(chapters, pin_tokens=ANY, index_tokens=ANY, counter=counter)
    (work, lines), (own_work, own_lines) = map(_split_appendix, (summary.appendix, whole.appendix))
    left_out = list_left_out(chapters)
    said = {e.render_settled() for c in chapters for e in c.index if e.number not in left_out}
    pins = set(whole.instructions.splitlines())
    told = (line for line in summary.instructions.splitlines() if not _TOLD.fullmatch(line))
    return (
        summary.chapters == whole.chapters
        and work == own_work
        and all(line in said or is_index_line(line, own_lines) for line in lines)
        and pins.issuperset(told)
    )


def _split_appendix(appendix: str) -> tuple[str, list[str]]:
    """The current work, and the lines of the index."""
    work, _, index = appendix.partition(INDEX_HEADING)
    return work.strip(), index.strip().splitlines()


def _dated(chapter: Chapter) -> str:
    return f" ({chapter.days})" if chapter.days else ""


def _list_changes(chapters: Iterable[Chapter]) -> list[str]:
    """The bullets that say what was replaced, whether the record still has them or not."""
    parts = (part for chapter in chapters for part in chapter.written)
    return [line for part in parts for line in part.text.splitlines() if REPLACED.match(line)]


def _newest_within(pins: Sequence[Pin], budget: int, counter: TokenCounter) -> list[str]:
    """The latest as lines, and a line that tells how many are left out, "" for none."""
    budget -= counter.count(PINS_LEFT_OUT.format(count=len(pins)))
    lines: list[str] = []
    for pin in reversed(pins):
        line = pin.render()
        budget -= counter.count(line) + 1
        if budget < 0:
            break
        lines.insert(0, line)
    if missing := len(pins) - len(lines):
        lines.insert(0, PINS_LEFT_OUT.format(count=missing))
    return lines
