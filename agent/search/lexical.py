"""Lexical search without a database: words, queries, ranking.

Of the index it only wants to know which messages hold a term, so every database ranks alike.
Recall of each step is measured by `bench.recall`; docs/decisions/0005-search.md gives the reasons.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import compress
from threading import Lock
from unicodedata import category, combining, normalize

from snowballstemmer import stemmer

from agent.search.exact_values import find_identifiers

Term = tuple[str, ...]  # one token, or several that stand together
BEGUN = "*"  # after a token: one that begins so

LONGEST_TOKEN = 64  # characters; what is longer (base64, hashes) becomes several tokens
LONGEST_PHRASE = 16  # tokens; what is longer is found by its beginning
LEAST_BEGUN = 3  # characters of a word that is looked for by its beginning
LONGEST_LITERAL = 1_000  # characters; SQLite's LIKE takes 50,000 bytes
MOST_TERMS, MOST_PHRASES = 40, 10  # of a query: a pasted page asks for its first words

NEIGHBOURS = 2  # messages on each side whose scores count for one too

# Scripts without spaces between words, in which each character is a token: Thai to Khmer, then
# Chinese, Japanese and Korean.
ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
WORD = re.compile(rf"[{ALONE}]|[^\W_{ALONE}]+|[^\x00-\x7f\s]")
_BETWEEN = {code: " " for code in range(128) if not chr(code).isalnum()}
_QUOTES = '"“”'
_QUOTED = re.compile(r'"([^"]{2,400})"|“([^”]{2,400})”')
_STOP_WORDS = """
a about above after again against all also am an and any are aren as at be because been before
being below between both but by can could couldn d did didn do does doesn doing don down during
each few for from further get got had hadn has hasn have haven having he her here hers herself him
himself his how i if in into is isn it its itself just ll m many may me might more most much mustn
my myself no nor not now of off on once only or other our ours ourselves out over own please re s
same she should shouldn so some such t tell than that the their theirs them themselves then there
these they this those through to too under until up ve very was wasn we were weren what when where
which while who whom why will with won would wouldn you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_english = stemmer("english")
_stemming = Lock()  # a stemmer keeps its word in itself


# --- Words ----------------------------------------------------------------------------------------


def tokenise(text: str) -> list[str]:
    """The tokens of a text in order: ASCII letters and digits only, so that no full-text engine
    takes one apart, whatever the text holds."""
    return [token for word in find_words(compose(text)) for token in fold(word)]


def find_words(text: str) -> list[str]:
    """Everything that `WORD` matches, in order; six times as fast where the text is ASCII."""
    return text.translate(_BETWEEN).split() if text.isascii() else WORD.findall(text)


def compose(text: str) -> str:
    return text if text.isascii() else normalize("NFC", text)


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> Term:
    """One word's tokens: without case, accents and endings."""
    folded = simplify_word(word)
    if folded.isascii() and folded.isalpha() and len(folded) <= LONGEST_TOKEN:
        with _stemming:
            folded = _english.stemWord(folded)
    return tuple(folded[i : i + LONGEST_TOKEN] for i in range(0, len(folded), LONGEST_TOKEN))


def simplify_word(word: str) -> str:
    """A word without case and accents."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    return "".join(map(_character, normalize("NFKD", folded)))


def _character(character: str) -> str:
    """A character in ASCII: letters, digits and symbols stay apart from each other, accents and
    punctuation go."""
    if combining(character) or not (character.isalnum() or category(character)[0] == "S"):
        return ""
    return character if character.isascii() and character.isalnum() else spell(character)


def spell(character: str) -> str:
    return f"z{ord(character):x}z"


# --- Queries --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. `terms` is empty where a text has no words; `words` are its single words,
    each as the terms of which one is enough; `verbatim` are quoted phrases and exact values, folded
    in case."""

    text: str
    terms: tuple[Term, ...]
    words: tuple[tuple[Term, ...], ...]
    verbatim: tuple[str, ...]

    @property
    def literal(self) -> str:
        """What is looked for letter by letter where there are no words."""
        text = self.text.strip()
        quoted = len(text) > 2 and text[0] in _QUOTES and text[-1] in _QUOTES
        return (text[1:-1] if quoted else text)[:LONGEST_LITERAL]


def parse_query(text: str, *, typing: bool = False) -> Query:
    """Any text as a query. The only syntax is that quoted words belong together.
    `typing`: its last word may be only begun."""
    text = compose(text)
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    together = [*map(tokenise, quoted), *map(_strip, text.split())]
    phrases = [tuple(each[:LONGEST_PHRASE]) for each in together if len(each) > 1]
    single = [(token,) for token in _words(text)]
    begun = [(f"{last}{BEGUN}",)] if typing and (last := _last(text)) else []
    terms = dict.fromkeys([*phrases[:MOST_PHRASES], *begun, *single])
    words: list[tuple[Term, ...]] = [(term,) for term in single]
    if begun:
        *_, unfinished = find_words(text)
        finished = [term for term in single if term[0] not in fold(unfinished)]
        words = [*((term,) for term in finished), (*begun, fold(unfinished)[:1])]
    exact = {value.casefold().strip() for value in [*quoted, *find_identifiers(text)]} - {""}
    return Query(
        text,
        tuple(terms)[:MOST_TERMS],
        tuple(dict.fromkeys(words))[:MOST_TERMS],
        tuple(sorted(exact)[:MOST_PHRASES]),
    )


def list_asked(text: str) -> tuple[tuple[Term, ...], ...]:
    """What somebody types, as what a message has to hold: what stands between two spaces or in
    quotes, each as the terms of which one is enough. The last word may be only begun. Words that
    say nothing count where there are no others."""
    text = compose(text)
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    chunks = _QUOTED.sub(" ", text).split()
    together = [*map(tokenise, quoted), *map(_strip, chunks)]
    if not any(together):
        together = list(map(tokenise, chunks))
    parts = [tuple(tokens[:LONGEST_PHRASE]) for tokens in together if tokens]
    asked: list[tuple[Term, ...]] = [(part,) for part in parts]
    begun = _last(text) if chunks and text.rstrip().endswith(chunks[-1]) else ""
    if begun and parts and parts[-1] == tuple(tokenise(chunks[-1])):
        asked[-1] = parts[-1], (*parts[-1][:-1], f"{begun}{BEGUN}")
    return tuple(dict.fromkeys(asked))[:MOST_TERMS]


def _last(text: str) -> str:
    """The last word as the index would have it if it went on; "" where too little is there."""
    last = simplify_word(found[-1]) if (found := find_words(text)) else ""
    return last if LEAST_BEGUN <= len(last) <= LONGEST_TOKEN else ""


def matches_title(title: str, text: str) -> bool:
    """Whether a title holds what somebody types: the text itself, or each of its words, where the
    last may be unfinished."""
    title, text = compose(title), compose(text)
    if text.casefold() in title.casefold():
        return True
    *whole, last = find_words(text) or [""]
    held = set(tokenise(title))
    return (
        bool(last)
        and all(w.casefold() in STOP_WORDS or held.issuperset(fold(w)) for w in whole)
        and (
            held.issuperset(fold(last))
            or any(
                simplify_word(word).startswith(simplify_word(last)) for word in find_words(title)
            )
        )
    )


def _words(text: str) -> list[str]:
    """The tokens of the words that say something; of all words where none does."""
    matches = find_words(text)
    telling = [word for word in matches if word.casefold() not in STOP_WORDS]
    found = [token for word in telling for token in fold(word)]
    return found or [token for word in matches for token in fold(word)]


def _strip(chunk: str) -> list[str]:
    """The tokens of what stands between two spaces, without the s of an apostrophe and the like."""
    found = find_words(chunk)
    while found and found[-1].casefold() in STOP_WORDS:
        found.pop()
    while found and found[0].casefold() in STOP_WORDS:
        found.pop(0)
    return [token for word in found for token in fold(word)]


# --- Ranking --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of the ranking, chosen by `bench.recall`."""

    # BM25's usual two. How often a word stands in a message adds nothing to recall.
    saturation: float = 1.2
    length: float = 0.75
    # What a message gains from those one and two places away: an answer is found by its question.
    near: float = 0.55
    far: float = 0.3
    # A message with all the query's words counts up to this much more than with a few of them.
    coverage: float = 1.0
    # What people type is denser than long answers: (answers' mean length / theirs) to this power.
    typed_power: float = 0.25
    typed_most: float = 1.6
    # Exact values and quoted phrases: as terms beside their words, and verbatim in the text.
    phrase: float = 2.0
    verbatim: float = 1.0


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Documents:
    """The messages that are searched, as columns, in the order of their conversations.

    `lengths` are tokens, `typed` whether a person wrote it. Between two conversations stand
    `NEIGHBOURS` rows of length 0, so that a message's neighbours are its own conversation's.
    """

    lengths: Sequence[int]
    typed: Sequence[bool]


def weigh_terms(
    frequencies: Mapping[Term, float], number: int, weights: Weights = WEIGHTS
) -> dict[Term, float]:
    """What a message gains by a term that so many of a `number` of messages hold: the more the
    fewer; without the terms that none holds."""
    return {
        term: math.log(1 + (number - holding + 0.5) / (holding + 0.5))
        * (weights.phrase if len(term) > 1 else 1)
        for term, holding in frequencies.items()
        if holding
    }


def rank(
    documents: Documents,
    holders: Mapping[Term, Collection[int]],
    limit: int,
    weights: Weights = WEIGHTS,
    worth: Mapping[Term, float] | None = None,
) -> list[tuple[int, float]]:
    """The best documents (as indexes) with their scores, best first; `holders` tells which hold a
    term. `worth` are the terms' weights where the documents are a choice of others; by default
    their own. Lists over all documents: ten thousand are ranked in some milliseconds."""
    if worth is None:
        number = len(documents.lengths) - documents.lengths.count(0)
        frequencies = {term: len(holding) for term, holding in holders.items()}
        worth = weigh_terms(frequencies, number, weights)
    scores = _scores(documents, holders, worth, weights)
    scores = _smoothed(scores, documents.typed, _prior(documents, weights), weights)
    best = nlargest(limit, range(len(scores)), key=scores.__getitem__)
    return [(index, scores[index]) for index in best if scores[index] and documents.lengths[index]]


def _scores(
    documents: Documents,
    holders: Mapping[Term, Collection[int]],
    worth: Mapping[Term, float],
    weights: Weights,
) -> list[float]:
    """BM25 of each document, weighted by how much of the query it holds."""
    held = [0.0] * len(documents.lengths)
    number = len(held) - documents.lengths.count(0)
    for term, weight in worth.items():
        for index in holders[term]:
            held[index] += weight
    if not worth:
        return held
    everything = sum(worth.values())
    share = weights.coverage / everything
    flat = 1 + weights.saturation * (1 - weights.length)
    slope = weights.saturation * weights.length * number / max(1, sum(documents.lengths))
    return [
        weight and weight * (1 + share * weight) / (flat + slope * length)
        for weight, length in zip(held, documents.lengths, strict=True)
    ]


def _smoothed(
    scores: Sequence[float], typed: Sequence[bool], prior: float, weights: Weights
) -> list[float]:
    """Scores with what each document gains from its neighbours and its writer."""
    near, far = weights.near, weights.far
    around = [0.0] * NEIGHBOURS
    rows = [*around, *scores, *around]
    return [
        (score + near * (before + after) + far * (earlier + later)) * (prior if person else 1.0)
        for earlier, before, score, after, later, person in zip(
            rows, rows[1:], rows[2:], rows[3:], rows[4:], typed, strict=False
        )
    ]


def _prior(documents: Documents, weights: Weights) -> float:
    """How much more a typed message counts than an answer."""
    typed = [length for length in compress(documents.lengths, documents.typed) if length]
    others = len(documents.lengths) - documents.lengths.count(0) - len(typed)
    if not typed or not others:
        return 1.0
    mean = (sum(documents.lengths) - sum(typed)) / others
    ratio = math.pow(mean * len(typed) / sum(typed), weights.typed_power)
    return min(weights.typed_most, max(1.0, ratio))


def score_verbatim(query: Query, text: str, weights: Weights = WEIGHTS) -> float:
    """The factor for a text that holds the query's exact values and phrases, 1 for none."""
    if not query.verbatim:
        return 1.0
    folded = compose(text).casefold()
    held = sum(_holds(folded, value) for value in query.verbatim)
    return 1 + weights.verbatim * held / len(query.verbatim)


def _holds(text: str, value: str) -> bool:
    """Whether a value stands in a text by itself, not as a part of a longer word."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        before, after = text[start - 1 : start] if start else "", text[end : end + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (
            after.isalnum() and value[-1].isalnum()
        ):
            return True
        start = text.find(value, start + 1)
    return False
