"""Closed lists of words in ten languages, looked up in a clause."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.audit.facts.words import clean, has_cjk, is_cjk

_ARABIC_AND = ("و", "ف")  # written together with the word that follows


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words, beginnings of words, phrases of several words, and parts of texts without spaces."""

    words: frozenset[str]
    stems: tuple[str, ...]
    phrases: tuple[str, ...]
    parts: tuple[str, ...]
    beginnings: frozenset[str]  # the first words of the phrases

    @classmethod
    def parse(cls, table: str) -> "Lexicon":
        """A table of words with spaces between them: `plan*` is a beginning, `going_to` a phrase.
        Chinese and Japanese entries are found anywhere."""
        entries = clean(table).split()
        spaced = [entry for entry in entries if not is_cjk(entry)]
        return cls(
            frozenset(entry for entry in spaced if not {"*", "_"}.intersection(entry)),
            tuple(entry[:-1] for entry in spaced if entry.endswith("*")),
            tuple(f" {entry.replace('_', ' ')} " for entry in spaced if "_" in entry),
            tuple(entry for entry in entries if is_cjk(entry)),
            frozenset(entry.split("_")[0] for entry in spaced if "_" in entry),
        )

    def find(self, words: Sequence[str], text: str) -> str:
        """The first entry that stands in a text, "" for none; `words` are its words in lower
        case."""
        if not self.words.isdisjoint(words):
            return next(word for word in words if word in self.words)
        for word in words:
            if word.startswith(self.stems) or (word[0] in _ARABIC_AND and self.has(word[1:])):
                return word
        found = ""
        if not self.beginnings.isdisjoint(words):
            spaced = f" {' '.join(words)} "
            found = next((phrase for phrase in self.phrases if phrase in spaced), "")
        if found:
            return found.strip()
        if not has_cjk(text):
            return ""
        return next((part for part in self.parts if part in text), "")

    def has(self, word: str) -> bool:
        """Whether it has an entry for one word."""
        return word in self.words or word.startswith(self.stems) or word in self.parts
