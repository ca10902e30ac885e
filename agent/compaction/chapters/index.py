"""The lines of the index: the user's exact values, what matters most first. Pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from agent.audit.evidence import find_citations
from agent.audit.facts.words import find_content_words
from agent.audit.grounding import REPLACED
from agent.messages import RawTokens
from agent.search.exact_values import IndexEntry, find_identifiers, keep_newest, normalise
from agent.tokens import TokenCounter

BETWEEN = " · "  # values of one message
# At the end, where there is no room for all.
MORE = "- (Of {count} more values there is no room here; search has them.)"
MORE_SHARE = 0.1  # of the index, at most, to say so
# Of the index, for what the user settled where not everything fits: it is sent with its sentence.
SETTLED_SHARE = 0.85
# Parts of the conversation that have the same right to what there is room for: what is young has no
# claim to all of it.
AGES = 12

_MORE = re.compile(re.escape(MORE).replace(r"\{count\}", r"\d+"))
_LINE = re.compile(r"- (?P<values>.+) \[#(?P<number>\d+)\]")


def list_index_lines(
    entries: Sequence[IndexEntry],
    changes: Iterable[str],
    record: str,
    budget: RawTokens,
    counter: TokenCounter,
) -> list[str]:
    """Values in the order of their messages, each where it was mentioned last. Where not all fit
    with their words, first those that the user settled and the `record` lacks, then names before
    plain numbers and new ones before old ones, a line a message, and how many are left out. What
    was replaced, as the bullets of the `changes` say, is not there."""
    entries = _drop_replaced(keep_newest(entries), changes)
    full = [entry.render() for entry in entries]
    if counter.count("\n".join(full)) <= budget:
        return full
    note = counter.count(MORE.format(count=len(entries)))
    told = note <= MORE_SHARE * budget
    budget = RawTokens(budget - note if told else budget)
    settled = _choose_settled(entries, record, int(SETTLED_SHARE * budget), counter)
    lines = {entry.render_settled(): entry.number for entry in settled}
    budget = RawTokens(budget - sum(counter.count(line) + 1 for line in lines))
    chosen = {entry.value for entry in settled}
    values = _choose_values([e for e in entries if e.value not in chosen], budget, counter)
    lines |= {_line(number, texts): number for number, texts in values.items()}
    left_out = len(entries) - len(settled) - sum(map(len, values.values()))
    more = [MORE.format(count=left_out)] if told and left_out else []
    return [*sorted(lines, key=lines.__getitem__), *more]


def is_index_line(line: str, whole: Sequence[str]) -> bool:
    """Whether a shorter index may have a line where the `whole` one has these: one of them, values
    of one message without their words, or how many are left out."""
    if line in whole or _MORE.fullmatch(line):
        return True
    found = _LINE.fullmatch(line)
    if found is None:
        return False
    begins = [f"- {value} [#{found['number']}]" for value in found["values"].split(BETWEEN)]
    return all(any(each.startswith(begin) for each in whole) for begin in begins)


def _drop_replaced(entries: Sequence[IndexEntry], changes: Iterable[str]) -> list[IndexEntry]:
    """Those that still hold. A value that was mentioned again later, or that is said of something
    else, may be another one's."""
    replaced: dict[str, list[tuple[int, set[str]]]] = {}  # by value: until when, with which words
    for line in changes:
        match = REPLACED.match(line)
        if not match:
            continue
        old = match[0].partition("Replaced:")[2]
        until, words = max(find_citations(line), default=0), find_content_words(old)
        for value in find_identifiers(old):
            replaced.setdefault(normalise(value), []).append((until, words))

    def is_old(entry: IndexEntry) -> bool:
        own = find_content_words(entry.words)
        return any(
            until >= entry.number and (not words or words & own)
            for until, words in replaced.get(normalise(entry.value), ())
        )

    return [entry for entry in entries if not is_old(entry)]


def _choose_settled(
    entries: Sequence[IndexEntry], record: str, budget: int, counter: TokenCounter
) -> list[IndexEntry]:
    """What most settles first, and of the same weight some of each age."""
    said = _Said(record)
    missing = [entry for entry in entries if entry.weight and not said.has(entry)]
    last = max((entry.number for entry in missing), default=0) + 1
    chosen: list[IndexEntry] = []
    for weight in sorted({entry.weight for entry in missing}, reverse=True):
        ages: list[list[IndexEntry]] = [[] for _ in range(AGES)]
        for entry in reversed(missing):
            if entry.weight == weight:
                ages[entry.number * AGES // last].append(entry)
        for entry in (each for turn in zip_longest(*ages) for each in turn if each):
            budget -= counter.count(entry.render_settled()) + 1
            if budget < 0:
                return chosen
            chosen.append(entry)
    return chosen


class _Said:
    """What a record says of which message."""

    def __init__(self, record: str) -> None:
        self._lines: dict[int, list[str]] = {}
        for line in record.splitlines():
            for number in find_citations(line):
                self._lines.setdefault(number, []).append(normalise(line))

    def has(self, entry: IndexEntry) -> bool:
        value = normalise(entry.value)
        return any(value in line for line in self._lines.get(entry.number, ()))


def _choose_values(
    entries: Sequence[IndexEntry], budget: int, counter: TokenCounter
) -> dict[int, list[str]]:
    """Values by message."""
    lines: dict[int, list[str]] = {}
    for entry in sorted(entries, key=lambda e: (_is_plain_number(e.value), -e.number)):
        if entry.value == entry.words:  # a decision
            continue
        line = lines.get(entry.number, [])
        added = BETWEEN + entry.value if line else _line(entry.number, [entry.value]) + "\n"
        budget -= counter.count(added)
        if budget < 0:
            break
        lines[entry.number] = [*line, entry.value]
    return lines


def _line(number: int, values: Sequence[str]) -> str:
    return f"- {BETWEEN.join(values)} [#{number}]"


def _is_plain_number(value: str) -> bool:
    return normalise(value).replace(".", "").isdigit()
