"""The list of queued prompts, above the message box."""

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext

from chat.models import QueuedPrompt
from chat.queries.queue import PAUSED

MOST_SHOWN = 300  # characters of a prompt: its editor fetches the whole


def render_queue(rows: Sequence[QueuedPrompt]) -> str:
    """The list; "" where nothing waits."""
    if not rows:
        return ""
    prompts = [
        {
            "row": row,
            "text": row.text[:MOST_SHOWN],
            "is_cut": len(row.text) > MOST_SHOWN,
            "files": [each.name for each in row.attachments.all()],
            "problem": "" if _is_paused(row) else _explain(row),
        }
        for row in rows
    ]
    pause = next((_explain(row) for row in rows if _is_paused(row)), "")
    return render_to_string("chat/queue/rows.html", {"prompts": prompts, "pause": pause})


def _is_paused(row: QueuedPrompt) -> bool:
    return row.problem is not None and row.problem["code"] == PAUSED


def _explain(row: QueuedPrompt) -> str:
    """Why a prompt waits for its author, in the reader's language; "" where it does not."""
    return gettext(row.problem["message"]) if row.problem else ""
