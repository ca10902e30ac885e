"""Names of people, places and things, as far as the way they are written shows them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent.audit.facts.speakers import SPEAKERS
from agent.audit.facts.tables import MONTHS
from agent.audit.facts.words import CJK, WORD, is_arabic, is_caseless, strip_article, strip_elision

SHORTEST = 2
SHORTEST_STEM = 3  # letters
MANY = 500  # characters of a statement, whose pairs would each be looked for
LONGEST_SHORT_FORM, LONGEST_WORD = 6, 60  # letters
LONGEST_ABBREVIATION = 5  # letters: API, HTTP; who restates a text may write them
# Marks after which a capital begins a sentence and shows no name.
_BEGINNING = re.compile(r"(?:^|[.!?:…–—\n•\"“„«(\[*/]|\d[.)])[\s\"“„«(*_`]*$")
_GERMAN_WORDS = (
    "der die das den dem des und ist nicht mit für ein eine einen wird auf von zu im soll bis am "
    "vom zum zur werden hat sind im ins ich wir uns oder aber nur noch schon"
)
_GERMAN = frozenset(_GERMAN_WORDS.split())
_OTHER_WORDS = """
    i i'm i'll i've i'd ok done pending cancelled canceled todo yes none api url json html user
    users assistant
    monday tuesday wednesday thursday friday saturday sunday am pm usd eur gbp
"""
# Of verbs, and of nouns that are made of them.
_ENDINGS = """
ed ing ly tion tions ment ments ness ance ence ung ungen heit keit schaft tät age ción ciones
miento ção ções mento ible able ivel ível ние ния ция ции ость ство
"""
_NAME_ENDINGS = ("fred", "hmed", "mmed", "mence", "rence", "stance")  # Ahmed, Clémence
_NO_NAME_ENDINGS = tuple(_ENDINGS.split())
# The most common Chinese surnames, and characters with which names of places end.
_SURNAMES = frozenset(
    "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林郑鄭谢謝罗羅梁宋唐许許韩韓冯馮邓鄧曹彭曾肖"
    "田董袁潘蒋蔣蔡余于杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鍾谭譚陆陸汪范金石廖贾賈夏韦韋方白邹鄒孟熊秦邱江尹薛闫段雷侯龙史陶"
    "小老阿"
)
_PLACES = frozenset("州市省县縣区區国國路街镇鎮村港岛島山江河湖町京都府")
LONGEST_CHINESE = 3  # characters
_KANJI = "\u30a1-\u30fa\u3400-\u9fff"
_TITLES = (
    "Frau|Herrn?|Dr|Prof|Professor|Professorin|Mr|Mrs|Ms|Mme|Monsieur|Madame|Maître|Señora?|Sra?|Doña|"
    "Senhora?|Господин|Госпожа|господин|госпожа"
)
_TITLED = (
    re.compile(rf"([{_KANJI}]{{1,4}})(?:さん|氏|様|くん|ちゃん)"),
    re.compile(
        rf"([{''.join(sorted(_SURNAMES))}][{_KANJI}]{{0,2}})(?:先生|女士|小姐|老师|老師|经理|医生|大夫|教授|律师)"
    ),
    re.compile(
        rf"(?<!\w)(?:ال(?:سيد|سيدة|أستاذ|أستاذة|دكتور|دكتورة|مهندس|مهندسة)) ({WORD.pattern})"
    ),
    re.compile(rf"(?<!\w)(?:{_TITLES})\.? ([A-ZÀ-ÞА-Я]\w+)"),
    re.compile(rf"(?<!\w)(?:श्री|श्रीमती|सुश्री) ({WORD.pattern})"),
    re.compile(rf"(?<![\w\u0900-\u0963])({WORD.pattern}) जी(?![\w\u0900-\u0963])"),
)
_PEOPLE = "客皆母父兄姉奥嫁子娘孫屋者方様"  # with which words for people end before さん
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_NO_NAMES = SPEAKERS.union(_OTHER_WORDS.split(), MONTHS)


def is_german(text: str, around: str = "") -> bool:
    """Whether it is German, in which every noun has a capital; a short text in German around it has
    fewer of the words that show it."""
    words = _GERMAN.intersection(map(str.lower, WORD.findall(text)))
    return len(words) >= 2 or (bool(words) and bool(around) and is_german(around))


def find_names(text: str) -> list[tuple[str, bool]]:
    """Words with a capital, and whether each begins a sentence, so that it may be no name."""
    found: dict[str, bool] = {}
    for match in WORD.finditer(text):
        word = re.sub(r"['’]s?$", "", strip_elision(match[0]))
        if len(word) < SHORTEST or not word[0].isupper() or word.lower() in _NO_NAMES:
            continue
        if word.isupper() and len(word) <= LONGEST_ABBREVIATION:
            continue
        begins = _BEGINNING.search(text, max(0, match.start() - 8), match.start()) is not None
        found[word] = found.get(word, True) and begins
    return list(found.items())


def is_label(word: str, after: str) -> bool:
    """Whether a word at a sentence's beginning, with what comes after it, is one that only says
    what follows ("Decided: …"), or an ordinary word by its ending."""
    if after.startswith((":", "：")):
        return True
    return word.lower().endswith(_NO_NAME_ENDINGS) and not word.lower().endswith(_NAME_ENDINGS)


def is_hiragana(text: str) -> bool:
    """Whether it is of the characters in which Japanese writes its grammar."""
    return _HIRAGANA.fullmatch(text) is not None


def complete_cjk_name(before: Sequence[str], character: str, after: Sequence[str]) -> str:
    """A name of which one character changed, with the one beside it; "" for what is likely none."""
    if before and before[-1] in _SURNAMES:
        return before[-1] + character
    return character + after[0] if after and after[0] in _PLACES else ""


def find_titled(text: str) -> list[str]:
    """Names in a script without capitals that a title shows: 郭先生, 近藤さん, السيد نزار."""
    found = [match[1] for pattern in _TITLED for match in pattern.finditer(text)]
    return [name for name in found if name[-1] not in _PEOPLE]


def has_surname(name: str) -> bool:
    """Whether it may be a Chinese name of a person."""
    return 2 <= len(name) <= LONGEST_CHINESE and name[0] in _SURNAMES


def find_caseless(text: str, other: str) -> list[str]:
    """What a text in a script without capitals has and another one has not: words, and where these
    are not told apart, runs of characters that no pair of the other has."""
    words = [word for word in WORD.findall(text) if is_caseless(word) and len(word) > SHORTEST]
    runs = []
    # To look for each pair is quicker than to list all of a long text, unless there are many.
    known = set(_parts(other)) if len(text) > MANY else other
    for run in re.findall(rf"[{CJK}]+", text):
        new = [pair not in known for pair in _parts(run)]
        for match in re.finditer(r"1{1,5}", "".join("01"[each] for each in new)):
            runs.append(run[match.start() : match.end() + 1])
    return [word for word in words if not stands_in(word, other)] + [
        part for run in runs for part in _parts(run)
    ]


def stands_in(word: str, text: str) -> bool:
    """Whether a word of a script without capitals stands in a text, of Arabic also with another
    article or pronoun: "our pump" for "the pump"."""
    stem = strip_article(word).rstrip("ةه") if is_arabic(word) else word
    return (stem if len(stem) >= SHORTEST_STEM else word) in text


def _parts(run: str) -> list[str]:
    """The pairs of characters: a name has two or three, a run of new ones one more on a side."""
    return [a + b for a, b in pairwise(run)]


def is_abbreviation(name: str, text: str) -> bool:
    """Whether a name has some letters of one word of a text in lower case, as MwSt has of
    Mehrwertsteuer."""
    if not (name.isalpha() and name[0].isupper() and len(name) <= LONGEST_SHORT_FORM):
        return False
    short = name.casefold()
    words = re.findall(rf"(?<!\w){short[0]}\w{{{2 * len(short) - 1},{LONGEST_WORD}}}", text)
    return any(_has_in_order(short, word) for word in words)


def _has_in_order(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def is_name_in(word: str, text: str) -> bool:
    """Whether a text has a word with its capital in the middle of a sentence, and never without."""
    if any(True for _ in _find_whole(word.lower(), text)):
        return False
    return any(
        text[at - 1 : at] == " " and (text[at - 2 : at - 1].isalnum() or text[at - 2] == ",")
        for at in _find_whole(word, text)
        if at > 1
    )


def _find_whole(word: str, text: str) -> Iterator[int]:
    """Where a word stands by itself. Patterns are slower by far in a long text."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            yield at
        at = text.find(word, end)
