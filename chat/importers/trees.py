"""Messages that name the message before them, as a tree that can be trusted. Pure.

Exports name parents that are not in them, name them in circles, and lose messages that others stand
on. Only the parents count: lists of children are often missing or wrong. Chains are thousands of
messages deep, so nothing here calls itself.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")

LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()  # what is later is no time
LONGEST_ID = 150  # characters; a column has 200, and ours are made longer by a word
MILLISECONDS_FROM = 1e11  # in seconds the year 5138, in milliseconds 1973


@dataclass(frozen=True, slots=True)
class Node(Generic[Value]):
    """One message of an export: `value` is the format's own."""

    id: str
    parent: str | None
    value: Value
    at: datetime | None = None


class Tree(Generic[Value]):
    """Nodes, each after its parent, and as far as that allows in the order of their times and of
    the file. A parent that is unknown or names its own descendant counts as none. Of several nodes
    with one id the later ones get an id of their own, and a very long one is shortened. A node
    without a time has its parent's, or else `begun`."""

    def __init__(self, nodes: Iterable[Node[Value]], *, begun: datetime | None = None) -> None:
        found = _tell_apart(nodes)
        parents = _break_cycles({each.id: _shorten(each.parent) for each in found.values()})
        children: dict[str | None, list[str]] = {}
        for each, parent in parents.items():
            children.setdefault(parent, []).append(each)
        self.nodes: dict[str, Node[Value]] = {}
        self._file_order = {each: place for place, each in enumerate(found)}
        waiting: list[tuple[float, int, Node[Value]]] = []

        def add_children(parent: str | None, at: datetime | None, not_before: float) -> None:
            for each in children.get(parent, ()):
                own = found[each].at or at
                node = replace(found[each], parent=parent, at=own)
                when = max(not_before, own.timestamp() if own else 0.0)
                heappush(waiting, (when, self._file_order[each], node))

        add_children(None, begun, 0.0)
        while waiting:
            when, _, node = heappop(waiting)
            self.nodes[node.id] = node
            add_children(node.id, node.at, when)

    def keep(self, is_kept: Callable[[Node[Value]], bool]) -> Self:
        """The tree without some of its nodes: the nearest kept ancestor is the parent of what stood
        on them."""
        nearest: dict[str | None, str | None] = {None: None}
        kept = []
        for node in self.nodes.values():
            parent = nearest[node.parent]
            if is_kept(node):
                kept.append(replace(node, parent=parent))
                nearest[node.id] = node.id
            else:
                nearest[node.id] = parent
        kept.sort(key=lambda node: self._file_order[node.id])
        return type(self)(kept)

    def count_children(self) -> dict[str, int]:
        """Of each node that has any."""
        counts: dict[str, int] = {}
        for node in self.nodes.values():
            if node.parent is not None:
                counts[node.parent] = counts.get(node.parent, 0) + 1
        return counts

    def path_to(self, leaf: str | None) -> list[str]:
        """From the beginning to a node."""
        path = []
        while leaf is not None:
            path.append(leaf)
            leaf = self.nodes[leaf].parent
        return path[::-1]

    def find_nearest(self, named: str | None, whole: "Tree[Any]") -> str | None:
        """The named node, or where it was not kept of the `whole` tree the nearest one before it
        that was; None: there is none."""
        named = _shorten(named)
        while named is not None and named not in self.nodes:
            before = whole.nodes.get(named)
            named = before.parent if before else None
        return named

    def find_leaf(self, named: str | None, whole: "Tree[Any] | None" = None) -> str | None:
        """The end of the branch to show: the named node, or the nearest one before it (see
        `find_nearest`); else the newest leaf, and of those of one age the last of the file. None:
        the tree is empty."""
        if nearest := self.find_nearest(named, whole or self):
            return nearest
        parents = {node.parent for node in self.nodes.values()}
        leaves = [node for node in self.nodes.values() if node.id not in parents]
        newest = max(leaves, key=self._age, default=None)
        return newest.id if newest else None

    def _age(self, node: Node[Value]) -> tuple[float, int]:
        return node.at.timestamp() if node.at else 0.0, self._file_order[node.id]


def _tell_apart(nodes: Iterable[Node[Value]]) -> dict[str, Node[Value]]:
    """By an id that no other has."""
    found: dict[str, Node[Value]] = {}
    counts: Counter[str] = Counter()
    for node in nodes:
        wanted = identity = _shorten(node.id)
        while identity in found:
            counts[wanted] += 1
            identity = f"{wanted}#{counts[wanted] + 1}"
        found[identity] = replace(node, id=identity)
    return found


@overload
def _shorten(identity: str) -> str: ...
@overload
def _shorten(identity: str | None) -> str | None: ...
def _shorten(identity: str | None) -> str | None:
    """An id that can be stored, whatever an export has in its place."""
    if identity is None or len(identity) <= LONGEST_ID:
        return identity
    return hashlib.sha256(identity.encode()).hexdigest()


def _break_cycles(parents: Mapping[str, str | None]) -> dict[str, str | None]:
    """The same without unknown parents, and without the first link, in the order of the file, that
    closes each circle."""
    known = {each: parent if parent in parents else None for each, parent in parents.items()}
    safe: set[str | None] = {None}
    for start in known:
        walked: set[str] = set()
        current: str | None = start
        while current not in safe:
            assert current is not None
            walked.add(current)
            if known[current] in walked:
                known[current] = None
            current = known[current]
        safe |= walked
    return known


def read_time(value: Any) -> datetime | None:
    """From seconds or milliseconds since 1970, or ISO 8601; None for everything that is no time,
    such as NaN, nothing, or the year 9999."""
    try:
        seconds = _read_seconds(value)
    except (ValueError, OverflowError):
        return None
    if not (math.isfinite(seconds) and 0 < seconds < LATEST):
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _read_seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        number = float(value)
    except ValueError:
        moment = datetime.fromisoformat(str(value).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return number / 1000 if number >= MILLISECONDS_FROM else number
