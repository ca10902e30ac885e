"""The answers that are measured against."""

import re

from markdown_it import MarkdownIt

from demo.mind.playing import cut_markdown

STAMP = "1234567890123 "


def list_blocks(text: str) -> list[str]:
    return [token.type for token in MarkdownIt().enable("table").parse(text)]


def test_stamps_change_nothing_of_the_structure() -> None:
    pieces = cut_markdown(400, 16)
    plain, stamped = "".join(pieces), "".join(piece + STAMP for piece in pieces)
    assert list_blocks(plain) == list_blocks(stamped)
    assert {"fence", "table_open", "bullet_list_open", "heading_open"} <= set(list_blocks(plain))


def test_there_are_as_many_pieces_as_asked_for_and_none_looks_like_a_stamp() -> None:
    for number in (1, 10, 1_000):
        pieces = cut_markdown(number, 16)
        assert len(pieces) == number
        assert min(map(len, pieces)) >= 16
        assert not any(re.search(r"\d{10,} ", piece) for piece in pieces)
