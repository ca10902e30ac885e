"""Numbers in figures and in words."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from agent.audit.facts.tables import (
    ARTICLES,
    CJK_DIGITS,
    CJK_SCALES,
    COLLECTIVE,
    CONNECTORS,
    NUMBERS,
    PORTUGUESE,
    SCALES,
)
from agent.audit.facts.words import WORD

# Thousands apart by spaces or apostrophes; or figures with points and commas between them.
FIGURES = re.compile(r"(?<![\d.,])\d{1,3}(?:[ '’]\d{3})+(?![\d'’])(?:[.,٫]\d+)?|\d+(?:[.,٫٬]\d+)*")
_CJK_NUMBER = re.compile(f"[{''.join(CJK_DIGITS)}{''.join(CJK_SCALES)}]+")
_GROUPS = re.compile(r"\d{1,3}(?:[.,٬ '’]\d{2,3})*[.,٬ '’]\d{3}")
_HALF = re.compile(r"(?:half an?|ein halbes|media|meia|une demi-?|demi-|نصف|आधा) ?$", re.I)
LONGEST_FIGURES = 30  # digits; what is longer is data


class Spelled(NamedTuple):
    """A number in words; `loose`: perhaps only an article, or a part of another word."""

    start: int
    end: int
    amount: float
    loose: bool


def read_figures(text: str) -> set[float]:
    """What a number in figures may mean: 1.900 is 1900 or 1.9. Nothing for what is no number, like
    a version."""
    if len(text) > LONGEST_FIGURES:
        return set()
    text = text.replace("٫", ",").replace("٬", ".")
    found = set()
    marks = re.sub(r"\d", "", text)
    if not marks:
        return {float(text)}
    if _GROUPS.fullmatch(text) and len(set(marks)) == 1:
        found.add(float(re.sub(r"\D", "", text)))
    decimal = re.fullmatch(r"(.*)([.,])(\d+)", text)
    if decimal and (decimal[1].isdigit() or _is_grouped(decimal[1], but=decimal[2])):
        found.add(float(f"{re.sub(r'[^0-9]', '', decimal[1])}.{decimal[3]}"))
    return found


def _is_grouped(whole: str, but: str) -> bool:
    return but not in whole and _GROUPS.fullmatch(whole) is not None


def find_spelled(text: str) -> Iterator[Spelled]:
    """Numbers in words, in order; neighbouring words are one number."""
    run: list[tuple[int, int, float]] = []
    for match in WORD.finditer(text):
        word = match[0].lower()
        if word == "dos" and PORTUGUESE.search(text):
            word = ""
        amount = NUMBERS.get(word) or SCALES.get(word if len(word) > 1 else "")
        if amount is None and ("hundert" in word or "tausend" in word):
            amount = _read_german(word)
        if amount is None and word[:1] == "و":  # "and", written together
            amount = NUMBERS.get(word[1:])
        near = not run or text[run[-1][1] : match.start()].strip() in ("", "-")
        if amount is not None and near:
            start = match.start()
            if word in COLLECTIVE and (half := _HALF.search(text, max(0, start - 12), start)):
                start, amount = half.start(), amount / 2
            run.append((start, match.end(), amount))
            continue
        if word in CONNECTORS and run and near:
            run[-1] = (run[-1][0], match.end(), run[-1][2])
            continue
        yield from _join(text, run)
        run = [(match.start(), match.end(), amount)] if amount is not None else []
        if word in ARTICLES:
            start = match.start()
            halved = text[max(0, start - 5) : start].lower() == "half "
            amount = 0.5 if halved else 1.0
            yield Spelled(start - 5 * halved, match.end(), amount, not halved)
    yield from _join(text, run)
    for match in _CJK_NUMBER.finditer(text):
        if (amount := read_cjk(match[0])) is not None:
            yield Spelled(match.start(), match.end(), amount, len(match[0]) < 2)


def _read_german(word: str) -> float | None:
    """A number that is written as one word; None: another word."""
    for scale in (1_000.0, 100.0):
        before, name, after = word.partition("tausend" if scale == 1_000 else "hundert")
        if not name:
            continue
        parts = [_read_german(part) or NUMBERS.get(part) for part in (before, after) if part]
        if None in parts or before == after == "":
            return None
        times, rest = (parts[0] if before else 1), (parts[-1] if after else 0)
        return scale * (times or 1) + (rest or 0)
    return None


def _join(text: str, run: list[tuple[int, int, float]]) -> Iterator[Spelled]:
    """One number: two thousand five hundred. A scale alone is one of it."""
    if not run:
        return
    total, part = 0.0, 0.0
    for _, _, amount in run:
        if amount == 100 or (amount == 20 and part == 4):
            part = max(part, 1) * amount
        elif amount >= 1_000:
            total, part = total + max(part, 1) * amount, 0.0
        else:
            part += amount
    alone = len(run) == 1 and run[0][2] in (100, *SCALES.values())
    end = run[-1][0] + len(text[run[-1][0] : run[-1][1]].split()[0])
    yield Spelled(run[0][0], end, total + part, alone)


def read_cjk(text: str) -> float | None:
    """A number in characters; None: words that only look like one."""
    if text[0] in CJK_SCALES and text[0] != "十":
        return None  # 千万 and the like are words
    if not any(character in CJK_SCALES for character in text):
        return float("".join(str(CJK_DIGITS[character]) for character in text))
    total, part, digit = 0, 0, 0
    for character in text:
        scale = CJK_SCALES.get(character)
        if scale is None:
            digit = CJK_DIGITS[character]
        elif scale < 10_000:
            part, digit = part + (digit or 1) * scale, 0
        else:
            total, part, digit = total + (part + digit) * scale, 0, 0
    return float(total + part + digit)
