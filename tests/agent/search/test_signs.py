"""What texts hold besides their words."""

import pytest

from agent.search.lexical import tokenise
from agent.search.signs import find_signs
from tests.search_texts import EXACT, NAUGHTY


def test_signs_are_found_alone_and_in_pairs() -> None:
    assert find_signs("a => b, c ==> d") == sorted(
        ["z3dz", "z3ez", "z2cz", "z3dzz3dz", "z3dzz3ez"]  # = > , == =>
    )
    assert find_signs("ünï 中 42") == []
    assert set(find_signs("=\x01>")) < set(find_signs("é=\x01>…"))


@pytest.mark.parametrize("text", [text for text in [*NAUGHTY, *EXACT] if len(text) < 60])
def test_a_text_has_the_signs_of_each_of_its_parts(text: str) -> None:
    signs = set(find_signs(text))
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            part = text[start:end]
            assert signs.issuperset(find_signs(part))
            assert find_signs(part) or tokenise(part) or part.isspace()


def test_hostile_texts_have_a_bounded_number_of_signs() -> None:
    ascii_signs = [chr(code) for code in range(33, 127) if not chr(code).isalnum()]
    text = "".join(one + other for one in ascii_signs for other in ascii_signs)
    assert len(find_signs(text)) == 32 + 32 * 32
