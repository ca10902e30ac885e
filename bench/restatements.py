"""True restatements and lies in ten languages, and two models that answer for them.

What `bench/restatements.txt` or another such file says is given to the audit; what that doubts,
once to a model: an *honest* one, which gives the words that bear a true statement out or uses them
itself, or a *careless* one, which repeats its lie with the sentence of the message that is most
like it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.audit.audit import Mistake, audit
from agent.audit.correction import apply_correction
from agent.audit.evidence import Source, find_citations, remove_citations
from agent.audit.facts.words import TOKEN, clean
from agent.audit.quotes import Given, GivenQuotes
from agent.messages import AgentMessage, RawTokens, Role

FILE = Path(__file__).with_name("restatements.txt")
LONGER = Path(__file__).with_name("restatements_longer.txt")
CERTAIN = ("number", "unit", "currency", "name", "negation")
LESS_CERTAIN = ("hedge", "tense", "quantity", "speaker", "role")
# Values in other words than code may read: an honest model says them as the message does.
REWORDED = ("time", "duration")
# Goals: of true ones that are marked, and of lies of the two kinds that pass.
MOST_MARKED, MOST_CERTAIN, MOST_LESS_CERTAIN = 0.03, 0.15, 0.50
_ROLES: dict[str, Role] = {"u": "user", "a": "assistant"}
_SENTENCE = re.compile(r"[^.!?。।؟]+[.!?。।؟]")


@dataclass(frozen=True, slots=True)
class Restatement:
    """One bullet. `quotes`: what an honest model gives for a true one."""

    language: str
    kind: str
    true: bool
    bullet: str
    quotes: Sequence[Given]
    messages: Sequence[AgentMessage]


def read_restatements(file: Path = FILE) -> list[Restatement]:
    """All of a file."""
    found: list[Restatement] = []
    language, messages = "", list[AgentMessage]()
    for line in file.read_text("utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "=":
            language, messages = rest, []
        elif mark in _ROLES:
            block = {"type": "text", "text": rest}
            messages.append(AgentMessage(len(messages) + 1, _ROLES[mark], [block], RawTokens(0)))
        elif mark in ("+", "-"):
            kind, bullet, *places = (part.strip() for part in rest.split("|"))
            quotes = tuple(_read_quotes(bullet, places, messages))
            found.append(Restatement(language, kind, mark == "+", bullet, quotes, messages))
    return found


def _read_quotes(
    bullet: str, places: Sequence[str], messages: Sequence[AgentMessage]
) -> Iterator[Given]:
    """Those of an honest model."""
    for place in (part for each in places for part in each.split()):
        number, sentence = map(int, place.split("."))
        yield Given((number,), _split(messages[number - 1])[sentence - 1])
    if not places:
        for number in find_citations(bullet):
            yield Given((number,), _read(messages[number - 1]))


def _read(message: AgentMessage) -> str:
    text: str = message.blocks[0]["text"]
    return text


def _split(message: AgentMessage) -> list[str]:
    return [each.strip() for each in _SENTENCE.findall(_read(message))]


# --- What becomes of them -------------------------------------------------------------------------


def judge(each: Restatement) -> str:
    """What the audit makes of a bullet at once: passed, marked or dropped."""
    outcome, _ = _audit(each, f"- {each.bullet}", {})
    return outcome


def judge_answered(each: Restatement) -> str:
    """What becomes of a bullet after the model has answered for it, where it was doubted."""
    line = f"- {each.bullet}"
    outcome, wrong = _audit(each, line, {})
    if not wrong:
        return outcome
    text, given = apply_correction(line, wrong, f"1. {answer(each)}")
    outcome, _ = _audit(each, text, given)
    return outcome


def _audit(
    each: Restatement, line: str, given: Mapping[str, Sequence[Given]]
) -> tuple[str, Sequence[Mistake]]:
    quotes = GivenQuotes(given, each.messages)
    _, findings = audit(f"## Facts and values\n{line}", Source(each.messages), quotes)
    outcome = "dropped" if findings.dropped else "marked" if findings.unverified else "passed"
    return outcome, findings.wrong


def answer(each: Restatement) -> str:
    """The line of an honest model, or of a careless one."""
    if not each.true:
        return f"{each.bullet} {_quote(_find_most_like(each))}"
    if each.kind in REWORDED:
        numbers = " ".join(f"#{n}" for quote in each.quotes for n in quote.numbers)
        return f"{' '.join(quote.words for quote in each.quotes)} [{numbers}]"
    return _quote(each.quotes)


def _quote(quotes: Sequence[Given]) -> str:
    return " ".join(f'#{number}: "{words}"' for (number, *_), words in quotes)


def _find_most_like(each: Restatement) -> Sequence[Given]:
    """The sentence of each cited message that has most in common with a lie."""
    said = set(TOKEN.findall(clean(remove_citations(each.bullet)).casefold()))

    def count_shared(sentence: str) -> int:
        return len(said.intersection(TOKEN.findall(clean(sentence).casefold())))

    numbers = find_citations(each.bullet)
    return [Given((n,), max(_split(each.messages[n - 1]), key=count_shared)) for n in numbers]
