"""Secrets are cut out of what others say, before anybody reads, stores or logs it.

A server may repeat the key that it was sent. Masked are the secrets that `remember_secret` was
told, in the forms in which they travel, and whatever else looks like a key.
"""

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from urllib.parse import quote, quote_plus

MASK = "[masked]"
# A key of letters alone may be a word: a local server is given "none" or "ollama", because the
# protocol wants a key. It is masked where a text speaks of a key, and may stand elsewhere.
LONGEST_WORD = 11
SHORTEST = 4
# A shorter secret is masked where it stands alone, not within a word or a number.
SURELY_RANDOM = 16

_WORD = re.compile(r"[A-Za-z][a-z_-]*|[A-Z_-]+")
_SPEAKS_OF_KEYS = r"(?P<before>(?:bearer|key|token|secret|password)\W{1,5})"
_TOKEN = r"[A-Za-z0-9_.~+/=-]"
_LIKE_SECRETS = re.compile(
    rf"""
      (?<![A-Za-z0-9]) (?P<key> sk-[A-Za-z0-9_-]{{12,}} )
    | (?<![A-Za-z0-9]) (?P<signed> eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_.-]{{8,}} )
    | \b (?i:bearer|basic) (?: \s | %20 | \+ )+ (?P<sent> {_TOKEN}{{8,}} )
    | (?i:key|token|secret|password|authorization) [^=:\s]{{0,20}} [^=:\n]{{0,10}}
      (?: [=:] | %3[ADad] ) [\s"'\\]* (?P<named> {_TOKEN}{{12,}} )
    | :// (?P<user> [^\s/@]{{1,500}} ) @
    """,
    re.X,
)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_known: frozenset[str] = frozenset()
_pattern: re.Pattern[str] | None = None


def remember_secret(secret: str) -> None:
    """From now on mask a secret wherever it stands. Cheap for one that is known."""
    global _known, _pattern
    if len(secret) < SHORTEST or secret in _known:
        return
    _known |= {secret}
    _pattern = re.compile("|".join(_list_patterns(_known)), re.I)


def mask(text: str) -> str:
    """A text without the secrets that are known, and without what looks like one."""
    if _pattern:
        text = _pattern.sub(lambda found: (found["before"] or "") + MASK, text)
    return _LIKE_SECRETS.sub(_mask_likely, text)


def _list_patterns(secrets: Iterable[str]) -> Iterator[str]:
    words = {each for each in secrets if len(each) <= LONGEST_WORD and _WORD.fullmatch(each)}
    forms = {form for each in set(secrets) - words for form in _list_forms(each)}
    for form in sorted(forms, key=len, reverse=True):  # one may begin with another
        alone = len(form) < SURELY_RANDOM
        yield rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])" if alone else re.escape(form)
    yield rf"{_SPEAKS_OF_KEYS}(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?![A-Za-z0-9])"


def _list_forms(secret: str) -> set[str]:
    """A secret as it stands in a text, an address, JSON and HTML."""
    return {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        escape(secret),
    }


def _mask_likely(found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    value = found[kind]
    if not _is_secret(kind, value):
        return found[0]
    start, end = found.span(kind)
    return found[0][: start - found.start()] + MASK + found[0][end - found.start() :]


def _is_secret(kind: str, value: str) -> bool:
    """Whether it is one, and not a word or the name of a model that stands in its place."""
    if kind in ("signed", "user"):
        return True
    if kind == "named":
        runs = any(map(_is_mixed, _RUN.findall(value)))
        return runs or value.startswith("sk-") or _UUID.match(value) is not None
    if kind == "key" and value.startswith("sk-ant-"):
        return True
    return _is_mixed(value) or (kind == "key" and value != value.lower())


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
