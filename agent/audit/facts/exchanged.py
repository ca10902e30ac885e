"""Who changed places in a statement: what one did to the other is said of the other."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from agent.audit.facts.function_words import FUNCTION_WORDS, SYMMETRIC
from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.names import find_names, is_german
from agent.audit.facts.relative import names_day
from agent.audit.facts.speakers import SPEAKERS, find_user_as_subject
from agent.audit.facts.words import CJK, TOKEN, is_cjk, is_cyrillic, is_same_word

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
# The user as who something is done to, and as who does it.
_TO_ME = re.compile(
    r" (?:me|us|mir|mich|uns|m['’]\w+|nous (?!\w+ons )|nos|मुझे|हमें"
    r"|(?<! у )(?<! для )(?<! от )(?:мне|меня|нам|нас)) "
)
_BY_ME = re.compile(
    r" (?:i|we|ich|wir|je|j['’]\w+|on|yo|nosotros|eu|я|мы|मैं|मैंने|हम|हमने|चाहिए|लगता|पसंद) "
    r"|['’](?:ve|ll|m|d) "
)
_TO_ME_CHINESE = re.compile("([给向帮替问请让教])我")
_TO_ME_JAPANESE = re.compile("([\u3400-\u9fff])[ぁ-ん]{0,3}(?:くれ|くださ)")
_RECEIVING = re.compile("もら|いただ|くれ|くださ|られ|受け|借り")
_BEING = Lexicon.parse(
    "was were been being wurde wurden wird werden été fue fueron sido foi был была"
)
_HIRAGANA = re.compile("[\u3040-\u309f]+")


def find_swapped(statement: str, nearest: str) -> str:
    """Two things that stand in the statement in the other order around the same words than in the
    nearest sentence, "" for none: "Ben asked Ada" where Ada asked Ben."""
    old, new = (TOKEN.findall(text.lower()) for text in (nearest, statement))
    if max(len(old), len(new)) > MOST_SWAPPED:
        return ""
    return (
        _find_swapped_words(old, new)
        or _find_turned_round(old, new, statement, nearest)
        or _find_done_by_user(old, new, statement, nearest)
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


def _find_done_by_user(old: Sequence[str], new: Sequence[str], statement: str, nearest: str) -> str:
    """What the user is said to have done to another who did it to the user: "The user lent Ada a
    boat" where Ada lent me one. The statement has no word of its own, so none of receiving."""
    if not (user := find_user_as_subject(statement)):
        return ""
    if is_cjk(user):
        return _find_done_by_user_without_spaces(statement, nearest)
    if any(map(_BEING.has, new)) or not _PASSIVE.isdisjoint({*old, *new}):
        return ""
    said = f" {' '.join(old)} "
    if not _TO_ME.search(said) or _BY_ME.search(said):
        return ""
    own = {word for word in new if word not in FUNCTION_WORDS | SPEAKERS}
    placed = {new[at] for at, _ in _place(old, new)}
    return f"{user} {' '.join(sorted(placed))}" if own and own <= placed else ""


def _find_done_by_user_without_spaces(statement: str, nearest: str) -> str:
    for match in _TO_ME_CHINESE.finditer(nearest):
        if found := re.search(rf"用[户戶][^，,。；]{{0,6}}{match[1]}(?!我)", statement):
            return found[0]
    given = _TO_ME_JAPANESE.search(nearest)
    return statement if given and given[1] in statement and not _RECEIVING.search(statement) else ""


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
