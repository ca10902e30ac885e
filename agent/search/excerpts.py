"""The part of a text that a search hit is shown with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.search.lexical import (
    BEGUN,
    LONGEST_TOKEN,
    WORD,
    Query,
    compose,
    find_words,
    fold,
    simplify_word,
)


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
    text = compose(text)
    found = sorted(_found(text, query))
    start, end = _window(text, found, length)
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


def _found(text: str, query: Query) -> Iterator[tuple[int, int, str]]:
    """Where the query's words stand, as (start, end, token); for a query without words, where its
    text stands."""
    if not query.terms:
        bare = query.literal
        start = text.find(bare) if bare else -1
        if start >= 0:
            yield start, start + len(bare), bare
        return
    wanted = {token for term in query.terms for token in term}
    begun = tuple(token.removesuffix(BEGUN) for token in wanted if token.endswith(BEGUN))
    initials = {token[0] for token in wanted}
    for word in set(find_words(text)):
        # A stem keeps its first letter, and stemming is what takes the time.
        if word[0].isascii() and len(word) <= LONGEST_TOKEN and word[0].lower() not in initials:
            continue
        token = next(filter(wanted.__contains__, fold(word)), None)
        if token is None and begun and simplify_word(word).startswith(begun):
            token = begun[0]
        if token:
            yield from ((start, start + len(word), token) for start in _places(text, word))


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word starts that is not part of a longer one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        before, here = WORD.match(text, max(0, start - 1)), WORD.match(text, start)
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
