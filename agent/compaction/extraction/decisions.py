"""What users settle in their own words: a value that a short sentence states, a decision, a change.

A writer may leave it out of a summary, so code takes it from the originals: into the index, before
values that only come up, and where a known value is replaced, as the bullet that the form asks for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from agent.audit.facts.denial import is_denied
from agent.audit.facts.words import find_content_words, is_cjk
from agent.authorship.typed import TypedText, read_typed_texts, read_written_text
from agent.compaction.extraction.decision_wordings import (
    ANOTHER,
    CHANGED,
    CHOSEN,
    DECIDED,
    FROM_TO,
    LINKED,
    NEW,
    OF_CHANGES,
    OLD,
    QUESTION,
    REPLACED,
    UNSURE,
)
from agent.messages import AgentMessage
from agent.search.exact_values import (
    IndexEntry,
    Weight,
    find_identifiers,
    find_index_entries,
    normalise,
)

LONGEST = 160  # characters of a sentence that is kept whole
# Words beside its value of a sentence that is there to state it; characters where a script writes
# no spaces.
STATING_WORDS, STATING_CHARACTERS = 12, 30
LINK_WORDS = 3  # at most between a value and the words that say what it is
MOST_VALUES = 2  # of a sentence that states or replaces one

_CITED = re.compile(r"\[#[^\]]*\]")
_MARKUP = re.compile(r"^[-*+>#][ \t]+|\*\*")
_CONTRACTION = re.compile(r"\w+['’]\w+")
_CLAUSE_ENDS = ".,;:!。，；：！।،؛—–\n"
_KINDS = {
    "date": re.compile(
        r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\.\d{1,2}\.(?:\d{2}|\d{4})\b|\b[A-Z][a-z]+[ -]\d{1,2}\b"
    ),
    "time": re.compile(r"^\d{1,2}:\d\d"),
    "share": re.compile("%"),
}


@dataclass(frozen=True, slots=True)
class ValueChange:
    """That a value holds in place of another, with what both are said of, and the messages that say
    so: the old one's, and the new one's."""

    subject: str
    old: str
    new: str
    numbers: tuple[int, int]

    def render(self) -> str:
        """As a bullet of the form. It names the subject on the old side only."""
        old = f"{self.subject} {self.old}".strip()
        return f"- Replaced: {old} → {self.new} [#{self.numbers[0]} #{self.numbers[1]}]"


# --- The index ------------------------------------------------------------------------------------


def find_decisions(
    messages: Iterable[AgentMessage], known: Iterable[IndexEntry]
) -> tuple[list[IndexEntry], list[ValueChange]]:
    """The index entries of the user's messages, and the values that they replace, of those that are
    `known` from earlier ones or are stated in them. Entries are values, those that are settled with
    their whole sentence, and decisions that name none."""
    before = _Known(known)
    entries: list[IndexEntry] = []
    changes: dict[tuple[str, str], ValueChange] = {}
    for message in messages:
        said = list(_list_sentences(message))
        found = {normalise(e.value): e for e in _find_entries(message, said)}
        for sentence in [*said, *map(" ".join, zip(said, said[1:], strict=False))]:
            if change := _find_change(sentence, message.number, before):
                changes.pop((change.new, change.old), None)  # it holds again
                changes[change.old, change.new] = change
                value = normalise(change.new)
                found[value] = IndexEntry(change.new, message.number, sentence, Weight.CHANGED)
                found.pop(normalise(change.old), None)
        before.add(found.values())
        entries += found.values()
    return entries, list(changes.values())


def _find_entries(message: AgentMessage, said: Sequence[str]) -> Iterator[IndexEntry]:
    """Those of one message whose sentences are `said` by the user themselves."""
    entries = find_index_entries(message.number, read_written_text(message))
    settled: dict[str, tuple[Weight, str]] = {}
    short = (sentence for sentence in dict.fromkeys(said) if len(sentence) <= LONGEST)
    weighed = {each: weight for each in short if (weight := _weigh(each))}
    named = {sentence: find_identifiers(sentence) for sentence in weighed}
    labels = Counter(_leave_out(sentence, values) for sentence, values in named.items())
    for sentence, weight in weighed.items():
        values = named[sentence]
        # The same words with several values, as in a schedule: none is *the* value.
        if weight < Weight.AGREED and labels[_leave_out(sentence, values)] > 1:
            continue
        settled |= {normalise(value): (weight, sentence) for value in values}
        if not values:
            yield IndexEntry(sentence, message.number, sentence, weight)
    for entry in entries:
        weight, words = settled.get(normalise(entry.value), (Weight.NONE, entry.words))
        yield replace(entry, words=words, weight=weight)


def _list_sentences(message: AgentMessage) -> Iterator[str]:
    """What the user typed themselves, a sentence each on one line."""
    for text in read_typed_texts(message):
        for part in text.sentences():
            if text.is_typed(part) and (said := _read(text, part)):
                yield said


def _read(text: TypedText, part: tuple[int, int]) -> str:
    said = " ".join(_CITED.sub(" ", text.text[slice(*part)]).split())
    return _MARKUP.sub("", said)


def _weigh(sentence: str) -> Weight:
    """How much a sentence settles. One that ends with a colon settles what follows it: nothing by
    itself. Signs and values without a word of content, as in a table, are no sentence."""
    if QUESTION.search(sentence) or UNSURE.search(sentence) or sentence.endswith((":", "：")):
        return Weight.NONE
    values = find_identifiers(sentence)
    if len(values) > MOST_VALUES or not find_content_words(_leave_out(sentence, values)):
        return Weight.NONE
    if DECIDED.search(sentence) or (values and CHOSEN.search(sentence)):
        return Weight.DECIDED if values else Weight.AGREED
    if not values or not _is_short(sentence, values):
        return Weight.NONE
    linked = any(_is_linked(sentence, value) for value in values)
    return Weight.STATED if linked else Weight.BRIEF


def _is_linked(sentence: str, value: str) -> bool:
    """Whether a sentence says that something is the value."""
    before, _, after = sentence.partition(value)
    near = before if any(map(is_cjk, before)) else " ".join(before.split()[-LINK_WORDS - 1 :])
    # In Hindi the verb comes last.
    return bool(LINKED.search(near)) or after.strip().startswith(("है", "हैं", "です", "だ"))


def _is_short(sentence: str, values: Sequence[str]) -> bool:
    words = _leave_out(sentence, values).split()
    if any(map(is_cjk, sentence)):
        return len("".join(words)) <= STATING_CHARACTERS
    return len(words) <= STATING_WORDS


def _leave_out(sentence: str, values: Sequence[str]) -> str:
    for value in values:
        sentence = sentence.replace(value, " ")
    return sentence


# --- Changes --------------------------------------------------------------------------------------


class _Known:
    """The entries that are known, by their value, and by what they state it of."""

    def __init__(self, entries: Iterable[IndexEntry]) -> None:
        self._entries: dict[str, IndexEntry] = {}
        self._stated: dict[tuple[str, frozenset[str]], dict[str, IndexEntry]] = {}
        self.add(entries)

    def add(self, entries: Iterable[IndexEntry]) -> None:
        for entry in entries:
            key = normalise(entry.value)
            if old := self._entries.get(key):
                self._stated.get(self._find_key(old.words, old.value), {}).pop(key, None)
            self._entries[key] = entry
            if entry.weight < Weight.STATED:
                continue
            words, changed = entry.words, entry.weight == Weight.CHANGED
            if changed:  # it names what it took the place of
                others = (v for v in find_identifiers(words) if normalise(v) != key)
                for value in filter(lambda v: normalise(v) in self._entries, others):
                    words = words.replace(value, " ")
            same = self._stated.setdefault(self._find_key(words, entry.value), {})
            if changed:
                same.clear()
            same[key] = entry

    def get(self, key: str) -> IndexEntry | None:
        return self._entries.get(key)

    def list_of_same(self, sentence: str, value: str) -> list[IndexEntry]:
        """Those that state another value of the kind of the very thing that a sentence names."""
        key = self._find_key(sentence, value)
        return [*self._stated.get(key, {}).values()] if key[1] else []

    @staticmethod
    def _find_key(sentence: str, value: str) -> tuple[str, frozenset[str]]:
        return _find_kind(value), _find_subject(sentence, value)


def _find_change(sentence: str, number: int, before: "_Known") -> ValueChange | None:
    """The change that a sentence says, of what it speaks of and nothing else."""
    if len(sentence) > LONGEST or any(p.search(sentence) for p in (QUESTION, UNSURE, ANOTHER)):
        return None
    values = {normalise(value): value for value in find_identifiers(sentence)}
    if len(values) == 1:
        found = _find_stated_anew(sentence, next(iter(values.values())), before)
    elif len(values) == MOST_VALUES:
        found = _find_replaced(sentence, values, before)
    else:
        return None
    if not found:
        return None
    known, new = found
    subject = _find_common(known.words, sentence, (known.value, *values.values()))
    if not find_content_words(_CONTRACTION.sub("", subject)):
        return None
    old, value = (each.rstrip(".,;:") for each in (known.value, new))
    return ValueChange(subject, old, value, (known.number, number))


def _find_stated_anew(sentence: str, value: str, before: "_Known") -> tuple[IndexEntry, str] | None:
    """The entry of which a sentence states another value, and that: both say that the very same
    thing is the value."""
    if before.get(normalise(value)) or not _is_changed(sentence, value):
        return None
    same = before.list_of_same(sentence, value)
    return (same[0], value) if len(same) == 1 else None


def _is_changed(sentence: str, value: str) -> bool:
    """Whether the words for a change stand beside the value that something is."""
    start = sentence.find(value)
    end = start + len(value)
    for match in CHANGED.finditer(sentence):
        between = sentence[match.end() : start] or sentence[end : match.start()]
        if len(between.split()) <= LINK_WORDS and len(between) <= STATING_CHARACTERS:
            follows = not between.strip() and sentence[: match.start()].strip()
            return bool(follows) or _is_linked(sentence, value)
    return False


def _find_replaced(
    sentence: str, values: Mapping[str, str], before: "_Known"
) -> tuple[IndexEntry, str] | None:
    """The entry whose value a sentence with two of them says to hold no longer, and the other
    value: a new one, or one that was replaced by it before."""
    for key, other in (list(values), list(values)[::-1]):
        known, back = before.get(key), before.get(other)
        if not known or known.weight == Weight.NONE:
            continue
        if back and not (known.weight == Weight.CHANGED and known.number > back.number):
            continue
        old, new = values[key], values[other]
        if _find_kind(old) != _find_kind(new):
            continue
        marked = sentence.replace(old, OLD).replace(new, NEW)
        moved = FROM_TO.search(marked)
        match = moved or REPLACED.search(marked)
        if not match or marked.count(OLD) != 1 or marked.count(NEW) != 1:
            continue
        rest = marked if moved else f"{marked[: match.start()]} {marked[match.end() :]}"
        if is_denied(rest):  # “do not change it from … to …”
            continue
        start = min(match.start(), marked.find(OLD), marked.find(NEW))
        end = max(match.end(), marked.find(OLD), marked.find(NEW))
        start = max(marked.rfind(sign, 0, start) for sign in _CLAUSE_ENDS) + 1
        if _find_subject(marked[start:end], "") <= _find_subject(known.words, known.value):
            return known, new
    return None


def _find_subject(sentence: str, value: str) -> frozenset[str]:
    """The words that tell what a sentence says its value of."""
    said = OF_CHANGES.sub(" ", (sentence.replace(value, " ") if value else sentence).strip())
    words: set[str] = set()
    for part in said.split():  # so that no pair of characters reaches over what was left out
        words |= find_content_words(part)
    return frozenset(words)


def _find_kind(value: str) -> str:
    """What kind of value it is, as far as one of another kind cannot take its place."""
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(value)), "")


def _find_common(old: str, new: str, values: Sequence[str]) -> str:
    """The longest part that two sentences share, values aside."""
    for value in values:
        old, new = old.replace(value, "\n"), new.replace(value, "\r")
    joint = "" if any(map(is_cjk, old)) else " "
    before, after = (list(text) if not joint else text.split(" ") for text in (old, new))
    match = SequenceMatcher(None, _fold(before), _fold(after), autojunk=False).find_longest_match()
    return joint.join(before[match.a : match.a + match.size]).strip(" \n\r.,:;，。：")


def _fold(words: Sequence[str]) -> list[str]:
    return [word.casefold().strip(".,:;") for word in words]
