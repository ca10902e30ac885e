"""After three thousand messages the next request still has what was settled in the first tenth."""

import pytest

from bench.life import REVERSALS, WRITERS, judge, live


@pytest.mark.parametrize(
    ("seed", "language", "writer"),
    [(11, "en", "sorted"), (13, "zh", "one heading")],
)
def test_a_writer_that_drops_half_loses_little_of_what_was_settled(
    seed: int, language: str, writer: str
) -> None:
    life, plants = live(seed, language=language, headings=WRITERS[writer])
    assert len(life.texts) > 60
    found = judge(life, plants)
    assert found.standing >= 14, found.missing
    assert found.current == REVERSALS, found.missing
    assert found.stale == []
