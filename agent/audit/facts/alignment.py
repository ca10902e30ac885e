"""A statement laid beside the nearest sentence: what took the place of something else."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent.audit.facts.clauses import Clause
from agent.audit.facts.function_words import FUNCTION_WORDS
from agent.audit.facts.words import TOKEN, is_caseless, is_cjk

MOST_COMPARED = 400  # tokens of two sentences, in all
MOST_REPLACED = 4  # of them in one place
MOST_CHARACTERS = 8  # of what was replaced, where no spaces tell words apart
BESIDE = 2  # equal tokens on a side that fix a place


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
        ends = ends or (b1 == len(new) and len(before) > BESIDE)
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
