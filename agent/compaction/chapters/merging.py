"""A merge selects: where all chapters together are too large, code chooses the statements that stay
in the record. None is rewritten and no model is asked, so that each keeps the words, the citations
and the hand edits that it had. Pure.

What no longer holds, is done or said twice goes first; then the older chapters give way, what
matters least first. Each range of messages keeps a floor, and what a person wrote goes last.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.ranks import Rank, rank_statements
from agent.compaction.chapters.statements import (
    Statement,
    find_wholes,
    join_statements,
    list_statements,
)
from agent.compaction.chapters.superseding import split_current_work
from agent.compaction.chapters.unsent import NOTHING_FITS, list_sent
from agent.context.summary import CURRENT_WORK, FACTS
from agent.messages import RawTokens
from agent.tokens import TokenCounter

# Of the limit: what a merge leaves, so that the next compactions only append and the cache holds.
LEFT = 0.6
# Tokens that a range of messages keeps where it has them, and the share of the limit that all
# floors take together. So many ranges at least; more where there is room for their floors.
FLOOR, FLOORS_SHARE, RANGES = 200, 0.5, 12


@dataclass(slots=True, eq=False)
class _Entry:
    """A statement of the chapter `of`, in the range `at`, with its tokens. `under`: the bullet that
    it is a part of, with so many above it; `holds`: how many are parts of it."""

    said: Statement
    of: int
    at: int
    tokens: int
    under: "_Entry | None" = None
    depth: int = 0
    holds: int = 0
    rank: Rank = Rank.PROSE


def select_statements(
    chapters: Sequence[Chapter], tokens: RawTokens, counter: TokenCounter
) -> tuple[list[Chapter], list[str]]:
    """The chapters with at most so many tokens of text in all, and the statements that left, in the
    order of the record. Chapters that fit stay as they are."""
    limit = int(tokens)
    if _measure(chapters, counter) <= limit:
        return list(chapters), []
    floor = min(FLOOR, int(FLOORS_SHARE * limit / RANGES))
    record = _Record(chapters, int(FLOORS_SHARE * limit / max(1, floor)), counter)
    record.choose(limit, floor)
    selected = record.list_chapters()
    while record.entries and (excess := _measure(selected, counter) - int(tokens)) > 0:
        limit -= excess  # what the marks between the statements take
        record.choose(limit, floor)
        selected = record.list_chapters()
    return selected, record.list_removed()


def keep_own_work(chapter: Chapter) -> Chapter:
    """A chapter before another comes after it. Of its current work no request will hold anything:
    what a person wrote there is a fact from now on."""
    own = set(chapter.own)
    said = list_statements(chapter.text)
    work = {each for each in said if each.heading == CURRENT_WORK and each.text in own}
    if not work:
        return chapter
    settled = (replace(each, heading=FACTS) if each in work else each for each in said)
    return replace(chapter, text=join_statements(settled))


def _measure(chapters: Sequence[Chapter], counter: TokenCounter) -> int:
    return sum(counter.count(chapter.text) for chapter in chapters)


class _Record:
    """The statements of chapters, which are `entries` while they stay, and their size by range."""

    def __init__(self, chapters: Sequence[Chapter], most: int, counter: TokenCounter) -> None:
        self._chapters = chapters
        self._counter = counter
        self._ranges = _join_oldest(chapters, most)
        self.entries: list[_Entry] = []
        self._removed: list[_Entry] = []
        self._sizes: Counter[int] = Counter()
        self._counts: Counter[int] = Counter()
        self._headings: Counter[tuple[int, str]] = Counter()
        for at, places in enumerate(self._ranges):
            for of in places:
                self._enter(of, at)
        self._rank()

    def _enter(self, of: int, at: int) -> None:
        chapter = self._chapters[of]
        if chapter.gap:
            self._sizes[at] += self._counter.count(chapter.text)
            return
        sent = list_sent(self._chapters, of)
        entries = [_Entry(said, of, at, self._counter.count(said.text) + 1) for said in sent]
        for entry, place in zip(entries, find_wholes(sent), strict=True):
            if place is not None:
                entry.under, entry.depth = entries[place], entries[place].depth + 1
                entry.under.holds += 1
            self.entries.append(entry)
            self._count(entry, 1)

    def _rank(self) -> None:
        """Say of each statement how soon it goes: a bullet not before its parts."""
        said = [entry.said for entry in self.entries]
        ranks = rank_statements(said, [entry.of for entry in self.entries], self._chapters)
        for entry, rank in zip(self.entries, ranks, strict=True):
            entry.rank = rank
        for entry in reversed(self.entries):
            if entry.under and entry.under.rank > Rank.REPLACED:
                entry.under.rank = max(entry.under.rank, entry.rank)

    def _count(self, entry: _Entry, by: int) -> None:
        """Count a statement that comes (1) or goes (-1), and a heading of it alone."""
        place = (entry.at, entry.said.heading)
        others = self._headings[place] - (by < 0)
        self._headings[place] += by
        self._counts[entry.at] += by
        heading = 0 if others else self._counter.count(entry.said.heading) + 2
        self._sizes[entry.at] += by * (entry.tokens + heading)

    def choose(self, limit: int, floor: int) -> None:
        """Take statements out until the limit is kept, ever less considerately."""
        newest = len(self._ranges) - 1

        def is_older(entry: _Entry) -> bool:
            return entry.at < newest and entry.rank < Rank.OWN

        # What no longer holds always goes: in one chapter with what replaced it, nothing marks it.
        self._remove(0, lambda entry: entry.rank == Rank.REPLACED)
        most = int(LEFT * limit)
        self._remove(most, lambda entry: is_older(entry) and entry.rank <= Rank.DOUBLED)
        self._remove(most, is_older, floor=floor)
        self._remove(limit, lambda entry: entry.rank < Rank.OWN, floor=floor)
        self._remove(limit, lambda entry: entry.rank < Rank.OWN)
        self._remove(limit, lambda _: True)
        self._remove(limit, lambda _: True, least=0)

    def _remove(
        self, goal: int, wanted: Callable[[_Entry], bool], *, floor: int = 0, least: int = 1
    ) -> None:
        """Take statements out until all have `goal` tokens, of the lowest rank the oldest first. A
        range keeps `floor` tokens where it has them, and `least` statements. A bullet goes after
        its parts, which without it would say something else."""
        order = sorted(filter(wanted, self.entries), key=lambda e: (e.rank, e.at, -e.depth))
        for entry in order:
            if self._sizes.total() <= goal:
                break
            rest = self._sizes[entry.at] - entry.tokens
            if entry.holds and entry.rank > Rank.REPLACED:
                continue
            if rest >= floor and self._counts[entry.at] > least:
                self._count(entry, -1)
                self._removed.append(entry)
                if entry.under:
                    entry.under.holds -= 1
        gone = set(map(id, self._removed))
        self.entries = [entry for entry in self.entries if id(entry) not in gone]

    def list_chapters(self) -> list[Chapter]:
        """What is left of each range."""
        kept: list[list[Statement]] = [[] for _ in self._ranges]
        for entry in self.entries:
            kept[entry.at].append(entry.said)
        cut = {entry.at for entry in self._removed}
        made: list[Chapter] = []
        for at, places in enumerate(self._ranges):
            chapters = [self._chapters[of] for of in places]
            if at in cut or len(chapters) > 1:
                made.append(_make_chapter(chapters, kept[at]))
            elif places[-1] == len(self._chapters) - 1:
                made += chapters
            else:
                made.append(_drop_current_work(chapters[0]))
        return made

    def list_removed(self) -> list[str]:
        """The statements that left, in the order of the record."""
        return [entry.said.text.strip() for entry in sorted(self._removed, key=lambda e: e.of)]


def _drop_current_work(chapter: Chapter) -> Chapter:
    """A chapter before another, of whose current work no request holds anything."""
    text, work = split_current_work(chapter.text)
    return replace(chapter, text=text, parts=chapter.written) if work else chapter


def _make_chapter(chapters: Sequence[Chapter], kept: Sequence[Statement]) -> Chapter:
    """What is kept of a range."""
    text = join_statements(kept) or NOTHING_FITS
    if len(chapters) == 1:
        made = replace(chapters[0], text=text, parts=chapters[0].written)
    else:
        depth = max(chapter.depth for chapter in chapters)
        level = max(chapter.level for chapter in chapters) + 1
        made = Chapter.join(chapters, text, depth=depth, level=level)
    texts = {each.text for each in kept}
    return replace(made, own=tuple(each for each in made.own if each in texts))


def _join_oldest(chapters: Sequence[Chapter], most: int) -> list[list[int]]:
    """The ranges, as places of chapters: at most so many before the newest. Of neighbours those are
    joined that were joined least, the oldest first; no gap is: it is written again first."""
    levels = [chapter.level for chapter in chapters[:-1]]
    ranges = [[place] for place in range(len(levels))]
    while len(ranges) > most:
        pairs = [
            n
            for n in range(len(ranges) - 1)
            if not any(chapters[of].gap for of in (*ranges[n], *ranges[n + 1]))
        ]
        if not pairs:
            break
        at = min(pairs, key=lambda n: (max(levels[n : n + 2]), n))
        ranges[at : at + 2] = [ranges[at] + ranges[at + 1]]
        levels[at : at + 2] = [max(levels[at : at + 2]) + 1]
    return [*ranges, [len(chapters) - 1]]
