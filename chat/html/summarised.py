"""Which messages the model gets as a summary, and what the page says of them."""

import re
from collections.abc import Sequence
from typing import TypedDict

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from agent.context.summary import Summary

# As `agent.compaction.chapters.rendering.render_summary` heads a chapter.
CHAPTER_RANGE = re.compile(
    r"\*\*Messages #(?P<first>\d+) to #(?P<last>\d+)(?: \([^()\n]+\))?\*\*\n+"
)


class Summarised(TypedDict):
    """The messages of the branch from number `first` through `last`, and the words for them."""

    first: int
    last: int
    words: str


def list_summarised(summary: Summary, through: int, kept: int = 0) -> list[Summarised]:
    """The summarised messages by chapter. `through` is the number of the last one, 0 for none;
    `kept` that of a first message that is sent word for word all the same, 0 for none."""
    parts: list[Summarised] = []
    covered = kept
    for number, chapter in enumerate(summary.chapters, 1):
        if found := CHAPTER_RANGE.match(chapter):
            first, last = int(found["first"]), min(int(found["last"]), through)
            words = gettext("Chapter {chapter} · #{first}–{last} · in the summary")
            words = words.format(chapter=number, first=first, last=last)
            if last > covered:
                parts.append({"first": covered + 1, "last": last, "words": words})
                covered = last
    if through > covered:  # an edited summary may have no numbers
        parts.append({"first": covered + 1, "last": through, "words": gettext("In the summary")})
    return parts


def mark_summarised(html: str, number: int, parts: Sequence[Summarised]) -> SafeString:
    """A message's article, marked where it is summarised. The mark is no part of what is cached:
    a message stays, and summaries change."""
    words = next((p["words"] for p in parts if p["first"] <= number <= p["last"]), "")
    mark = f'<article data-summarised="{escape(words)}"' if words else "<article"
    return mark_safe(html.replace("<article", mark, 1))
