"""Texts that are shortened."""

import pytest

from agent.context.shortening.text_previews import shorten_text


@pytest.mark.parametrize(
    ("text", "characters", "short"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 8, "one two …"),
        ("release 4.2.11 is out", 12, "release …"),
        ("次のファイルを見てください", 7, "次のファイルを …"),
        ("版本 4.2.11 已经发布", 8, "版本 …"),
        ("x" * 50, 10, " …"),
    ],
)
def test_a_text_is_cut_between_words_also_in_scripts_without_spaces(
    text: str, characters: int, short: str
) -> None:
    """Half a name or number would be a false one."""
    assert shorten_text(text, characters) == short
