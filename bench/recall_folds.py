"""What does the ranking find in conversations that its constants were not chosen on?

`python -m bench.recall_folds --data DIRECTORY`: each dialogue of LoCoMo and BEAM in turn is left
out; from plain BM25 the constants are chosen anew on all others, one after another from a fixed
list, twice round, and those that did best there are asked the questions of the one left out.
No database: the index is kept in memory, as
`chat/services/library/search_index.py` makes it. Some minutes.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from agent.search.lexical import (
    WEIGHTS,
    Documents,
    Query,
    Term,
    Weights,
    parse_query,
    rank,
    score_verbatim,
    tokenise,
)
from bench.dialogues import Dialogue, Question, read_dialogues
from bench.report import Report

PLAIN = Weights(near=0, far=0, coverage=0, typed_power=0, phrase=1, verbatim=0)
STEPS: Mapping[str, Sequence[float]] = {
    "near": (0, 0.2, 0.4, 0.55, 0.7),
    "far": (0, 0.15, 0.3, 0.45),
    "typed_power": (0, 0.15, 0.25, 0.35, 0.5),
    "typed_most": (1.3, 1.6, 2),
    "coverage": (0, 0.5, 1, 2),
    "length": (0.5, 0.75, 0.9),
    "saturation": (0.6, 1.2, 2),
    "phrase": (1, 2, 3),
    "verbatim": (0, 0.5, 1),
}
ROUNDS = 2
CANDIDATES = 60  # as chat/queries/search.py
AIM = 0.77  # R@10 of LoCoMo


class Asked:
    """A dialogue, its index, and what its questions find with any weights."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.texts = [text for _, text, _ in dialogue.messages]
        said = [tokenise(text) for text in self.texts]
        dates = [tokenise(f"{at:%-d %B %Y}") for _, _, at in dialogue.messages]
        self._tokens = [[*date, *tokens] for date, tokens in zip(dates, said, strict=True)]
        typed = [role == "user" for role, _, _ in dialogue.messages]
        self._documents = Documents([len(tokens) for tokens in said], typed)
        self._places: dict[str, list[int]] = defaultdict(list)
        for index, tokens in enumerate(self._tokens):
            for token in set(tokens):
                self._places[token].append(index)
        self._queries = [self._query(question) for question in dialogue.questions]
        self.shares = cache(self._shares)

    def _query(self, question: Question) -> tuple[Query, dict[Term, list[int]]]:
        query = parse_query(question.text)
        return query, {term: self._holders(term) for term in query.terms}

    def _holders(self, term: Term) -> list[int]:
        first = self._places.get(term[0], [])
        return first if len(term) == 1 else [i for i in first if _stands(term, self._tokens[i])]

    def _shares(self, weights: Weights) -> list[float]:
        """R@10 of each question."""
        questions = zip(self.dialogue.questions, self._queries, strict=True)
        return [
            len(question.evidence.intersection(self._find(*asked, weights)))
            / len(question.evidence)
            for question, asked in questions
        ]

    def _find(self, query: Query, holders: Mapping[Term, list[int]], weights: Weights) -> list[int]:
        """The numbers of the first ten hits, as `chat.queries.search.find_messages` has them."""
        scored = [
            (-score * score_verbatim(query, self.texts[index], weights), index + 1)
            for index, score in rank(self._documents, holders, CANDIDATES, weights)
        ]
        return [number for _, number in sorted(scored)[:10]]


def _stands(term: Term, tokens: Sequence[str]) -> bool:
    return any(tuple(tokens[at : at + len(term)]) == term for at in range(len(tokens)))


def choose_weights(seen: Sequence[Asked]) -> Weights:
    """The weights that do best on these, one constant after another."""
    best, most = PLAIN, measure(seen, PLAIN)
    for name, values in [*STEPS.items()] * ROUNDS:
        for value in values:
            tried = replace(best, **{name: value})
            if (found := measure(seen, tried)) > most:
                best, most = tried, found
    return best


def measure(asked: Sequence[Asked], weights: Weights) -> float:
    """R@10 over all questions that count."""
    return mean([share for each in asked for share, _ in counted(each, weights)])


def counted(asked: Asked, weights: Weights) -> Iterator[tuple[float, Question]]:
    """R@10 of the questions that count."""
    for share, question in zip(asked.shares(weights), asked.dialogue.questions, strict=True):
        if question.counted:
            yield share, question


def family(asked: Asked) -> str:
    return asked.dialogue.dataset.split("_")[0]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def report_folds(report: Report, asked: Sequence[Asked]) -> None:
    """R@10 of each dialogue with the weights that the others chose, and of the shipped ones."""
    shares: dict[str, list[float]] = defaultdict(list)
    for index, each in enumerate(asked):
        chosen = choose_weights([other for other in asked if other is not each])
        print(f"without {index + 1}: {asdict(chosen)}")
        here = [share for share, _ in counted(each, chosen)]
        report.add(f"{family(each)}.{index + 1}.r10", mean(here), "share")
        shares[f"{family(each)}.unseen"] += here
        shares[f"{family(each)}.shipped"] += [share for share, _ in counted(each, WEIGHTS)]
        for share, question in zip(each.shares(chosen), each.dialogue.questions, strict=True):
            shares[f"{family(each)}.unseen.{question.category}"].append(share)
    for name, found in sorted(shares.items()):
        goal = AIM if name == "locomo.unseen" else None
        report.add(f"{name}.r10", mean(found), "share", at_least=goal)


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.recall_folds", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="holds locomo/ and beam/")
    options = parser.parse_args()
    asked = [Asked(dialogue) for dialogue in read_dialogues(options.data)]
    if len(asked) < 2:
        parser.error(f"fewer than two dialogues in {options.data}")
    report = Report("Recall in unseen conversations")
    report_folds(report, asked)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
