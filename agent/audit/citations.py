"""Mending a statement's message numbers: after a warm prefix the messages carry none, and a model
that tells them by an outline often names the neighbour.

Only the words decide. All values and names of the statement and most of its words have to stand in
one message, or in a prompt and its reply, and in no other as many. What stands in the cited message
with another value is a mistake, and no matter of its number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent.audit.evidence import (
    GOALS,
    SHARED_WORDS,
    Evidence,
    Source,
    find_citations,
    remove_citations,
    strip_citations,
)
from agent.audit.facts.names import find_names
from agent.audit.facts.speakers import SPEAKERS
from agent.audit.facts.values import Value, find_values
from agent.audit.facts.words import clean, find_content_words, is_cjk
from agent.audit.grounding import BULLET, LONGEST, REPLACED, Verdict, check_bullet, find_claims
from agent.search.exact_values import find_identifiers

NEAR = 4  # messages before and after the cited one in which it is looked for after its neighbours
MOST, MOST_AFAR = 0.6, 0.75  # share of a statement's content words that its message has
WITHOUT_CLAIMS = 0.15  # more of them, where no value or name tells
PAIRS = 0.7  # of that, where words are pairs of characters: a particle more parts two of them
FEWEST_WORDS, FEWEST_AFAR = 3, 4  # of them, where no value or name tells, and far away
MOST_TRIED = 20  # messages of a whole chapter that share the most words


class _Find(NamedTuple):
    """A message that bears a statement out, and how many of its words it has."""

    number: int
    words: int


@dataclass(frozen=True, slots=True)
class _Statement:
    """What has to stand in a message."""

    values: Sequence[Value]
    exact: Sequence[str]
    names: Sequence[str]
    words: frozenset[str]

    @classmethod
    def read(cls, body: str, source: Source) -> "_Statement":
        values, exact = find_claims(body)
        names = [
            word
            for word, begins in find_names(body)
            if word not in SPEAKERS and (not begins or source.all.knows_name(word))
        ]
        return cls(values, exact, names, frozenset(find_content_words(body)))

    @property
    def telling(self) -> int:
        """How many claims could decide where it stands."""
        return sum(not value.is_bare for value in self.values) + len(self.exact) + len(self.names)

    def lacks(self, said: Evidence) -> list[str]:
        """Its values and names that do not stand somewhere."""
        return [
            *(value.text for value in self.values if not said.backs(value)),
            *(each for each in self.exact if not said.holds(each)),
            *(each for each in self.names if not said.names(each)),
        ]

    def count_words(self, said: Evidence) -> int:
        return len(self.words & said.words)

    def stands_in(self, said: Evidence, *, afar: bool = False) -> bool:
        """Whether a text has all its values and names, and most of its words."""
        shared = self.count_words(said)
        if shared < self._most(afar) * len(self.words):
            return False
        if shared < (FEWEST_AFAR if afar else 0 if self.telling else FEWEST_WORDS):
            return False
        return not self.lacks(said)

    def _most(self, afar: bool) -> float:
        most = (MOST_AFAR if afar else MOST) + (0 if self.telling else WITHOUT_CLAIMS)
        return most * PAIRS if 2 * sum(map(is_cjk, self.words)) > len(self.words) else most

    def is_denied_a_place(self, said: Evidence) -> bool:
        """Whether a text has something else in the place of what it lacks: a value of the same
        unit, another number, identifier or name."""
        lacking = set(self.lacks(said))
        units = {u for v in self.values if v.text in lacking for u, _ in v.readings}
        days = any(value.days for value in self.values if value.text in lacking)
        own = {amount for value in self.values for amount in value.amounts}
        others = (v for v in find_values(said.text) if v.amounts.isdisjoint(own))
        if any(bool(v.days) and days or units & {u for u, _ in v.readings} for v in others):
            return True
        if not lacking.isdisjoint(self.exact):
            return any(each not in self.exact for each in find_identifiers(said.text))
        names = {word for word, begins in find_names(said.text) if not begins}
        return not lacking.isdisjoint(self.names) and bool(names.difference(self.names))


def check_with_mended_citations(line: str, source: Source, heading: str) -> tuple[str, Verdict]:
    """A bullet with the numbers of the messages that bear it out, as far as code can tell, and the
    verdict about it. Numbers are changed only where that makes nothing worse."""
    verdict = check_bullet(line, source, heading)
    mended = mend_citations(line, source, heading, doubted=not verdict.supported)
    if mended == line:
        return line, verdict
    better = check_bullet(mended, source, heading)
    if better.supported and not better.wrong and better.typed >= verdict.typed:
        return mended, better
    return line, verdict


def mend_citations(line: str, source: Source, heading: str, *, doubted: bool = True) -> str:
    """A bullet that cites other messages where only these hold what it says. `doubted`: what it
    cites was not found to bear it out."""
    cited = [number for number in find_citations(line) if number in source]
    body = clean(strip_citations(BULLET.sub("", line, count=1)))
    if (
        not find_citations(line)
        or REPLACED.match(line)
        or len(body) > LONGEST
        or not source.unreadable.isdisjoint(cited)
    ):
        return line
    search = _Search(_Statement.read(body, source), source, heading == GOALS)
    numbers = search.find(line, cited, doubted=doubted)
    if not numbers or list(numbers) == cited:
        return line
    return f"{remove_citations(line).rstrip()} [{' '.join(f'#{n}' for n in numbers)}]"


@dataclass(frozen=True, slots=True)
class _Search:
    """Where a statement stands; a goal only in what the user typed."""

    statement: _Statement
    source: Source
    typed: bool

    def find(self, line: str, cited: Sequence[int], *, doubted: bool) -> Sequence[int]:
        """The numbers that bear it out; none where the cited ones do, or nothing decides."""
        said, statement = self._look_up(line), self.statement
        if not doubted and statement.stands_in(said):
            return ()
        least = statement.count_words(said)
        if statement.is_denied_a_place(said):
            least += 1
        elif together := self._find_exchange(cited) or self._find_beside(cited, said):
            return together
        elif not statement.lacks(said):
            least += 2  # what it cites may do: a paraphrase shares few words
        for places, afar in self._list_places(cited):
            found = [
                _Find(number, statement.count_words(text))
                for number in places
                if statement.stands_in(text := self._read(number), afar=afar)
                # What the cited message has of it, the right one has too.
                and text.words.issuperset(statement.words & said.words)
            ]
            if found := [each for each in found if each.words >= least]:
                return self._choose(cited, found, afar=afar)
        return ()

    def _choose(self, cited: Sequence[int], found: Sequence[_Find], *, afar: bool) -> Sequence[int]:
        """The one with the most words, of several the nearest; none where two are as near. What
        is far away is all equally far."""

        def rank(each: _Find) -> tuple[int, int]:
            distances = () if afar else (abs(each.number - number) for number in cited)
            return each.words, -min(distances, default=0)

        best = max(map(rank, found))
        winners = [each.number for each in found if rank(each) == best]
        return self._join(cited, winners[0]) if len(winners) == 1 else ()

    def _find_exchange(self, cited: Sequence[int]) -> Sequence[int]:
        """A prompt and its reply, of which one is cited, that bear it out together."""
        for number in cited if len(cited) == 1 else ():
            for pair in ((number - 1, number), (number, number + 1)):
                if self.source.is_exchange(*pair):
                    parts = [self._read(each) for each in pair]
                    alone = any(self.statement.stands_in(part) for part in parts)
                    if not alone and self.statement.stands_in(self._look_up(_cite(pair))):
                        return pair
        return ()

    def _list_places(self, cited: Sequence[int]) -> Iterator[tuple[Sequence[int], bool]]:
        """Messages, the nearest first: those beside a cited one, the next few, and all that the
        source has, which are far."""
        for near in (1, NEAR):
            around = {c + d for c in cited for d in range(-near, near + 1)} - set(cited)
            yield sorted(number for number in around if number in self.source), False
        hits = Counter(n for word in self.statement.words for n in self.source.places.get(word, ()))
        yield [number for number, _ in hits.most_common(MOST_TRIED) if number not in cited], True

    def _find_beside(self, cited: Sequence[int], said: Evidence) -> Sequence[int]:
        """Several cited messages and one beside them that has all they lack: a statement may rest
        on more than one."""
        if len(cited) < 2:
            return ()
        lacking = set(self.statement.lacks(said))
        found = [
            number
            for number in sorted({c + d for c in cited for d in (-1, 1)} - set(cited))
            if number in self.source
            and lacking.isdisjoint(self.statement.lacks(text := self._read(number)))
            and self.statement.count_words(text) >= SHARED_WORDS
            and self.statement.stands_in(self._look_up(_cite([*cited, number])))
        ]
        return self._join(cited, found[0]) if len(found) == 1 else ()

    def _join(self, cited: Sequence[int], found: int) -> list[int]:
        """What was found, and of several cited messages those that bear more out."""
        others = cited if len(cited) > 1 else ()
        return sorted({found, *(number for number in others if self._adds(number, found))})

    def _adds(self, number: int, found: int) -> bool:
        said, known = self._read(number), self._read(found)
        more = set(self.statement.lacks(known)).difference(self.statement.lacks(said))
        return bool(more or self.statement.words & said.words - known.words)

    def _read(self, number: int) -> Evidence:
        return self._look_up(_cite([number]))

    def _look_up(self, line: str) -> Evidence:
        return self.source.look_up_typed(line) if self.typed else self.source.look_up(line)


def _cite(numbers: Iterable[int]) -> str:
    return f"x [{' '.join(f'#{number}' for number in numbers)}]"
