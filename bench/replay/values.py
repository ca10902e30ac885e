"""Exact values by rules of their own, so that the engine is not measured with its own ruler."""

import re

_SEPARATORS = re.compile(r"(?:[\s()\[\]{}<>\"'`“”‘’;=|*…]|,(?!\d{3})|(?<!\d),)+")
_FILE = re.compile(r"\w\.(?:py|js|ts|json|ya?ml|md|txt|html?|css|sql|sh|csv|pdf|log|toml)$", re.I)
_SHAPES = re.compile(
    r"https?://|\d.*\d|[a-z][A-Z]|\w_\w|/\w[^/]*/\w|\w(?:Error|Exception)$|^[a-z]\w+\.[a-z_]\w+$"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_CITATION = re.compile(r"\[#\d[^\]]*\]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w+")
LEAST_WORDS = 3  # of a sentence that says what is asked for


def find_exact_values(text: str) -> dict[str, str]:
    """Paths, URLs, files, numbers of two digits and more, versions, dates, names in code, errors:
    as they were typed, by a form in lower case and without thousands separators."""
    words = (word.strip(".:!?-–—/#%$&\\") for word in _SEPARATORS.split(_CITATION.sub(" ", text)))
    return {
        _THOUSANDS.sub("", word.casefold()): word
        for word in words
        if 1 < len(word) < 100 and (_SHAPES.search(word) or _FILE.search(word))
    }


def find_questions(text: str) -> dict[str, str]:
    """For each exact value the sentence that it stands in, without it: what somebody asks who
    remembers what it was about. "" where that leaves fewer than three words."""
    questions: dict[str, str] = {}
    for sentence in _SENTENCE.split(text):
        for value, typed in find_exact_values(sentence).items():
            rest = re.sub(re.escape(typed), " ", sentence, flags=re.I)
            enough = len(_WORD.findall(rest)) >= LEAST_WORDS
            questions[value] = " ".join(rest.split()) if enough else ""
    return questions


class Text:
    """A text as a place to look values up in."""

    def __init__(self, text: str) -> None:
        self._text = _THOUSANDS.sub("", text.casefold())

    def holds(self, value: str) -> bool:
        """Whether the value stands there by itself: 15 is not in 2015."""
        start = self._text.find(value)
        while start >= 0:
            end = start + len(value)
            before, after = self._text[max(0, start - 1) : start], self._text[end : end + 1]
            if not (before.isalnum() and value[0].isalnum()) and not (
                after.isalnum() and value[-1].isalnum()
            ):
                return True
            start = self._text.find(value, start + 1)
        return False
