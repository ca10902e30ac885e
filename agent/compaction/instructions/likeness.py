"""Whether somebody copied words: the same but for marks and small edits, in any script.

*The same* leaves out case, marks, spaces, accents, vowel signs that may be left out, and forms of
one character. A *small edit* is a mended typo or a light word (an article, a “please”) more. A
negation, a number or another word of content is none: “answer in French” is not “answer in German”.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple
from unicodedata import category, combining, digit, normalize

from agent.audit.facts.denial import is_denied
from agent.authorship.quoted import Range
from agent.search.lexical import ALONE

# Combining classes of the marks that make another letter: kana's voicing, viramas, vowel signs.
_OF_THE_LETTER = (0, 8, 9)
_FORMS = str.maketrans({"ى": "ي", "ँ": "ं", "ـ": None} | dict.fromkeys("'’‘ʼ`´", None))
_TOKEN = re.compile(rf"[{ALONE}][\u3099\u309a]?|[^\s{ALONE}]+")  # kana with its voicing
_NASAL = re.compile("[ङञणनम]्(?=[क-ह])")
_CLAUSE_END = re.compile(r"[,;:.!?，；：。！？、،؛؟।]")
_DOUBLED = re.compile(r"(.)\1")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_CONTRACTIONS = {
    f"{word}nt": (whole, "not")
    for word, whole in (
        *((each, each) for each in ("do", "does", "did", "is", "are", "was", "should", "must")),
        ("could", "could"),
        ("would", "would"),
        ("ca", "can"),
        ("wo", "will"),
    )
} | {"cannot": ("can", "not")}
_LETTERS_OF_A_SLIP = (4, 12)  # of a word from which on one letter, and two, may be a typo
_LEAST_FOR_KANA = 8  # characters of what is copied, of which one may be


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or a character of a script without spaces, as it is compared, and its place."""

    text: str
    start: int
    end: int


class Words:
    """The words of a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def joined(self) -> str:
        """All of them without what stands between."""
        return join_words(self.text)

    @cached_property
    def list(self) -> Sequence[Word]:
        folded, places = _fold_in_place(self.text)
        found = (match.span() for match in _TOKEN.finditer(folded))
        return [Word(folded[a:b], places[a], places[b - 1] + 1) for a, b in found]

    @cached_property
    def split(self) -> Sequence[Word]:
        """With “don't” as “do not”, and one spelling for Hindi's nasal sounds."""
        return [
            Word(_NASAL.sub("ं", part), word.start, word.end)
            for word in self.list
            for part in _CONTRACTIONS.get(word.text, (word.text,))
        ]

    @cached_property
    def denies(self) -> bool:
        return is_denied(self.text) or any(word.text == "not" for word in self.split)

    def find_same(self, joined: str) -> Iterator[Range]:
        """Where whole words are the same as the joined ones."""
        if not joined or joined not in self.joined:
            return
        begins: dict[int, int] = {}
        ends: dict[int, int] = {}
        length = 0
        for word in self.list:
            begins[length] = word.start
            length += len(word.text)
            ends[length] = word.end
        at = self.joined.find(joined)
        while at >= 0:
            if at in begins and at + len(joined) in ends:
                yield begins[at], ends[at + len(joined)]
            at = self.joined.find(joined, at + 1)


def join_words(text: str) -> str:
    """The words of a text, folded, without what stands between."""
    return "".join(_fold(text).split())


def find_telling(words: Sequence[Word]) -> set[str]:
    """Those that carry the meaning."""
    return {word.text for word in words if word.text not in _LIGHT}


class Likeness(NamedTuple):
    """How near a text is to a copy of a part of it, above 0 and up to 1, and where that part is."""

    score: float
    place: Range


def find_like(copy: Words, said: Words) -> Likeness | None:
    """The part of a text that was copied with small edits; None where there is more between
    them."""
    wanted, words = copy.split, said.split
    telling = find_telling(wanted)
    if not telling or len(telling - {word.text for word in words}) > 1 + len(telling) // 2:
        return None
    matched = _align(tuple(word.text for word in wanted), tuple(word.text for word in words))
    missing = [word.text for place, word in enumerate(wanted) if place not in matched]
    carrying = [each for each in missing if each not in _LIGHT]
    if not matched or len(missing) * 2 > len(wanted):
        return None
    if carrying and not _is_slip_of_kana(carrying, len(wanted)):
        return None
    place = words[min(matched.values())].start, words[max(matched.values())].end
    if copy.denies != Words(_read_clause(said.text, place)).denies:
        return None
    same = sum(wanted[at].text == words[other].text for at, other in matched.items())
    score = (len(matched) + same) / (2 * len(wanted))
    return Likeness(score / (1 + 0.01 * (len(words) - len(matched))), place)


def _read_clause(text: str, place: Range) -> str:
    """A part with the rest of the clauses that it stands in: there may be a “never” before it."""
    start, end = place
    before = _CLAUSE_END.split(text[:start])[-1]
    return before + text[start:end] + _CLAUSE_END.split(text[end:])[0]


@lru_cache(maxsize=1 << 10)  # people repeat themselves
def _align(copy: tuple[str, ...], words: tuple[str, ...]) -> Mapping[int, int]:
    """Places of the longest common sequence, typos included: those in the copy and in the words."""
    rows = [[0] * (len(words) + 1) for _ in range(len(copy) + 1)]
    for i in range(len(copy) - 1, -1, -1):
        for j in range(len(words) - 1, -1, -1):
            if _is_copy(copy[i], words[j]):
                rows[i][j] = rows[i + 1][j + 1] + 1
            else:
                rows[i][j] = max(rows[i + 1][j], rows[i][j + 1])
    found, i, j = {}, 0, 0
    while i < len(copy) and j < len(words):
        if rows[i][j] == rows[i + 1][j]:
            i += 1
        elif rows[i][j] == rows[i][j + 1]:
            j += 1
        else:
            found[i] = j
            i, j = i + 1, j + 1
    return found


def _is_copy(one: str, other: str) -> bool:
    """Whether one is the other, or a typo of it. Names and numbers have no typos in their first
    letter and their figures."""
    if one == other:
        return True
    if abs(len(one) - len(other)) > 2 or one[:1] != other[:1] and one[:2] != other[1::-1]:
        return False
    return _is_typo(*sorted((one, other)))


@lru_cache(maxsize=1 << 14)
def _is_typo(one: str, other: str) -> bool:
    if _DOUBLED.sub(r"\1", one) == _DOUBLED.sub(r"\1", other):
        return not one[0].isdigit()
    shortest = min(len(one), len(other))
    most = sum(shortest >= least for least in _LETTERS_OF_A_SLIP)
    if not most or any(letter.isdigit() for letter in one + other):
        return False
    return _count_edits(one, other, most) <= most


def _count_edits(one: str, other: str, most: int) -> int:
    """Letters that are changed, added, left out or swapped with their neighbour between two words:
    the distance of Damerau and Levenshtein in its restricted form (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 < j and a == other[j - 2] and b == one[i - 2]:
                least = min(least, last[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            break
    return row[-1] if len(row) > len(other) else most + 1


def _is_slip_of_kana(missing: Sequence[str], length: int) -> bool:
    one = len(missing) == 1 and length >= _LEAST_FOR_KANA
    return bool(one and _HIRAGANA.match(missing[0]) and missing[0] not in _DENYING_KANA)


# --- Folding --------------------------------------------------------------------------------------


class _Folded(dict[int, str]):
    """What becomes of each character of a text in its decomposed form."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = category(character)
        if kind == "Nd":
            folded = str(digit(character))
        elif kind[0] in "LN" or kind == "Sc" or character == "%":
            folded = character
        elif kind[0] == "M":
            folded = character if combining(character) in _OF_THE_LETTER else ""
        else:
            folded = "" if kind == "Cf" else " "
        self[code] = folded
        return folded


_FOLDED = _Folded()


def _fold(text: str) -> str:
    text = text.translate(_FORMS).casefold()
    if not text.isascii():
        text = normalize("NFKD", text).translate(_FORMS)
    return text.translate(_FOLDED)


@lru_cache(maxsize=1 << 12)
def _fold_character(character: str) -> str:
    return _fold(character)


def _fold_in_place(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters the place of the one that it came from."""
    pieces: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        folded = _fold_character(character)
        pieces.append(folded)
        places += [place] * len(folded)
    return "".join(pieces), places


# Words that are added or left out in copying, without another meaning. No negation is among them,
# and no “always”, which makes a standing instruction of a request.
_LIGHT = frozenset(
    _fold(
        """
a an the please kindly and also so then just me my your you i im ive am are is be to of for in into
on at it that this will do
bitte und auch dann nur mir mich mein meine der die das den dem ein eine einen du sie dein deine ihr
ihre zu im in auf an es ist bin danke
por favor y también me mi tu su el la los las un una en de a es soy gracias
e também meu minha seu sua o os as um uma em no na do da é sou obrigado obrigada
et aussi moi mon ma ton ta votre le les une des du à est suis s il te vous plait merci
пожалуйста и также мне мой моя на в с это я спасибо
من فضلك و لي في هذا انا
कृपया और मुझे मेरा मेरी में का की के है हूं
请 請 您 你 我 的 地 得 了 着 著 都 要 把 也 还 還 就 吧 呢 啊 嘛 来 來 使 谢 謝
は が を に で へ と も ね よ
"""
    ).split()
)
_DENYING_KANA = frozenset(_fold("な ぬ ず ん せ ま い").split())
