"""A statement laid beside the nearest sentence: what took the place of something else, and what
changed places."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from agent.compaction.facts.clauses import Clause
from agent.compaction.facts.function_words import FUNCTION_WORDS, SYMMETRIC
from agent.compaction.facts.names import find_names, is_german
from agent.compaction.facts.relative import names_day
from agent.compaction.facts.speakers import SPEAKERS
from agent.compaction.facts.words import (
    CJK,
    TOKEN,
    is_caseless,
    is_cjk,
    is_cyrillic,
    is_same_word,
)

MOST_COMPARED = 400  # tokens of two sentences, in all
MOST_REPLACED = 4  # of them in one place
MOST_CHARACTERS = 8  # of what was replaced, where no spaces tell words apart
BESIDE = 2  # equal tokens on a side that fix a place
MOST_SWAPPED = 60  # tokens of a sentence in which two may have changed places
MOST_BETWEEN = 6  # tokens between the two
# Characters of a name, and between two, where no spaces tell words apart.
LONGEST_PART, LONGEST_BETWEEN = 7, 12
KEY = 2  # letters that are equal in all forms of a word
# Before who does it, where the sentence is turned round: "by", "von".
_PASSIVE = frozenset(
    ["by", "von", "vom", "durch", "par", "por", "pelo", "pela", "pelos", "pelas", "द्वारा", "قبل"]
)
_PASSIVE_JAPANESE = re.compile("られ|され|まれ|われ")
_SPEAKER = re.compile("(?:用户|用戶|使用者|ユーザー)[的の]?|我们?的?|私の")
_RUN = re.compile(rf"[{CJK}]+")
# One person and another in Japanese: "A は B に".
_GIVEN_TO = re.compile(
    "([\u30a1-\u30fa\u3400-\u9fff]{1,6})([はが])([\u30a1-\u30fa\u3400-\u9fff]{1,6})([にへを])"
)
_HIRAGANA = re.compile("[\u3040-\u309f]+")


@dataclass(frozen=True, slots=True)
class Replaced:
    """Tokens in lower case in the place of others, none of which is among them. `before` and
    `after` are the equal tokens on either side; `ends`: a sentence begins or ends with them;
    `alone`: all else of the sentence is equal."""

    old: Sequence[str]
    new: Sequence[str]
    before: Sequence[str]
    after: Sequence[str]
    ends: bool
    alone: bool = False

    @property
    def text(self) -> str:
        return ("" if is_cjk(self.new[0]) else " ").join(self.new)


def find_nearest(statement: Clause, sentences: Sequence[Clause], least: int = 2) -> Clause | None:
    """The sentence that shares most content words, so many at `least`."""
    nearest = max(sentences, key=lambda each: len(statement.words & each.words), default=None)
    return nearest if nearest and len(statement.words & nearest.words) >= least else None


def find_replaced(statement: str, nearest: str) -> list[Replaced]:
    """What stands in the statement in the place of something else of the nearest sentence, or in
    addition, beside the same words."""
    old, new = (TOKEN.findall(text.lower()) for text in (nearest, statement))
    if len(old) + len(new) > MOST_COMPARED:
        return []
    found = []
    known = set(old)
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for index, (kind, a0, a1, b0, b1) in enumerate(changes):
        if kind not in ("replace", "insert") or b1 - b0 > MOST_REPLACED:
            continue
        if a1 - a0 > (MOST_CHARACTERS if is_cjk(new[b0]) else MOST_REPLACED):
            continue
        instead = [word for word in new[b0:b1] if word not in known]  # not what only moved
        if instead and is_cjk(instead[0]):
            instead = new[b0:b1]  # of a name, characters may
        before = old[changes[index - 1][1] : a0] if index else []
        after = old[a1 : changes[index + 1][2]] if index + 1 < len(changes) else []
        # One character may be the rest of a name at an end.
        least = 1 if is_cjk(new[b0]) else 0
        begins = max(a0, b0) <= least
        ends = max(len(old) - a1, len(new) - b1) <= least
        named = begins and after and not is_cjk(after[0]) and after[0] not in FUNCTION_WORDS
        # In Hindi a postposition follows a name at once.
        between = is_caseless(new[b0]) and len(before) > BESIDE and bool(after)
        enough = len(before) >= BESIDE or begins, len(after) >= BESIDE or ends or named or between
        alone = (len(before), len(after)) == (b0, len(new) - b1) == (a0, len(old) - a1)
        # An article may have changed too: "der Geselle Torsten" for "mein Geselle Henning".
        fixed = before and len(before) + len(after) > BESIDE + 1 and len(instead) == a1 - a0 == 1
        if instead and (all(enough) or alone or fixed) and (before or after):
            replaced = Replaced(old[a0:a1], instead, before, after, begins or ends, alone)
            found.append(replaced)
    return found


# --- What changed places --------------------------------------------------------------------------


def find_swapped(statement: str, nearest: str) -> str:
    """Two things that stand in the statement in the other order around the same words than in the
    nearest sentence, "" for none: "Ben asked Ada" where Ada asked Ben."""
    old, new = (TOKEN.findall(text.lower()) for text in (nearest, statement))
    if max(len(old), len(new)) > MOST_SWAPPED:
        return ""
    return (
        _find_swapped_words(old, new)
        or _find_turned_round(old, new, statement, nearest)
        or _find_swapped_parts(nearest, statement)
    )


def _find_swapped_words(old: Sequence[str], new: Sequence[str]) -> str:
    placed = list(_place(old, new))
    for (b0, a0), (b1, a1) in combinations(placed, 2):
        near = a1 < a0 and max(b1 - b0, a0 - a1) <= MOST_BETWEEN + 1
        if near and _are_alike(old[a1 + 1 : a0], new[b0 + 1 : b1]):
            return " ".join(new[b0 : b1 + 1])
    return ""


def _find_turned_round(old: Sequence[str], new: Sequence[str], statement: str, nearest: str) -> str:
    """Two of whom one is a name, on the other side each of a word that stands between them, where
    the statement has no word of its own: "Ada lent the boat to Ben's uncle" where he lent it to
    her. Not in German, which puts what it likes first; in Russian, where both have other
    endings."""
    if is_german(statement, nearest) or not _PASSIVE.isdisjoint({*old, *new}):
        return ""
    placed = list(_place(old, new))
    own = {at for at, word in enumerate(new) if word not in FUNCTION_WORDS | SPEAKERS}
    if not own <= {at for at, _ in placed}:
        return ""
    names = {name.lower() for name, _ in find_names(statement)}
    changed = [(b, a) for b, a in placed if not is_cyrillic(new[b]) or new[b] != old[a]]
    for pivot, at in placed:
        before = [new[b] for b, a in changed if b < pivot and a > at]
        after = [new[b] for b, a in changed if b > pivot and a < at]
        if before and after and new[pivot] not in names and not names.isdisjoint(before + after):
            return f"{before[-1]} {new[pivot]} {after[0]}"
    return ""


def _place(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The words of the new sentence that name something, and where each stands in the old one, if
    it does once. Not a day's: it may stand anywhere."""
    alike: dict[str, list[int]] = {}
    for at, word in enumerate(old):
        alike.setdefault(word[:KEY], []).append(at)
    for at, word in enumerate(new):
        if word in FUNCTION_WORDS or is_cjk(word) or names_day(word):
            continue
        places = [n for n in alike.get(word[:KEY], ()) if is_same_word(word, old[n])]
        if len(places) == 1:
            yield at, places[0]


def _are_alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the same stands between two things, and neither is the sentence turned round nor says
    it the same in either order."""
    if not old or _PASSIVE.isdisjoint(old) != _PASSIVE.isdisjoint(new):
        return False
    said_of = FUNCTION_WORDS | SPEAKERS  # "the user's sister" is "my sister"
    parts = [[word for word in words if word not in said_of] for words in (old, new)]
    if not any(parts):
        return list(old) == list(new) and not SYMMETRIC.issuperset(old)
    return len(parts[0]) == len(parts[1]) and all(map(is_same_word, *parts))


def _find_swapped_parts(old: str, new: str) -> str:
    """The same where no spaces tell words apart."""
    if bool(_PASSIVE_JAPANESE.search(old)) != bool(_PASSIVE_JAPANESE.search(new)):
        return ""
    for match in _GIVEN_TO.finditer(new):
        one, _, other, by = match.groups()
        if any(f"{other}{each}{one}{by}" in old for each in "はが"):
            return match[0]
    old = _SPEAKER.sub("", old)
    for match in _RUN.finditer(_SPEAKER.sub("", new)):
        run = match[0]
        for at in range(1, len(run) - 1):
            for between in range(at + 1, min(at + LONGEST_BETWEEN, len(run))):
                verb = run[at:between]
                if verb in SYMMETRIC or f"{run[between]}" not in old or verb not in old:
                    continue
                if found := _find_exchanged(old, run, at, between):
                    return found
    return ""


def _find_exchanged(old: str, run: str, at: int, between: int) -> str:
    for before in range(1, min(LONGEST_PART, at) + 1):
        for after in range(1, min(LONGEST_PART, len(run) - between) + 1):
            first, second = run[at - before : at], run[between : between + after]
            if before + after < 3 or first == second or _is_grammar(first) or _is_grammar(second):
                continue
            if f"{second}{run[at:between]}{first}" in old:
                return run[at - before : between + after]
    return ""


def _is_grammar(part: str) -> bool:
    return _HIRAGANA.fullmatch(part) is not None
