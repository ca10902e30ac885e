"""HTTP: what left the summary of a conversation, listed and put back."""

from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from agent.compaction.chapters.unsent import Unsent, list_unsent
from chat.errors import Refused
from chat.html.divider import name_range, render_statement
from chat.models import Compaction
from chat.queries.summary_versions import read_chapters
from chat.services.summary.put_back import put_back_statement
from chat.web.access import explain_refusal
from chat.web.summary import find_version

# Statements that are shown at once; of more only those of the range that is asked for.
MOST_SHOWN = 40


@login_required
@require_http_methods(["GET", "POST"])
def summary_left(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """The dialog, with the statements of the range that begins with message `of` where they are
    many; POST puts the one of a `key` back. The dialog then shows the new version."""
    row = find_version(request, pk, version)
    if request.method == "GET":
        of = request.GET.get("of", "")
        return _dialog(request, row, of=of, place=0 if of else None)
    of, key = request.POST.get("of", ""), request.POST.get("key", "")
    try:
        made = put_back_statement(row.pk, key)
    except Refused as refusal:
        return _dialog(request, row, of=of, error=explain_refusal(refusal))
    keys = _list_keys(group_by_range(list_unsent(read_chapters(row)), of))
    return _dialog(request, made, of=of, done=True, place=keys.index(key) if key in keys else 0)


def _dialog(
    request: HttpRequest,
    row: Compaction,
    *,
    of: str,
    error: str = "",
    done: bool = False,
    place: int | None = None,
) -> HttpResponse:
    """`place`: that of the statement that gets the focus, among those that are shown; what was put
    back leaves its own to the next one."""
    left = list_unsent(read_chapters(row))
    ranges = group_by_range(left, of)
    keys = _list_keys(ranges)
    context = {
        "conversation": row.conversation,
        "version": row,
        "count": len(left),
        "ranges": ranges,
        "focused": "" if place is None or not keys else keys[min(place, len(keys) - 1)],
        "of": of,
        "error": error,
        "done": done,
    }
    status = 422 if error else 200
    return render(request, "chat/dialogs/summary_left.html", context, status=status)


def _list_keys(ranges: list[dict[str, Any]]) -> list[str]:
    return [each["key"] for part in ranges for each in part["statements"]]


def group_by_range(left: list[Unsent], of: str) -> list[dict[str, Any]]:
    """The parts that something left, the newest first: `range` in words, `first` as text, `count`,
    and the `statements` where they are shown."""
    ranges: list[dict[str, Any]] = []
    for (first, through), group in groupby(left, key=lambda each: (each.first, each.through)):
        statements = [
            {
                "key": each.key,
                "html": partial(render_statement, each.text),  # where the template shows it
                "heading": each.statement.heading.lstrip("# "),
            }
            for each in group
        ]
        shown = len(left) <= MOST_SHOWN or of == str(first)
        ranges.append(
            {
                "range": name_range(first, through),
                "first": str(first),
                "count": len(statements),
                "statements": statements if shown else [],
            }
        )
    return ranges[::-1]
