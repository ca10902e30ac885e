"""Doubted statements that are given back to a model: the messages to show it, and what its answers
make of the record. `agent.compaction.writing.mending` asks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agent.audit.answers import Answer, read_answers
from agent.audit.audit import Mistake
from agent.audit.evidence import find_citations, remove_citations, strip_citations
from agent.audit.facts.words import clean, find_content_words
from agent.audit.grounding import BULLET, find_claims
from agent.audit.quotes import Given
from agent.messages import AgentMessage, plain_text

MOST_PLACES = 2  # messages that are shown for what a statement's own messages lack


class ShownMessage(NamedTuple):
    """A message that is shown for a statement, by its number, and what it is looked at for."""

    number: int
    wanted: str


def find_places(
    mistakes: Sequence[Mistake], messages: Sequence[AgentMessage]
) -> Iterator[Sequence[ShownMessage]]:
    """For each statement the messages that it cites, and the first that have what those lack; where
    there are none of either, those that have most words in common with it, or stand nearest."""
    texts = {each.number: text for each in messages if (text := plain_text(each.blocks))}
    words: Mapping[int, set[str]] = {}
    for statement, _ in mistakes:
        cited = [number for number in find_citations(statement) if number in texts]
        said = strip_citations(statement)
        found = [ShownMessage(number, said) for number in cited]
        values, exact = find_claims(clean(said))
        for claim in [*(value.text for value in values), *exact]:
            if not any(claim in texts[number] for number in cited):
                having = [number for number, text in texts.items() if claim in text]
                found += [ShownMessage(number, claim) for number in having[:MOST_PLACES]]
        if not found:
            words = words or {n: find_content_words(text) for n, text in texts.items()}
            own, at = find_content_words(said), max(find_citations(statement), default=0)
            near = sorted(words, key=lambda n: (-len(own & words[n]), abs(n - at) if at else -n))
            found = [ShownMessage(number, said) for number in near[:MOST_PLACES]]
        yield found


def apply_correction(
    text: str, mistakes: Sequence[Mistake], reply: str
) -> tuple[str, Mapping[str, Sequence[Given]]]:
    """A record with the statements that a model's reply mends in place of those that were given
    back, and the quotes that it gives, by the statements as they are now."""
    answers, lines = read_answers(reply), text.splitlines()
    given: dict[str, Sequence[Given]] = {}
    for number, (statement, _) in enumerate(mistakes, 1):
        if answer := answers.get(number):
            mended = _mend(statement, answer)
            lines = _put_in_place(lines, statement, mended)
            if answer.quotes:
                given[mended] = answer.quotes
    return "\n".join(lines), given


def _put_in_place(lines: list[str], old: str, new: str) -> list[str]:
    """Lines with another statement in the place of one: a line, or a sentence in one."""
    whole = [n for n, line in enumerate(lines) if line.strip() == old]
    for place in whole or [n for n, line in enumerate(lines) if old in line]:
        return [*lines[:place], lines[place].replace(old, new, 1), *lines[place + 1 :]]
    return lines


def _mend(statement: str, answer: Answer) -> str:
    """A statement as an answer has it. One without numbers rests on the messages that are quoted
    for it, or on those that it cited before. “That is right” is none: it has no number and not a
    word in common with what it should mend."""
    line = answer.statement
    if own := BULLET.match(line):
        line = line[own.end() :]
    cites = remove_citations(line) != line
    words, before = (find_content_words(clean(each)) for each in (line, statement))
    if not line or not (cites or words & before):
        return statement
    bullet = BULLET.match(statement)
    numbers = [n for each in answer.quotes for n in each.numbers] or find_citations(statement)
    if bullet and numbers and not cites:
        line += f" [{' '.join(f'#{n}' for n in dict.fromkeys(numbers))}]"
    return f"{bullet[0] if bullet else ''}{line}"
