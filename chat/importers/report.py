"""What became of everything in an import. Pure: it knows no database.

As it is stored (`ImportJob.report`): `format` and `label` of the files; `totals`; `conversations`,
a list of entries; `unlisted`, how many more there were. Totals and entries hold only what is not 0:

- `new`, `continued`, `known`, `skipped`: conversations; of an entry one of them is its `state`;
- `kept`: messages that could be used; of these `added` are new, and `beside` not shown;
- `hidden`, `dropped`: messages by reason; `unknown`: content by its type, kept as it stands there;
- `files`: kept ones; `missing` (their bytes are not in the export) and `lost` (they cannot be kept,
  with the reason): in entries their names, in totals how many;
- of an entry also `title`, `origin` (its id there), `id` (here), and `reason` where it was skipped;
- of totals also `projects`, `offers`, `facts`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chat.importers.records import Tally

Entry = dict[str, Any]

MOST_LISTED = 20_000  # entries: 5 MB of JSON
MOST_NAMES = 100  # of the files of one entry
COLUMNS = (
    *("title", "origin", "state", "id", "kept", "added", "beside"),
    *("hidden", "dropped", "unknown", "files", "missing", "lost", "reason"),
)


class Report:
    """Collects what becomes of the parts of an import."""

    def __init__(self) -> None:
        self.name = ""
        self.label = ""
        self._totals: Counter[str] = Counter()
        self._hidden: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._entries: list[Entry] = []
        self._candidates = 0  # parts that looked like conversations
        self._reasons: Counter[str] = Counter()  # why some were none

    def add_conversation(
        self,
        title: str,
        origin: str,
        tally: Tally,
        *,
        state: str,
        id: str,
        added: int = 0,
        beside: int = 0,
        files: int = 0,
        lost: Sequence[str] = (),
    ) -> None:
        """`state`: new, continued or known."""
        self._candidates += 1
        counts = {"kept": tally.kept, "added": added, "beside": beside, "files": files}
        self._count(tally)
        self._totals.update({state: 1, "lost": len(lost), **counts})
        self._list(
            {
                "title": title[:200],
                "origin": origin[:200],
                "state": state,
                "id": id,
                **counts,
                "hidden": dict(tally.hidden),
                "dropped": dict(tally.dropped),
                "unknown": dict(tally.unknown),
                "missing": tally.missing[:MOST_NAMES],
                "lost": list(lost[:MOST_NAMES]),
            }
        )

    def skip(self, name: str, reason: str, *, candidate: bool = True, origin: str = "") -> None:
        """A part of which nothing was kept."""
        self._totals["skipped"] += 1
        self._candidates += candidate
        self._reasons[reason] += candidate
        entry = {"title": name[:200], "origin": origin[:200], "state": "skipped"}
        self._list(entry | {"reason": reason})

    def add_project(self, name: str, lost: Sequence[str]) -> None:
        self._totals.update({"projects": 1, "lost": len(lost)})
        if lost:
            self._list({"title": name, "state": "project", "lost": list(lost[:MOST_NAMES])})

    def add_facts(self, count: int) -> None:
        """What is remembered from now on."""
        self._totals["facts"] += count

    def add_offers(self, count: int) -> None:
        self._totals["offers"] += count

    @property
    def conversations(self) -> int:
        """Those of which something was kept, now or before."""
        return sum(self._totals[state] for state in ("new", "continued", "known"))

    @property
    def is_empty(self) -> bool:
        """Whether nothing in it was of any use."""
        others = ("projects", "offers", "facts")
        return not (self.conversations or any(self._totals[name] for name in others))

    @property
    def has_failed(self) -> bool:
        """Whether there were conversations to be had, or nothing else, and none was."""
        return self.is_empty or bool(self._candidates and not self.conversations)

    @property
    def reasons(self) -> list[str]:
        """Why conversations were skipped, the most frequent reason first."""
        return [reason for reason, count in self._reasons.most_common() if count]

    def totals(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: count for name, count in self._totals.items() if count}
        groups = {"hidden": self._hidden, "dropped": self._dropped, "unknown": self._unknown}
        return found | {name: dict(group) for name, group in groups.items() if group}

    def describe(self) -> dict[str, Any]:
        """The whole, as it is stored."""
        unlisted = sum(self._totals[s] for s in ("new", "continued", "known", "skipped"))
        unlisted -= sum(entry["state"] != "project" for entry in self._entries)
        return {
            "format": self.name,
            "label": self.label,
            "totals": self.totals(),
            "conversations": self._entries,
            "unlisted": unlisted,
        }

    def _count(self, tally: Tally) -> None:
        self._hidden += tally.hidden
        self._dropped += tally.dropped
        self._unknown += tally.unknown
        self._totals["missing"] += len(tally.missing)

    def _list(self, entry: Entry) -> None:
        if len(self._entries) < MOST_LISTED:
            self._entries.append({name: value for name, value in entry.items() if value})


def list_rows(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """A stored report as a table: its head, and a row for each entry."""
    yield list(COLUMNS)
    for entry in report.get("conversations", ()):
        yield [_cell(entry.get(column, "")) for column in COLUMNS]


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{reason}: {count}" for reason, count in value.items())
    return "; ".join(value) if isinstance(value, list) else str(value)
