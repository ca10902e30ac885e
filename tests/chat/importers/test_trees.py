"""Trees of messages: nothing is lost, nothing goes round in circles."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.importers.trees import Node, Tree, read_time

IDS = [f"m{number}" for number in range(12)]
parents = st.one_of(st.none(), st.sampled_from([*IDS, "unknown"]))
moments = st.one_of(
    st.none(), st.integers(1, 50).map(lambda second: datetime.fromtimestamp(second, UTC))
)
nodes = st.lists(
    st.builds(Node, st.sampled_from(IDS), parents, st.booleans(), moments), max_size=20
)


def ancestors(tree: Tree[Any], each: str) -> list[str]:
    found = []
    parent = tree.nodes[each].parent
    while parent is not None:
        found.append(parent)
        assert len(found) <= len(tree.nodes), "a circle"
        parent = tree.nodes[parent].parent
    return found


@given(nodes)
def test_every_node_stands_once_and_after_its_parent(given_nodes: list[Node[bool]]) -> None:
    tree = Tree(given_nodes)
    assert len(tree.nodes) == len(given_nodes)
    placed: set[str] = set()
    for each, node in tree.nodes.items():
        assert node.parent is None or node.parent in placed
        placed.add(each)


@given(nodes)
def test_what_is_kept_stands_on_its_nearest_kept_ancestor(given_nodes: list[Node[bool]]) -> None:
    whole = Tree(given_nodes)
    kept = whole.keep(lambda node: node.value)
    assert set(kept.nodes) == {each for each, node in whole.nodes.items() if node.value}
    for each, node in kept.nodes.items():
        above = [other for other in ancestors(whole, each) if whole.nodes[other].value]
        assert node.parent == (above[0] if above else None)


@given(nodes, st.sampled_from([*IDS, "unknown", None]))
def test_the_branch_that_is_shown_ends_at_a_kept_node(
    given_nodes: list[Node[bool]], named: str | None
) -> None:
    whole = Tree(given_nodes)
    kept = whole.keep(lambda node: node.value)
    leaf = kept.find_leaf(named, whole)
    assert (leaf is None) == (not kept.nodes)
    if named in kept.nodes:
        assert leaf == named


@given(nodes)
def test_a_node_without_a_time_has_that_of_its_parent(given_nodes: list[Node[bool]]) -> None:
    begun = datetime(2020, 1, 1, tzinfo=UTC)
    tree = Tree(given_nodes, begun=begun)
    for node in tree.nodes.values():
        above = tree.nodes[node.parent].at if node.parent else begun
        stated = [each.at for each in given_nodes if each.id == node.id.partition("#")[0]]
        assert node.at in stated or node.at == above


def test_branches_come_in_the_order_in_which_they_were_written() -> None:
    def at(second: int) -> datetime:
        return datetime.fromtimestamp(second, UTC)

    tree = Tree(
        [
            Node("late", "root", None, at(30)),
            Node("early", "root", None, at(10)),
            Node("reply", "early", None, at(20)),
            Node("root", None, None, at(5)),
            # Some milliseconds before what it answers, as exports have it.
            Node("answer", "late", None, at(29)),
        ]
    )
    assert list(tree.nodes) == ["root", "early", "reply", "late", "answer"]


def test_chains_may_be_as_deep_as_they_are_long() -> None:
    deep = Tree(Node(str(i), str(i - 1), i) for i in range(30_000))
    kept = deep.keep(lambda node: node.value in (0, 29_999))
    assert kept.nodes["29999"].parent == "0"
    assert len(deep.path_to("29999")) == 30_000


def test_ids_of_any_length_can_be_stored() -> None:
    long, other = "x" * 5_000, "x" * 5_001
    tree = Tree([Node(long, None, 1), Node(other, long, 2), Node("end", other, 3)])
    assert [len(each) <= 150 for each in tree.nodes] == [True] * 3
    assert len(tree.path_to("end")) == 3
    assert tree.find_leaf(long) == next(iter(tree.nodes))


def test_the_newest_leaf_is_shown_where_none_is_named() -> None:
    old, new = (datetime(year, 1, 1, tzinfo=UTC) for year in (2024, 2025))
    answers = [Node("new", "root", None, new), Node("old", "root", None, old)]
    assert Tree([Node("root", None, None), *answers]).find_leaf("gone") == "new"
    undated = [Node("first", "root", None), Node("second", "root", None)]
    assert Tree([Node("root", None, None), *undated]).find_leaf(None) == "second"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_750_000_000, "2025-06-15T15:06:40+00:00"),
        (1_750_000_000.25, "2025-06-15T15:06:40.250000+00:00"),
        (1_750_000_000_000, "2025-06-15T15:06:40+00:00"),
        ("1750000000", "2025-06-15T15:06:40+00:00"),
        ("2025-06-15T15:06:40Z", "2025-06-15T15:06:40+00:00"),
        ("2025-06-15T17:06:40+02:00", "2025-06-15T15:06:40+00:00"),
        ("2025-06-15 15:06:40", "2025-06-15T15:06:40+00:00"),
    ],
)
def test_times_are_seconds_milliseconds_or_iso(value: Any, expected: str) -> None:
    moment = read_time(value)
    assert moment
    assert moment.isoformat() == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -5,
        math.nan,
        math.inf,
        10**400,
        4_200_000_000,
        "",
        "soon",
        "nan",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        [],
        {},
    ],
)
def test_what_is_no_time_is_none(value: Any) -> None:
    assert read_time(value) is None
