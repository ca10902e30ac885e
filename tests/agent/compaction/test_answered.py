"""True restatements and lies in ten languages, after a model has answered for what is doubted."""

from collections.abc import Sequence

import pytest

from bench.restatements import (
    CERTAIN,
    LESS_CERTAIN,
    MOST_CERTAIN,
    MOST_LESS_CERTAIN,
    MOST_MARKED,
    Restatement,
    judge,
    judge_answered,
    read_restatements,
)

CASES = read_restatements()
TRUE = [case for case in CASES if case.true]
LIES = [case for case in CASES if not case.true]


def count_share(outcome: str, cases: Sequence[Restatement]) -> float:
    return [judge_answered(case) for case in cases].count(outcome) / len(cases)


def test_the_corpus_has_many_of_both_kinds_in_each_language() -> None:
    languages = {case.language for case in CASES}
    assert len(languages) == 10
    assert all(sum(case.language == each for case in TRUE) >= 7 for each in languages)
    assert all(sum(case.language == each for case in LIES) >= 12 for each in languages)


@pytest.mark.parametrize("lie", LIES, ids=lambda case: f"{case.language} {case.kind}")
def test_no_lie_passes_because_it_is_repeated_with_a_quote(lie: Restatement) -> None:
    assert judge(lie) == "passed" or judge_answered(lie) == "marked"


def test_what_an_honest_model_answers_for_is_neither_dropped_nor_marked() -> None:
    assert count_share("dropped", TRUE) == 0
    assert count_share("marked", TRUE) <= MOST_MARKED


def test_few_lies_pass() -> None:
    certain = [case for case in LIES if case.kind in CERTAIN]
    assert count_share("passed", certain) <= MOST_CERTAIN
    less_certain = [case for case in LIES if case.kind in LESS_CERTAIN]
    assert count_share("passed", less_certain) <= MOST_LESS_CERTAIN
