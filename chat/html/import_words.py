"""The report of an import in words for its owner."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_lazy

# What of the totals a page shows, in order.
FIGURES = {
    "new": gettext_lazy("New conversations"),
    "continued": gettext_lazy("With new messages"),
    "known": gettext_lazy("Known already"),
    "skipped": gettext_lazy("Not imported"),
    "kept": gettext_lazy("Messages read"),
    "added": gettext_lazy("New messages"),
    "beside": gettext_lazy("On other branches"),
    "projects": gettext_lazy("Projects"),
    "facts": gettext_lazy("Facts remembered"),
    "files": gettext_lazy("Files kept"),
    "missing": gettext_lazy("Files not in the export"),
    "lost": gettext_lazy("Files not kept"),
}
GROUPS = {
    "hidden": gettext_lazy("Read, and not shown"),
    "dropped": gettext_lazy("Left out"),
    "unknown": gettext_lazy("Of an unknown type, kept as it stands there"),
}
OUTCOMES = {
    "new": gettext_lazy("New"),
    "continued": gettext_lazy("Goes on"),
    "known": gettext_lazy("Known already"),
    "skipped": gettext_lazy("Not imported"),
    "project": gettext_lazy("Project"),
}
NAMES = 5  # of files that a line lists


def count_conversations(totals: Mapping[str, Any]) -> int:
    return sum(totals.get(state, 0) for state in ("new", "continued", "known"))


def list_figures(totals: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(str(FIGURES[name]), f"{totals[name]:,}") for name in FIGURES if totals.get(name)]


def list_groups(totals: Mapping[str, Any]) -> list[tuple[str, Mapping[str, int]]]:
    """What was hidden and dropped, by reason."""
    return [
        (str(GROUPS[name]), {gettext(reason): count for reason, count in totals[name].items()})
        for name in GROUPS
        if totals.get(name)
    ]


def explain_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with its `name`, `outcome` and `notes` in words."""
    notes = [gettext(entry["reason"])] if entry.get("reason") else []
    if beside := entry.get("beside"):
        words = gettext("{count} on a branch that is not shown: it was gone on with here")
        notes.append(words.format(count=beside))
    if missing := entry.get("missing"):
        notes.append(gettext("Not in the export: {names}").format(names=_join(missing)))
    notes += entry.get("lost", [])[:NAMES]
    dropped = entry.get("dropped", {})
    notes += [gettext(reason) + f": {count}" for reason, count in dropped.items()]
    name = entry.get("title") or entry.get("origin") or gettext("Untitled")
    outcome = OUTCOMES.get(entry["state"], entry["state"])
    return {**entry, "name": name, "outcome": outcome, "notes": notes}


def _join(names: Sequence[str]) -> str:
    more = len(names) - NAMES
    return ", ".join(names[:NAMES]) + (f" (+{more})" if more > 0 else "")
