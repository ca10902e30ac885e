"""The words of a text in any script."""

import re
from functools import lru_cache
from unicodedata import normalize

CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
# In some scripts vowels and accents are marks of their own, which Python does not take for letters.
_MARKS = (
    "\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963"
)
_LETTERS = rf"[^\W\d_{CJK}]+(?:[{_MARKS}][^\W\d_{CJK}]*)*"
WORD = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})*")
_ASCII_WORD = re.compile("[A-Za-z]+(?:'[A-Za-z]+)*")
TOKEN = re.compile(rf"{WORD.pattern}|[{CJK}]|\d+")
_CJK = re.compile(rf"[{CJK}]")
# What a word of Chinese and Japanese is made of: no hiragana, pronouns or marks of grammar, nor
# what denies, or says that something has come about.
IDEOGRAPH = re.compile(
    "(?![的了着过過在是把被和与也就都很会會我你他她它们們您私不没沒无無未已经經有])"
    "[\u30a1-\u30fa\u3400-\u9fff]"
)
_OTHER_DIGITS = {
    start + digit: str(digit) for start in (0x660, 0x6F0, 0x966, 0x9E6) for digit in range(10)
}
# An Arabic line that only makes words longer, and marks for short vowels that few write.
_FOREIGN = _OTHER_DIGITS | {0x66A: "%"} | dict.fromkeys([0x640, *range(0x64B, 0x653)])
_IS_FOREIGN = re.compile(f"[{''.join(map(chr, _FOREIGN))}]")

_ELISION = re.compile(r"^(?:[cdjlmnst]|qu)['’](?=\w)", re.I)
_GENITIVE = re.compile(r"['’]s?$")
_ENDING = re.compile("(?<=[\u0430-\u0451]{3})[аеёийоуыьэюя]{1,2}$|(?<=[\u0620-\u06ff]{4})[تة]$")
_CYRILLIC = re.compile("[\u0430-\u0451]{2,3}[аеиоуыюя]")  # a short word and its ending
_PARTICIPLE = re.compile("^ge(?=[a-zäöü]{4,}(?:t|en)$)")  # of a German verb: gelöscht
_ARABIC_ARTICLE = re.compile("^(?:[وفبك]?ال|لل|و(?=ال))")
LONGER_THAN_ARTICLE = 5  # letters

STEM = 6  # letters of a word that count
LEAST_ALIKE = 3  # letters that two forms of a word share
SHORTEST = 4  # letters of a content word; scripts without capitals have shorter ones
_STOP_WORDS = """
about after again against also because been before being between both could does done down
during each from have here into just like made make more most much must need only other over
should some such than that their them then there these they this those through under until
used user users very want wants were what when where which while will with would your
assistant asked said message conversation none aber alle auch dass dem denn dich diese
dieser dieses doch eine einem einen einer eines haben hier ihre kann mehr muss nach noch
oder sehr sich sein seine sind soll über unter wenn werden wird wurde wurden zwischen avec
cela cette comme dans elle elles être leur mais même nous pour plus sont tout très vous como
con cual cuando desde donde ella ellos entre esta este esto hasta más muy para pero porque
pela pelo quando são sobre también uma você было быть если есть или как который может надо
нужно они она очень при так также только чтобы هذا هذه ذلك التي الذي إلى على كان كانت में है
हैं और का की के को से पर यह वह था थी थे लिए लिया गया गई गए
nutzer nutzers nutzerin benutzer benutzerin anwender assistent assistentin utilisateur utilisatrice
assistante usuario usuaria usuário usuária asistente assistente пользователь пользователя
пользователю ассистент ассистента المستخدم المستخدمة المساعد उपयोगकर्ता यूज़र सहायक
"""
STOP_WORDS = frozenset(normalize("NFKC", _STOP_WORDS).split())


def clean(text: str) -> str:
    """A text with plain digits, spaces and signs, whatever its script."""
    if text.isascii():
        return text
    text = normalize("NFKC", text)
    return text.translate(_FOREIGN) if _IS_FOREIGN.search(text) else text


def find_words(text: str) -> list[str]:
    """The words of a text in lower case, in order."""
    return (_ASCII_WORD if text.isascii() else WORD).findall(text.lower())


def is_cjk(text: str) -> bool:
    """Whether it begins with a Chinese, Japanese or Korean character."""
    return _CJK.match(text) is not None


def has_cjk(text: str) -> bool:
    """Whether it has a Chinese, Japanese or Korean character."""
    return not text.isascii() and _CJK.search(text) is not None


def is_japanese(text: str) -> bool:
    """Whether it begins with a character that only Japanese has."""
    return "\u3040" <= text[:1] <= "\u30ff"


def is_arabic(text: str) -> bool:
    return "\u0600" <= text[:1] <= "\u06ff"


def is_cyrillic(text: str) -> bool:
    return "\u0400" <= text[:1] <= "\u052f"


def is_caseless(text: str) -> bool:
    """Whether it is of a script without capitals."""
    return text[:1] >= "\u0590"


@lru_cache(20_000)  # a text says the same words again and again
def make_stem(word: str) -> str:
    """The beginning of a word in lower case, without an article that is written together with it,
    and without the ending of a plural or a genitive."""
    word = strip_elision(word)
    if "'" in word or "’" in word:
        word = _GENITIVE.sub("", word) or word
    if "\u0400" <= word[0] <= "\u052f":
        return _strip_ending(word[:STEM])
    if word[0] < "\u0590":
        word = _PARTICIPLE.sub("", word)
        return word[:-1] if word[-1] == "s" and SHORTEST < len(word) <= STEM else word[:STEM]
    return _strip_ending(strip_article(word))[:STEM]


def _strip_ending(word: str) -> str:
    """A Russian word without the vowels that it ends with, an Arabic one without a feminine "t"."""
    return _ENDING.sub("", word) if len(word) >= SHORTEST else word


def strip_elision(word: str) -> str:
    """A word without what French writes before it: l'atelier, j'ai."""
    return _ELISION.sub("", word) if "'" in word or "’" in word else word


def strip_article(word: str) -> str:
    """A word without an Arabic article and what is written before it."""
    has_article = is_arabic(word) and len(word) >= LONGER_THAN_ARTICLE
    return _ARABIC_ARTICLE.sub("", word) if has_article else word


def find_content_words(text: str) -> set[str]:
    """Words in a stemmed form, without stop-words; pairs of characters where a script writes no
    spaces."""
    words = {
        make_stem(word)
        for word in find_words(text)
        if len(word) >= (SHORTEST if word[0] < "\u0590" else SHORTEST - 1)
        and word not in STOP_WORDS
    }
    characters = _CJK.findall(text)
    return words | {a + b for a, b in zip(characters, characters[1:], strict=False)}


def is_same_word(one: str, other: str) -> bool:
    """Whether two words are equal up to their endings."""
    if one == other:
        return True
    if len(one) == len(other) and _CYRILLIC.fullmatch(one) and _CYRILLIC.fullmatch(other):
        return one[:-1] == other[:-1]  # Зоя, Зою
    shortest, longest = sorted((len(one), len(other)))
    least = max(LEAST_ALIKE, longest - 2)
    return least <= shortest and one[:least] == other[:least] and one[0].isalpha()
