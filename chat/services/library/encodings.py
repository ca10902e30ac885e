"""Text in whatever encoding: a mark is believed, UTF-8 is tried first, then what is sure counts."""

import codecs
import re
from typing import NamedTuple
from unicodedata import name as name_of

from charset_normalizer import from_bytes


class Decoded(NamedTuple):
    """A text, and by which encoding it was read: its name as IANA has it, "" for UTF-8."""

    text: str
    encoding: str


class Unsure(Exception):
    """It looks like text, and its encoding cannot be told."""


MARKS = [  # UTF-32 before UTF-16, with which it begins
    (codecs.BOM_UTF8, "utf-8", ""),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
]
# What the library may choose from: it takes rarer ones, which differ in a few letters, for these.
DETECTED = {
    "cp1252": "windows-1252",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1253": "windows-1253",
    "cp1254": "windows-1254",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "koi8_r": "KOI8-R",
    "koi8_u": "KOI8-U",
    "iso8859_5": "ISO-8859-5",
    "cp866": "IBM866",
    "cp932": "Shift_JIS",
    "euc_jp": "EUC-JP",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp949": "EUC-KR",
}
JAPANESE = ("cp932", "euc_jp")
NARROW = re.compile("[\uff66-\uff9f]")  # of Japanese: what other encodings' bytes look like in it
# Two of its syllables stand side by side in nothing else that can be read as Japanese; but in what
# has characters of misread texts or of typefaces of one's own, they say nothing.
SYLLABLES = re.compile("[ぁ-んァ-ヶー]{2}")
NOT_JAPANESE = re.compile("[\uff66-\uff9f\ue000-\uf8ff]")
WESTERN_CODECS = {"cp1252": "windows-1252", "iso8859_15": "ISO-8859-15"}
# Most letters of a text in Russian, Ukrainian, Bulgarian, Greek, Hebrew or Arabic; most letters
# beyond ASCII in the languages of Central Europe and in Turkish; what no text in Chinese, Japanese
# or Korean is long without.
FREQUENT = frozenset(
    "оеаинтсрвлкмді"
    "αοιετνσηρκ"
    "יוהלאמרתשבנ"
    "اليمنوربتةهدع"
    "áíéýěščřžůúąęłżśćńóźışğçöüőű"
    "的一是不了在人有我他中大来上国和们你好请谢年月日來國們請謝您個為"
    "이다는에을를의가고한지하은도로서사기니시"
) | frozenset(map(chr, range(ord("ぁ"), ord("ん") + 1)))
WITHOUT_SPACES = re.compile("[\u3041-\ud7ff\uf900-\ufaff]")  # Chinese, Japanese and Korean
PLAINLY = 0.15  # of all letters
LEAST_LETTERS = 6
SAMPLE = 20_000  # bytes that the library looks at
BINARY = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f]")  # \x1a ended files of DOS, \x1b colours
SIGNATURES = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x1f\x8b",
    b"PK\x03\x04",
)  # of what is cut off
CONTROL = re.compile(r"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f-\x9f\ufffe\uffff]")
# Languages of Western Europe: few of their letters are beyond ASCII, never three in a row, and none
# is a capital within a word. Not those of Iceland, which look like other encodings' letters.
WESTERN = re.compile(r"[\x00-\x7f\xa0-\xa3\xa5-\xbfÀ-ÏÑ-ÖØ-Üß-ïñ-öø-üÿŒœ×÷€„…‘’“”•–—™]*")
WESTERN_LETTER = r"[À-ÖØ-öø-ÿŒœ]"
NOT_WESTERN = re.compile(
    rf"{WESTERN_LETTER}{{3}}|[a-zà-öø-ÿœ][À-ÖØ-ÞŒ]|[A-Za-z][ªº¹¿][A-Za-z]|[¡¿]{WESTERN_LETTER}{{2}}"
)
MOST_WESTERN = 0.4  # share of such letters
# Between two letters these stand in no language: the encoding is another one.
MISPLACED = re.compile(r"[^\W\d_][¡¢£¤¥¦§¨©«¬±²³¶¸¹»¼½¾¿„“”‡†‰‹›™¯˝˛ˇ˘÷×][^\W\d_]")
DRAWN = re.compile(r"[^\W\d_]\xa0[^\W\d_]|[─-╿]")


def decode(data: bytes) -> Decoded | None:
    """The text; None for what is none. Raises Unsure."""
    for mark, codec, label in MARKS:
        if data.startswith(mark):
            return _read(data[len(mark) :], codec, label, controls=not label)
    if b"\x1b$" in data and (found := _read(data, "iso2022_jp", "ISO-2022-JP")):
        return found
    if b"\0" not in data and (found := _read(data, "utf-8", "", controls=True)):
        return found
    if b"\0" in data:
        return _sixteen_bits(data)
    return None if BINARY.search(data) or data.startswith(SIGNATURES) else _eight_bits(data)


def _read(data: bytes, codec: str, label: str, *, controls: bool = False) -> Decoded | None:
    """The text in this encoding, if it is one; `controls`: it may have any but NUL."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return None
    return None if (not controls and CONTROL.search(text)) or "\0" in text else Decoded(text, label)


def _sixteen_bits(data: bytes) -> Decoded | None:
    """UTF-16 without its mark, where at least half of it is ASCII."""
    for codec, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        if len(data) % 2 == 0 and data[first::2].count(0) * 4 >= len(data):
            return _read(data, codec, "UTF-16")
    return None


def _eight_bits(data: bytes) -> Decoded:
    read = _read(data, "cp932", DETECTED["cp932"])
    if read and _is_japanese(read.text):
        return read
    for codec, label in WESTERN_CODECS.items():
        if (found := _read(data, codec, label)) and _is_western(found.text):
            return found
    matches = list(from_bytes(_take_sample(data), cp_isolation=[*DETECTED]))
    # Of those that the library likes equally the one that mixes the fewest scripts.
    ranks = {
        each.encoding: (
            bool(NARROW.search(str(each))),
            round(each.chaos, 2),
            -round(each.coherence, 1),
            _count_scripts(str(each), each.encoding),
        )
        for each in matches
        if not _is_misread(str(each))
    }
    best = [codec for codec, rank in ranks.items() if rank == min(ranks.values())]
    likely = [_read(data, codec, label) for codec, label in DETECTED.items() if codec in best]
    read = _choose([each for each in likely if each and not _is_icelandic(each)])
    if _is_misread(read.text):
        raise Unsure
    return read


def _is_japanese(text: str) -> bool:
    return SYLLABLES.search(text) is not None and not NOT_JAPANESE.search(text)


def _is_misread(text: str) -> bool:
    return bool(MISPLACED.search(text) or DRAWN.search(text))


def _is_icelandic(read: Decoded) -> bool:
    """Whether it is read as Turkish, with letters that only its neighbour in Windows-1252 has."""
    return read.encoding == "windows-1254" and not {*"áíóúæ"}.isdisjoint(read.text)


def _choose(read: list[Decoded]) -> Decoded:
    """The only one; else the one whose letters are plainly more often those that are frequent."""
    by_text = {each.text: each for each in reversed(read)}
    if len(by_text) == 1:
        return read[0]
    shares = sorted(((_share_of_frequent(text), text) for text in by_text), reverse=True)
    if len(shares) < 2 or shares[0][0] - shares[1][0] < PLAINLY:
        raise Unsure
    # Of thousands of characters few are frequent, so that a few letters are no match for them.
    found = shares[0][1]
    if any(map(WITHOUT_SPACES.search, by_text)) and not WITHOUT_SPACES.search(found):
        raise Unsure
    return by_text[found]


def _share_of_frequent(text: str) -> float:
    letters = [each for each in text.lower() if each > "\x7f" and each.isalpha()]
    if len(letters) < LEAST_LETTERS:
        return 0.0
    return sum(each in FREQUENT for each in letters) / len(letters)


def _take_sample(data: bytes) -> bytes:
    """Whole lines, so that no character is cut, with something beyond ASCII in them."""
    lines, size = [], 0
    for line in data.split(b"\n"):
        if not line.isascii():
            lines.append(line)
            size += len(line)
        if size > SAMPLE:
            break
    return b"\n".join(lines)


def _is_western(text: str) -> bool:
    beyond = len(re.findall(WESTERN_LETTER, text))
    return (
        WESTERN.fullmatch(text) is not None
        and not NOT_WESTERN.search(text)
        and not MISPLACED.search(text)
        and not ("õ" in text and "ã" not in text)  # Hungarian, in Windows-1250
        and beyond <= MOST_WESTERN * sum(map(str.isalpha, text))
    )


def _count_scripts(text: str, codec: str) -> int:
    """How many scripts the letters beyond ASCII are of. Chinese and Japanese ones are one in
    Japanese."""
    letters = (each for each in set(text[:1_000]) if each > "\x7f" and each.isalpha())
    scripts = {name_of(each, "").partition(" ")[0] for each in letters}
    if codec in JAPANESE and scripts & {"HIRAGANA", "KATAKANA"}:
        scripts = {"CJK", *scripts} - {"HIRAGANA", "KATAKANA"}
    return len(scripts)
