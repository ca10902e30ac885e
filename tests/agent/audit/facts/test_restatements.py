"""True restatements and lies about single messages in ten languages, each with the right number of
its message: which the rules doubt.

A doubt is cheap: the statement is given back once. So some of the true ones may be doubted, but
none is dropped. `restatements.tsv` is what the rules were tuned on. `restatements_held_out.tsv` was
written beforehand and tried when they stood; the five that failed then were mended too. The lines:
language, kind, message ("A: " where the assistant wrote it), statement.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from agent.audit.evidence import Source
from agent.audit.grounding import Verdict, check_bullet
from tests.agent.conversations import assistant, user

FILES = ("restatements.tsv", "restatements_held_out.tsv")
LANGUAGES = {"en", "de", "fr", "es", "pt", "ru", "ar", "hi", "zh", "ja"}
MOST_TRUE_DOUBTED = 0.25
# The least share of the lies that is doubted.
LANGUAGES = {"en", "de", "fr", "es", "pt", "ru", "ar", "hi", "zh", "ja"}
CERTAIN = 0.95, ("number", "unit", "currency", "name", "negation")
SHADES = 0.85, ("hedge", "tense", "quantity", "speaker", "roles")


class Restatement(NamedTuple):
    language: str
    kind: str
    said: str
    statement: str

    def judge(self) -> Verdict:
        by_assistant = self.said.startswith("A: ")
        said = (assistant if by_assistant else user)(1, self.said.removeprefix("A: "))
        source = Source([said, user(2, "How is the weather today?")])
        return check_bullet(f"- {self.statement} [#1]", source, "facts and values")


@cache
def read(name: str) -> Sequence[Restatement]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [Restatement(*line.split("\t")) for line in lines]


@pytest.mark.parametrize("name", FILES)
def test_true_statements_are_seldom_doubted_and_never_dropped(name: str) -> None:
    verdicts = {each: each.judge() for each in read(name) if each.kind == "true"}
    doubted = [each for each, verdict in verdicts.items() if not verdict.supported]
    assert not [each for each in doubted if not verdicts[each].held]
    assert len(doubted) <= MOST_TRUE_DOUBTED * len(verdicts), doubted
    assert all(verdicts[each].wrong for each in doubted), "each can be given back"


@pytest.mark.parametrize("kinds", [CERTAIN, SHADES], ids=["certain", "shades"])
@pytest.mark.parametrize("name", FILES)
def test_lies_are_doubted(name: str, kinds: tuple[float, tuple[str, ...]]) -> None:
    least, wanted = kinds
    lies = [each for each in read(name) if each.kind in wanted]
    passed = [each for each in lies if each.judge().supported]
    assert len(passed) <= (1 - least) * len(lies), passed


@pytest.mark.parametrize("name", FILES)
def test_every_language_and_kind_is_there(name: str) -> None:
    cases = read(name)
    assert {each.language for each in cases} == LANGUAGES
    assert {each.kind for each in cases} == {"true", *CERTAIN[1], *SHADES[1]}
