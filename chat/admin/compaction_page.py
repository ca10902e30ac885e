"""The page of one compaction in the administration: what it read, wrote, and got wrong."""

from typing import Any

from django.db.models import QuerySet

from agent.compaction.chapters.differences import compare_summaries, count_changes
from agent.compaction.chapters.unsent import list_unsent
from agent.compaction.instructions.pins import Pin, PinState
from agent.compaction.policy import Method
from chat.admin.base import list_details, list_url, render_summary_html, with_previews
from chat.html.compaction_words import describe_cause
from chat.models import Compaction, Message
from chat.queries.summary_versions import list_quotes, read_chapters
from spending.calls import read_usage
from spending.models import ModelCall
from spending.queries import add_up_all

MAX_COVERED = 200  # messages on a compaction's page
MAX_LEFT = 200  # statements that left the summary
OPENING = 100  # characters of a chapter in the table
# Lists of the audit, in words.
FINDINGS = {
    "failures": "What was tried before, and why it failed",
    "given_back": "Statements that the model was asked to correct",
    "dropped": "Statements that were dropped, because nothing supports them",
    "borne_out": "Statements that were doubted, and that the words of a message bear out",
    "unverified": "Unverified statements: the messages that they name do not say so",
    "not_pinned": "Standing instructions that the model named or took back, and that stand nowhere",
    "left_out": "Messages that no model has read whole",
    "unwritten": "Parts that are missing or incomplete, because a reply reached its limit",
    "cut": "Statements that were left out, because the summary was over its limit",
    "left": "Statements that left the record, because all chapters together were over their limit",
    "ended": "Current work of the chapter before, which is no longer sent",
}


def describe_compaction(compaction: Compaction) -> dict[str, Any]:
    """What its template shows of a compaction."""
    covered = _covered(compaction)
    total = covered.count()
    left = list_unsent(read_chapters(compaction))
    usage = read_usage(add_up_all(ModelCall.objects.filter(compaction=compaction.pk)))
    return {
        **_compare(compaction),
        "summary": render_summary_html(
            compaction.conversation_id, compaction.summary, list_quotes(compaction)
        ),
        "left": left[-MAX_LEFT:],
        "left_total": len(left),
        "left_more": max(0, len(left) - MAX_LEFT),
        "chapters": [_chapter(chapter) for chapter in compaction.chapters],
        "covered": with_previews(covered)[:MAX_COVERED],
        "covered_total": total,
        "covered_more": max(0, total - MAX_COVERED),
        "covered_url": list_url(
            Message,
            conversation=compaction.conversation_id,
            position__gte=compaction.first.position,
            position__lte=compaction.through.position,
        ),
        "usage": list_details(usage.as_dict() if usage.total else None),
        "findings": _findings(compaction),
        "audit": list_details({k: v for k, v in compaction.audit.items() if k not in FINDINGS}),
    }


def _compare(compaction: Compaction) -> dict[str, Any]:
    """Of a summary that was written again and not decided on: that it is `waiting`, and once it is
    written, what it says otherwise than the current one."""
    states = (Compaction.Status.RUNNING, Compaction.Status.READY)
    if compaction.origin != Compaction.Origin.REWRITE or compaction.status not in states:
        return {}
    current = compaction.conversation.compaction
    if compaction.status == Compaction.Status.RUNNING:
        return {"waiting": True}
    sections = compare_summaries(current.summary if current else "", compaction.summary)
    return {
        "waiting": True,
        "compared": current,
        "moved_on": compaction.conversation.compaction_id != compaction.replaces_id,
        "sections": sections,
        "counts": count_changes(sections),
    }


def _covered(compaction: Compaction) -> QuerySet[Message]:
    """The messages that it read: on the branch of its last one, as far as that can be told."""
    covered = Message.objects.filter(
        conversation=compaction.conversation_id,
        position__range=(compaction.first.position, compaction.through.position),
        number__lte=compaction.through.number,
    )
    if compaction.through.active:
        covered = covered.filter(active=True)
    return covered.order_by("number")


def _findings(compaction: Compaction) -> list[tuple[str, list[str]]]:
    """The lists of the audit that hold something, each under its words."""
    found = []
    for name, words in FINDINGS.items():
        lines = compaction.audit.get(name)
        if isinstance(lines, list) and lines:
            if name == "dropped" and compaction.method == Method.EDITED:
                words = "Statements that nothing supports; they are only reported"
            found.append((words, [_finding(line) for line in lines]))
    return found


def _finding(line: str | dict[str, str]) -> str:
    """A bullet of the summary, or what was tried and why it failed."""
    if isinstance(line, dict):
        cause = describe_cause(line)
        return f"{line['step'].capitalize()}: {cause}." if line["step"] else f"{cause}."
    return line.lstrip("-*+ ")


def _chapter(chapter: dict[str, Any]) -> dict[str, Any]:
    text = str(chapter.get("text", ""))
    lines = (line.strip("#-* ") for line in text.splitlines() if not line.startswith("#"))
    return chapter | {
        "depth": chapter.get("depth", 1),
        "level": chapter.get("level", 1),
        "pins_count": sum(
            Pin.from_list(pin).state == PinState.STANDING for pin in chapter.get("pins", ())
        ),
        "index_count": len(chapter.get("index", ())),
        "characters": len(text),
        "opening": next(filter(None, lines), "")[:OPENING],
    }
