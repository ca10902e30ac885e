"""The names of MCP tools as the API takes them, and as their server knows them."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from agent.tools.mcp_names import MOST, declare_name, read_own_name

names = st.text(st.sampled_from("aex2_./- é\u202e"), min_size=1, max_size=200)


def test_a_name_that_the_api_takes_stays() -> None:
    assert declare_name("find_book-2") == "find_book-2"
    assert declare_name("files.read") == "files_x2e_read"


@given(names)
@example("_x2e_")
@example("_x2e.")
@example("a_x_0123abcd")
def test_every_name_can_be_declared_and_shown_as_it_was(name: str) -> None:
    declared = declare_name(name)
    assert re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{MOST}}}", declared)
    if name.isprintable() and not re.search("_x_[0-9a-f]{8}$", declared):
        assert read_own_name(declared) == name


@given(st.sets(names))
def test_no_two_names_become_one(several: set[str]) -> None:
    assert len({declare_name(name) for name in several}) == len(several)


def test_a_long_name_is_cut_and_stays_another_than_its_like() -> None:
    one, two = declare_name("a" * 200 + "1"), declare_name("a" * 200 + "2")
    assert len(one) == len(two) == MOST
    assert one != two
    assert read_own_name(one) == "a" * 85 + "…"


def test_an_escape_that_would_deceive_a_reader_is_not_shown_as_what_it_means() -> None:
    assert read_own_name(declare_name("a\u202eb")) == "a_x202e_b"
    assert read_own_name("x_x110000_y") == "x_x110000_y"
