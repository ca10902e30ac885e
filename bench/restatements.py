"""True restatements and lies in ten languages, and two models that answer for them.

What `bench/restatements.txt` says is given to the audit; what that doubts, once more to a model: an
*honest* one, which gives the words that bear a true statement out, or a *careless* one, which
repeats its lie with the sentence of the message that is most like it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.compaction.borne_out import Given, GivenQuotes
from agent.compaction.evidence import Source, find_citations, remove_citations
from agent.compaction.facts.words import TOKEN, clean
from agent.compaction.verify import audit
from agent.messages import Message, RawTokens, Role

FILE = Path(__file__).with_name("restatements.txt")
CERTAIN = ("number", "unit", "currency", "name", "negation")
LESS_CERTAIN = ("hedge", "tense", "quantity", "speaker", "role")
_ROLES: dict[str, Role] = {"u": "user", "a": "assistant"}
_SENTENCE = re.compile(r"[^.!?。।؟]+[.!?。।؟]")


@dataclass(frozen=True, slots=True)
class Restatement:
    """One bullet; `half` is 0 where rules were tuned on it, else 1. `quotes`: what an honest model
    gives for a true one."""

    language: str
    kind: str
    true: bool
    bullet: str
    quotes: Sequence[Given]
    messages: Sequence[Message]
    half: int


def read_restatements() -> list[Restatement]:
    """All of the file."""
    found: list[Restatement] = []
    language, messages = "", list[Message]()
    counted: Counter[str] = Counter()
    for line in FILE.read_text("utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "=":
            language, messages = rest, []
        elif mark in _ROLES:
            block = {"type": "text", "text": rest}
            messages.append(Message(len(messages) + 1, _ROLES[mark], [block], RawTokens(0)))
        elif mark in ("+", "-"):
            kind, bullet, *places = (part.strip() for part in rest.split("|"))
            quotes = tuple(_read_quotes(bullet, places, messages))
            half = counted[kind] % 2
            counted[kind] += 1
            found.append(Restatement(language, kind, mark == "+", bullet, quotes, messages, half))
    return found


def _read_quotes(
    bullet: str, places: Sequence[str], messages: Sequence[Message]
) -> Iterator[Given]:
    """Those of an honest model."""
    for place in (part for each in places for part in each.split()):
        number, sentence = map(int, place.split("."))
        yield Given((number,), _split(messages[number - 1])[sentence - 1])
    if not places:
        for number in find_citations(bullet):
            yield Given((number,), _read(messages[number - 1]))


def _read(message: Message) -> str:
    text: str = message.blocks[0]["text"]
    return text


def _split(message: Message) -> list[str]:
    return [each.strip() for each in _SENTENCE.findall(_read(message))]


def judge(each: Restatement, answered: Sequence[Given] = ()) -> str:
    """What becomes of a bullet: passed, marked or dropped."""
    line = f"- {each.bullet}"
    given = GivenQuotes({line: answered} if answered else {}, each.messages)
    _, findings = audit(f"## Facts and values\n{line}", Source(each.messages), given)
    if findings.dropped:
        return "dropped"
    return "marked" if findings.unverified else "passed"


def answer_honestly(each: Restatement) -> Sequence[Given]:
    """The words that bear it out."""
    return each.quotes


def answer_carelessly(each: Restatement) -> Sequence[Given]:
    """The sentence of each cited message that has most in common with it."""
    said = set(TOKEN.findall(clean(remove_citations(each.bullet)).casefold()))

    def count_shared(sentence: str) -> int:
        return len(said.intersection(TOKEN.findall(clean(sentence).casefold())))

    numbers = find_citations(each.bullet)
    return [Given((n,), max(_split(each.messages[n - 1]), key=count_shared)) for n in numbers]
