"""The divider of a compaction as HTML, with its summary: the same bytes over the socket and on a
reload."""

import re
from collections.abc import Iterable, Sequence
from zlib import crc32

from django.core.cache import cache
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from agent.audit.evidence import UNVERIFIED
from agent.audit.quotes import Quote
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.index import BETWEEN
from agent.compaction.chapters.outlook import read_headline
from agent.compaction.chapters.standing_pins import list_pins
from agent.compaction.chapters.statements import list_statements
from agent.compaction.chapters.superseding import drop_empty_sections, split_current_work
from agent.compaction.chapters.unsent import list_unsent
from agent.compaction.policy import Origin
from agent.context.summary import INDEX_HEADING, PINS_LEFT_OUT, Summary
from chat.html import kept
from chat.html.attached import PagePart
from chat.html.compaction_words import explain_compaction, is_stopgap, name_occasion
from chat.html.content_blocks import render_source
from chat.html.failsafe import draw_safely
from chat.html.figures import format_tokens
from chat.html.folded_quotes import mark_quotes, show_quotes
from chat.html.markdown import render_markdown
from chat.html.record_words import describe_offer
from chat.html.render_budget import RenderBudget
from chat.html.summarised import CHAPTER_RANGE
from chat.models import Compaction, Message
from chat.queries.records import find_offer
from chat.queries.summary_versions import read_chapters

# How the audit marks a bullet: at its end, after a space, which an attribute cannot hold.
_UNVERIFIED = re.compile(rf"(?<!\s)\s+{re.escape(UNVERIFIED)}(?=\s*(?:</li>|</p>|<ul>|<ol>))")
_ENTRIES = {
    "pins": re.compile(r"^- (?P<text>.+?)(?: \[#(?P<number>\d+)\])?$", re.M),
    "index": re.compile(r"^- (?P<text>.+?) \[#(?P<number>\d+)\] ?(?P<words>.*)$", re.M),
}
_LEFT_OUT = re.compile(re.escape(PINS_LEFT_OUT).replace(re.escape("{count}"), r"(\d+)"))


def render_divider(compaction: Compaction) -> str:
    """The divider of a completed compaction, with its summary folded inside. Its actions are shown
    by CSS, for the newest divider only."""
    note, offer = explain_compaction(compaction), find_offer(compaction)
    # A version hardly ever changes, and its summary takes a while.
    quotes = [chapter.get("quotes") for chapter in compaction.chapters]
    state = f"{compaction.finished_at}:{note}:{offer}:{compaction.summary}:{quotes}"
    checksum = crc32(state.encode("utf-8", "replace"))
    key = kept.make_key(compaction.conversation_id, f"divider:{compaction.pk}:{checksum}")
    if html := cache.get(key):
        return mark_safe(html)
    parts = draw_safely(
        f"summary {compaction.pk}",
        lambda: render_summary_parts(compaction.summary, read_chapters(compaction)),
        lambda: [{"kind": "work", "html": render_source(compaction.summary)}],
    )
    if compaction.conversation_id:  # none: there are no messages to ask after
        _add_times(compaction, parts)
    html = render_to_string(
        "chat/transcript/divider.html",
        {
            "compaction": compaction,
            "edited": compaction.origin == Origin.EDIT,
            "before": format_tokens(compaction.tokens_before),
            "after": format_tokens(compaction.tokens_after),
            "earlier": compaction.messages_before,
            "now": compaction.messages_after,
            "occasion": name_occasion(compaction),
            "note": note,
            "again": is_stopgap(compaction),
            "offer": describe_offer(offer) if offer else None,
            "parts": parts,
            "left": len(list_unsent(read_chapters(compaction))),
            "several": sum(part["kind"] == "chapter" for part in parts) > 1,
            "undecided": sum(pin.is_undecided for pin in list_pins(read_chapters(compaction))),
            "unverified": any("unverified-mark" in part.get("html", "") for part in parts),
        },
    )
    kept.keep(key, html)
    return html


def render_summary_parts(text: str, chapters: Sequence[Chapter] = ()) -> list[PagePart]:
    """A stored summary as HTML: its chapters, each with its `range` of messages in words, its
    `first` and `last` number and its `headline`, the last one marked as `newest`; then the current
    work, the user's standing instructions and the index of exact values, as far as it has them.
    With `chapters` their quotes are shown, and those that a merge made smaller are as they were
    written, with the number of their statements that are `unsent`."""
    summary = Summary.from_text(text)
    quotes: Sequence[Quote] = ()
    if len(chapters) == len(summary.chapters):
        quotes = chapters[-1].quotes if chapters else ()
        parts = [
            part
            for chapter, sent in zip(chapters, summary.chapters, strict=True)
            for part in _written(chapter, sent)
        ]
    else:
        parts = [_chapter(chapter) for chapter in summary.chapters]
    if parts:
        parts[-1]["newest"] = True
    left_out = count_left_out(summary.instructions)
    pins = summary.instructions.removeprefix(PINS_LEFT_OUT.format(count=left_out))
    work, _, index = summary.appendix.partition(INDEX_HEADING)
    if work.strip():
        parts.append({"kind": "work", "html": _summary_html(work, quotes)})
    for kind, lines in ("pins", pins), ("index", index):
        # What the user typed is plain text, not Markdown.
        entries: list[PagePart] = [m.groupdict() for m in _ENTRIES[kind].finditer(lines)]
        for entry in entries:
            # Where room is scarce, several, or the sentence that settles one.
            entry["values"] = entry["text"].split(BETWEEN)
            entry["said"] = kind == "index" and entry["text"].startswith("“")
        missing = left_out if kind == "pins" else 0
        if entries or missing:
            parts.append({"kind": kind, "entries": entries, "left_out": missing})
    return parts


def count_left_out(instructions: str) -> int:
    """How many of the standing instructions do not fit into their part of a summary's text."""
    found = _LEFT_OUT.match(instructions)
    return int(found[1]) if found else 0


def _written(chapter: Chapter, sent: str) -> Iterable[PagePart]:
    """A chapter of the record, or those that it was selected from."""
    if not chapter.parts:
        yield _chapter(sent, chapter.quotes)
        return
    kept = {each.text for each in list_statements(chapter.text)}
    for part in chapter.parts:
        text, _ = split_current_work(part.text)
        unsent = sum(each.text not in kept for each in list_statements(text))
        heading = f"**Messages #{part.first} to #{part.through}**\n\n"
        yield _chapter(heading + text, chapter.quotes) | {"unsent": unsent}


def _chapter(text: str, quotes: Sequence[Quote] = ()) -> PagePart:
    covered = CHAPTER_RANGE.match(text)
    said = text[covered.end() :] if covered else text
    numbers = {name: int(number) for name, number in covered.groupdict().items()} if covered else {}
    return {
        "kind": "chapter",
        "range": name_range(**numbers) if covered else "",
        "headline": read_headline(said),
        "html": _summary_html(said, quotes),
        **numbers,
    }


def list_chapters(compaction: Compaction) -> list[PagePart]:
    """The chapters of a version without their text: `range` in words, `headline`, `began` and
    `ended`."""
    chapters: list[PagePart] = [
        {
            "range": name_range(each["first"], each["through"]),
            "first": each["first"],
            "last": each["through"],
            "headline": read_headline(str(each.get("text", ""))),
        }
        for each in compaction.chapters
    ]
    _add_times(compaction, chapters)
    return chapters


def name_range(first: int, last: int) -> str:
    """Messages by their numbers, in words."""
    return gettext("Messages #{first} to #{last}").format(first=first, last=last)


def _add_times(compaction: Compaction, parts: Sequence[PagePart]) -> None:
    """Give each chapter the times of its first and last message, None for those that are gone."""
    ranges = [part for part in parts if "first" in part]
    numbers = [part[end] for part in ranges for end in ("first", "last")]
    rows = Message.objects.filter(conversation=compaction.conversation_id, number__in=numbers)
    times = dict(rows.values_list("number", "created_at"))
    for part in ranges:
        part |= {"began": times.get(part["first"]), "ended": times.get(part["last"])}


def render_statement(text: str) -> SafeString:
    """A statement of a summary on its own, in a dialog that its links to messages close."""
    links = '<a href="#message-'
    html = _summary_html(text).replace(links, links.replace("<a", '<a data-action="close-dialog"'))
    return mark_safe(html)


def _summary_html(text: str, quotes: Sequence[Quote] = ()) -> SafeString:
    text = drop_empty_sections(text) or text
    title, word = gettext("No message was found that supports this."), gettext("unverified")
    mark = format_html(' <span class="unverified-mark" title="{}">{}</span>', title, word)
    html = render_markdown(mark_quotes(text, quotes), RenderBudget(outline=[0]))
    return show_quotes(_UNVERIFIED.sub(lambda _: mark, html), quotes)
