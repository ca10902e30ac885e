"""What a text holds besides its words: `=>`, `?!`, `…`."""

import re
from itertools import pairwise

from agent.search.lexical import fold, spell


def _is_sign(character: str) -> bool:
    """Whether no word holds it."""
    if character.isspace():
        return False
    return not (character.isalnum() if character.isascii() else fold(character))


_ASCII = [chr(code) for code in range(128)]
_WORDS = {ord(character): " " for character in _ASCII if character.isalnum()}
# Of ASCII, where most signs of more than one character are.
_TOGETHER = re.compile(rf"[{re.escape(''.join(filter(_is_sign, _ASCII)))}]+")


def find_signs(text: str) -> list[str]:
    """Each sign of a text once, and each two ASCII signs that stand together, as tokens, of which
    there are some thousands at most. A text holds another letter by letter only if it has all of
    the other's tokens."""
    if text.isascii():  # the same, in a third of the time
        runs = set(text.translate(_WORDS).split())
        found = set("".join(runs))
    else:
        runs = set(_TOGETHER.findall(text))
        found = {character for character in set(text) if _is_sign(character)}
    for run in runs:
        found.update(map("".join, pairwise(run)))
    return sorted("".join(map(spell, signs)) for signs in found)
