"""Sentences and their clauses, and which of a text are about the same as a statement."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.audit.facts.function_words import FUNCTION_WORDS
from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.numerals import FIGURES
from agent.audit.facts.speakers import remove_speakers, says
from agent.audit.facts.tables import DENIALS
from agent.audit.facts.words import (
    IDEOGRAPH,
    STOP_WORDS,
    find_content_words,
    find_words,
    make_stem,
    strip_elision,
)

ALIKE = 0.6  # share of a statement's content words that a sentence about the same thing has
CLEARLY = 0.2  # by how much it is nearer than a sentence that says something else
MOST_NEAR = 40  # sentences whose clauses are compared
LONGEST_ASIDE = 3  # words of a clause that says only how its neighbour is meant: "I think, …"
FIRST_WORDS, FIRST_CHARACTERS = 2, 4  # at which a clause begins
SHORTEST_MEANING = 3  # letters
MEANING_NOTHING = FUNCTION_WORDS | STOP_WORDS | DENIALS
# In Chinese what denies is written together with what it denies: "need not", "must not".
_NEED_NOT = re.compile(
    "不(?:需要|可以|应该|[要用必能可得应])|无需|没必要|[还還](?:[没沒]有?|未)|尚未"
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|[。！？；।؟\n]+")
_CLAUSE = re.compile(
    r"[,;:،、，：—]|\s[–-]\s|\b(?:but|aber|sondern|mais|pero|mas|но|а|لكن|लेकिन)\b|但是?"
    r"|\s(?=ول(?:ا|م|ن|يس)\s)|\s(?=(?:and|und|et|y|e|и) (?:not|nicht|kein\w*|pas|no|não|не) )"
    r"|(?<=す)が"
)


@dataclass(frozen=True)
class Clause:
    """A sentence, or a part of one. `around` is the part with the asides beside it."""

    text: str
    around: str = ""

    @cached_property
    def words(self) -> set[str]:
        return find_content_words(self.text)

    @cached_property
    def meaning(self) -> frozenset[str]:
        """Its words in a stemmed form, short ones too, without those that only deny or name
        nothing; of Chinese and Japanese single characters."""
        words = (
            make_stem(word)
            for word in find_words(self.text)
            if word not in MEANING_NOTHING and "n't" not in word and "n’t" not in word
            if not says(word)
        )
        return frozenset(
            [each for each in words if len(each) >= SHORTEST_MEANING and each not in FUNCTION_WORDS]
            + IDEOGRAPH.findall(_NEED_NOT.sub("", remove_speakers(self.text)))
        )

    @cached_property
    def figures(self) -> frozenset[str]:
        return frozenset(FIGURES.findall(self.text))

    @cached_property
    def all_words(self) -> Sequence[str]:
        """Its words and those of the asides, in lower case and in order."""
        return [strip_elision(word) for word in find_words(self.around or self.text)]

    @cached_property
    def parts(self) -> list["Clause"]:
        """The sentence itself, and its clauses."""
        parts = [part for part in _CLAUSE.split(self.text) if part.strip()]
        if len(parts) < 2:
            return [self]
        short = [len(find_words(part)) <= LONGEST_ASIDE for part in parts]
        found = [self]
        for index, part in enumerate(parts):
            near = range(max(0, index - 1), min(len(parts), index + 2))
            kept = [parts[n] for n in near if n == index or short[n]]
            found.append(Clause(part, " ".join(kept)))
        return found

    @cached_property
    def beginning(self) -> tuple[Sequence[str], str]:
        """Its first words, and its first characters."""
        return find_words(self.text)[:FIRST_WORDS], self.text.strip()[:FIRST_CHARACTERS]

    def find(self, lexicon: Lexicon) -> str:
        """The first word of a list that stands in it or in an aside, "" for none."""
        return lexicon.find(self.all_words, self.around or self.text)


def split_sentences(text: str) -> list[Clause]:
    """The sentences of a text, each once."""
    return [Clause(part) for part in dict.fromkeys(_SENTENCE.split(text)) if part.strip()]


@dataclass(frozen=True, slots=True)
class Near:
    """The clauses that share most words with a statement: the nearest, and others that are about
    as near."""

    nearest: Clause
    others: Sequence[Clause]

    @classmethod
    def find(
        cls, statement: Clause, sentences: Sequence[Clause], alike: float = ALIKE
    ) -> "Near | None":
        """None where no sentence has so large a share of the statement's content words, of which
        there are two at least."""
        words = statement.words
        shared = [len(words & sentence.words) for sentence in sentences]
        most = max(shared, default=0)
        if len(words) < 2 or most < alike * len(words):
            return None
        enough = most - CLEARLY * len(words)
        near = [each for n, each in zip(shared, sentences, strict=True) if n >= max(enough, 1)]
        clauses = [part for each in near[:MOST_NEAR] for part in each.parts]
        # A clause of equally many shared words is nearer than the sentence around it.
        nearest = max(clauses, key=lambda each: (len(words & each.words), -len(each.text)))
        others = [each for each in clauses if enough <= len(words & each.words) < most]
        return cls(nearest, others)
