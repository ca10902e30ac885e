"""The part of a text that a search hit is shown with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.search.lexical import (
    BEGUN,
    LONGEST_TOKEN,
    SEARCH_WORD,
    Query,
    compose,
    find_search_words,
    fold,
    simplify_word,
)

_IRREGULAR = {"di": "dy", "li": "ly", "ti": "ty"}  # dying and so on, whose stem is that of die


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text: pieces with whether each is a hit, and whether text was left out."""

    pieces: Sequence[tuple[str, bool]]
    cut_before: bool
    cut_after: bool

    def __str__(self) -> str:
        inside = "".join(piece for piece, _ in self.pieces)
        return f"{'…' * self.cut_before}{inside}{'…' * self.cut_after}"


def make_excerpt(text: str, query: Query, length: int) -> Excerpt:
    """The `length` characters of a text that hold most of the query's words."""
    return Excerpts(query, length).make(text)


class Excerpts:
    """The excerpts of several texts for one query: what was seen to be no word of the query in one
    text is not looked at in the next."""

    def __init__(self, query: Query, length: int) -> None:
        self._query, self._length = query, length
        self._wanted = {token for term in query.terms for token in term}
        begun = (token for token in self._wanted if token.endswith(BEGUN))
        self._begun = tuple(token.removesuffix(BEGUN) for token in begun)
        starts = {token[:2] for token in self._wanted}
        self._starts = (*starts, *(_IRREGULAR[start] for start in starts & _IRREGULAR.keys()))
        self._others: set[str] = set()

    def make(self, text: str) -> Excerpt:
        text = compose(text)
        found = sorted(self._found(text))
        start, end = _window(text, found, self._length)
        pieces: list[tuple[str, bool]] = []
        at = start
        for begin, stop, _ in found:
            if begin < start or stop > end:
                continue
            if begin > at:
                pieces.append((text[at:begin], False))
            pieces.append((text[begin:stop], True))
            at = stop
        if at < end:
            pieces.append((text[at:end], False))
        return Excerpt(pieces, start > 0, end < len(text))

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where the query's words stand, as (start, end, token); for a query without words, where
        its text stands."""
        if not self._query.terms:
            bare = self._query.literal
            start = text.find(bare) if bare else -1
            if start >= 0:
                yield start, start + len(bare), bare
            return
        for word in set(find_search_words(text)) - self._others:
            if token := self._match(word):
                yield from ((start, start + len(word), token) for start in _places(text, word))
            else:
                self._others.add(word)

    def _match(self, word: str) -> str | None:
        """The token of the query that a word is."""
        start = word[:2]
        # A stem begins as its word does, and stemming is what takes the time.
        known = start.isascii() and len(word) <= LONGEST_TOKEN
        if known and not start.lower().startswith(self._starts):
            return None
        token = next(filter(self._wanted.__contains__, fold(word)), None)
        if token is None and self._begun and simplify_word(word).startswith(self._begun):
            return self._begun[0]
        return token


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word starts that is not part of a longer one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        before, here = SEARCH_WORD.match(text, max(0, start - 1)), SEARCH_WORD.match(text, start)
        if here and here.end() == end and (not start or not before or before.end() <= start):
            yield start
        start = text.find(word, end)


def _window(text: str, found: Sequence[tuple[int, int, str]], length: int) -> tuple[int, int]:
    """Start and end of the window with the most different words, cut between words."""
    if len(text) <= length:
        return 0, len(text)
    best, most, first = 0, 0, 0
    inside: dict[str, int] = {}
    for index, (_, end, token) in enumerate(found):
        inside[token] = inside.get(token, 0) + 1
        while end - found[first][0] > length and first < index:
            gone = found[first][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        if len(inside) > most:
            best, most = first, len(inside)
    begin = max(0, found[best][0] - length // 4) if found else 0
    begin = min(begin, len(text) - length)
    end = begin + length
    if begin and (space := text.find(" ", begin, begin + 20)) >= 0:
        begin = space + 1
    if end < len(text) and (space := text.rfind(" ", end - 20, end)) > begin:
        end = space
    return begin, end
