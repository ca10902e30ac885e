"""What does the audit of a summary keep, mark and drop?

`python -m bench.audit --data DIRECTORY`: 500 bullets in ten languages, each with what it is, made
by a script with fixed seeds. English ones restate sentences of LoCoMo and BEAM, those of nine other
languages are filled in from `bench.audit_sentences`. *Passed* is neither marked nor dropped. Each
rate is given for the half of the conversations that the rules were tuned on (`.tuned`) and for the
other one (`.other`), which alone has the goals. What becomes of doubted bullets after a model has
answered for them is measured on those of `bench.restatements`.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from time import process_time

from agent.audit.audit import audit
from agent.audit.evidence import Source
from agent.messages import AgentMessage, RawTokens
from bench.audit_sentences import LANGUAGES, Four, Language
from bench.dialogues import read_dialogues
from bench.report import Report, percentile
from bench.restatements import report_answers

CONVERSATIONS = 4  # for each language
ENGLISH = 140  # bullets
LONG = 640_000  # characters of messages: about 160,000 tokens
CHAPTER = 45  # bullets of about 2,000 tokens
# Kind of bullet, what is counted, and the most of it that is wanted.
GOALS = {
    "true": ("dropped", 0.02),
    "derived": ("dropped", 0.02),
    "invented": ("passed", 0.05),
    "swapped number": ("passed", 0.15),
    "swapped name": ("passed", 0.30),
    "negated": ("passed", 0.50),
    "halves of two": ("passed", None),
}
ALSO = {"true": "marked", "derived": "marked"}  # beside it, without a goal


@dataclass(frozen=True, slots=True)
class Case:
    """One bullet about a conversation; `half` is 0 or 1."""

    language: str
    kind: str
    bullet: str
    source: Source
    half: int


def judge(case: Case) -> str:
    """What becomes of a bullet: passed, marked or dropped."""
    _, findings = audit(f"## Facts and values\n- {case.bullet}", case.source)
    if findings.dropped:
        return "dropped"
    return "marked" if findings.unverified else "passed"


def make_source(texts: Sequence[str]) -> Source:
    return Source(
        [
            AgentMessage(n, "user", [{"type": "text", "text": text}], RawTokens(0))
            for n, text in enumerate(texts, 1)
        ]
    )


# --- Nine languages -------------------------------------------------------------------------------


def write_cases(code: str, language: Language) -> Iterator[Case]:
    """Ten bullets about each of a few conversations of eight messages: four about one project, four
    about another, whose values are swapped in."""
    for index in range(CONVERSATIONS):
        variant, random = index // 2, Random(f"{code} {index}")
        one, other = choose_slots(language, random), choose_slots(language, random, one=False)
        texts = [each.format(**slots) for slots in (one, other) for each in language.said]
        source = make_source(texts)
        true, as_said = language.true, Four(*map(say_as_said, language.true))
        denied = Four(*map(say_as_said, language.denied))
        swapped = one | {name: other[name] for name in ("money", "word", "date")}
        span = true.span.replace(*language.days) if variant else true.span
        weeks = {"number": str(int(one["weeks"]) * (7 if variant else 1))}
        renamed = one | {name: other[name] for name in ("name", "city")}
        made = [
            ("true", true.person, one, 1),
            ("true", true.price, one, 2),
            ("true", true.need, one, 3),
            ("derived", span, one | weeks, 4),
            ("swapped number", as_said.price, swapped, 2),
            ("swapped number", as_said[variant * 2], swapped, 1 + variant * 2),
            ("swapped name", as_said[variant * 2], renamed, 1 + variant * 2),
            ("negated", denied[index % 4], one, 1 + index % 4),
            ("negated", denied[(index + 1) % 4], one, 1 + (index + 1) % 4),
            ("invented", true[index % 3], invent_slots(language, random), 1 + (index + 1) % 4),
        ]
        for kind, sentence, slots, number in made:
            yield Case(code, kind, f"{sentence.format(**slots)} [#{number}]", source, index % 2)


def say_as_said(sentence: str) -> str:
    """A sentence with its values in the form that the message has: only what is changed differs."""
    sentence = sentence.replace("{iso}", "{date}").replace("{number}", "{word}")
    return sentence.replace("{amount} {code}", "{money}")


def choose_slots(language: Language, random: Random, *, one: bool = True) -> dict[str, str]:
    """Values for the sentences: of `one` project, or of another, whose values differ."""
    half = slice(0, 3) if one else slice(3, 6)
    begin = date(2026, random.choice([3, 11, 12]), random.randint(1, 12) + (0 if one else 13))
    weeks = random.randint(2, 4)
    number = random.randint(3, 4) if one else random.randint(5, 7)
    amount = random.randrange(1_100, 4_900, 100) if one else random.randrange(5_100, 9_900, 100)
    grouped = f"{amount:,}".replace(",", language.thousands)
    words = language.words[number - 2]
    return {
        "name": random.choice(language.names[half]),
        "city": random.choice(language.cities[half]),
        "date": write_date(language, begin),
        "end": write_date(language, begin + timedelta(weeks=weeks)),
        "iso": begin.isoformat(),
        "money": write_digits(language, language.money.format(amount=grouped)),
        "amount": str(amount),
        "code": language.code,
        "number": str(number),
        "word": words,
        "weeks": str(weeks),
    }


def invent_slots(language: Language, random: Random) -> dict[str, str]:
    """Values that no message has."""
    return choose_slots(language, random) | {
        "name": random.choice(language.names[6:]),
        "city": "Oslo",
        "amount": str(random.randrange(20_100, 90_000, 7)),
        "number": str(random.randint(31, 48)),
        "iso": f"2031-0{random.randint(4, 9)}-1{random.randint(0, 9)}",
    }


def write_date(language: Language, day: date) -> str:
    month = language.months[{3: 0, 11: 1, 12: 2}.get(day.month, 0)]
    if day.month not in (3, 11, 12):  # the end of a span: as a number
        return write_digits(language, f"{day.day:02}.{day.month:02}.{day.year}")
    text = language.date.format(day=day.day, month=month, year=day.year)
    return write_digits(language, text)


def write_digits(language: Language, text: str) -> str:
    return text.translate(str.maketrans("0123456789", language.digits))


# --- English --------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NUMBER = re.compile(r"(?<![\w.,$-])\d[\d,]*(?![\w%:/-]|\.\d)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_DENIABLE = re.compile(r"\b(is|was|are|were|will|can|should|have|has|had|could)\b(?! not|n't)")
_MONTHS = "January February March April May June July August September October November December"
_SMALL = "two three four five six seven eight nine ten"
_WORDS = dict(enumerate(_SMALL.split(), 2))
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_NOT_NAMES = frozenset([*_MONTHS.split(), *_WEEKDAYS.split()])


@dataclass(frozen=True, slots=True)
class Sentence:
    number: int  # of its message
    text: str
    numbers: list[str]
    names: list[str]


def read_sentences(texts: Sequence[str]) -> list[Sentence]:
    """Those of a conversation that hold a number or a name and are of a bullet's length."""
    found = []
    for number, text in enumerate(texts, 1):
        for sentence in _SENTENCE.split(text):
            names = [name for name in _NAME.findall(sentence) if name not in _NOT_NAMES]
            numbers = _NUMBER.findall(sentence)
            plain = not set("|#*`>?:").intersection(sentence) and "->" not in sentence
            if plain and (names or numbers) and 8 <= len(sentence.split()) <= 30:
                found.append(Sentence(number, sentence.strip(" -.!"), numbers, names))
    return found


def restate(text: str) -> str:
    """The same in other forms: money by its code, dates as ISO has them, small numbers in words."""
    text = re.sub(r"\$(\d[\d,]*)(?![\d.]*[kKmM\d])", lambda m: f"{m[1].replace(',', '')} USD", text)
    months = "|".join(_MONTHS.split())

    def iso(match: re.Match[str]) -> str:
        month = _MONTHS.split().index(match[1]) + 1
        return f"{match[3]}-{month:02}-{int(match[2]):02}"

    text = re.sub(rf"\b({months}) (\d{{1,2}}),? (\d{{4}})\b", iso, text)
    return re.sub(r"(?<![\w.,$/:-])([2-9]|10)(?= [a-z])", lambda match: _WORDS[int(match[1])], text)


def swap(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)


def read_english(folder: Path) -> Iterator[Case]:
    """Bullets about sentences of the data, the kinds in turn, no more than a few from each
    conversation."""
    dialogues = list(read_dialogues(folder))
    texts = [[text for _, text, _ in dialogue.messages] for dialogue in dialogues]
    sources = [make_source(each) for each in texts]
    sentences = [read_sentences(each) for each in texts]
    kinds = ["true", "invented", "swapped number", "swapped name", "negated", "halves of two"]
    made = 0
    for turn in range(ENGLISH):
        for index, random in ((i, Random(f"en {i} {turn}")) for i in range(len(dialogues))):
            kind = kinds[(turn + index) % len(kinds)]
            strangers = sentences[(index + 1) % len(dialogues)]
            if (bullet := mutate(kind, sentences[index], strangers, random)) is None:
                continue
            yield Case("en", kind, bullet, sources[index], index % 2)
            made += 1
            if made == ENGLISH:
                return


def mutate(
    kind: str, own: Sequence[Sentence], strangers: Sequence[Sentence], random: Random
) -> str | None:
    """A bullet of a kind, or None where the sentence that was drawn gives none."""
    one, other, stranger = random.choice(own), random.choice(own), random.choice(strangers)
    text: str | None = one.text
    if kind == "true":
        text = restate(one.text)
    elif kind == "invented":
        text = stranger.text
    elif kind == "swapped number":
        foreign = set(other.numbers) - set(one.numbers)
        text = swap(one.text, one.numbers[0], min(foreign)) if one.numbers and foreign else None
    elif kind == "swapped name":
        foreign = set(other.names) - set(one.text.split())
        text = swap(one.text, one.names[0], min(foreign)) if one.names and foreign else None
    elif kind == "negated":
        text, denied = _DENIABLE.subn(r"\1 not", one.text, count=1)
        text = text if denied else None
    else:
        words, rest = one.text.split(), other.text.split()
        text = " ".join(words[: len(words) // 2] + rest[len(rest) // 2 :])
    return (
        f"{text} [#{one.number}]" if text and text != stranger.text or kind == "invented" else None
    )


# --- Measuring ------------------------------------------------------------------------------------


def report_rates(report: Report, cases: Sequence[Case], half: int, name: str) -> None:
    outcomes: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        if case.half == half:
            outcomes[case.kind].append(judge(case))
    for kind, (counted, goal) in GOALS.items():
        found = outcomes[kind]
        for outcome, most in ((counted, goal if half else None), (ALSO.get(kind), None)):
            if outcome and found:
                share = found.count(outcome) / len(found)
                report.add(f"{kind.replace(' ', '_')}.{outcome}.{name}", share, "share", most)


def measure_time(report: Report, texts: Sequence[str]) -> None:
    """Of a chapter about as many messages as a compaction reads."""
    sizes = accumulate(map(len, texts))
    cut = [text for text, size in zip(texts, sizes, strict=True) if size <= LONG]
    said = Random("time").sample(read_sentences(cut), CHAPTER)
    bullets = "\n".join(f"- {restate(each.text)} [#{each.number}]" for each in said)
    times = []
    for _ in range(5):
        source = make_source(cut)
        started = process_time()
        audit(f"## Facts and values\n{bullets}", source)
        times.append(1_000 * (process_time() - started))
    report.add("chapter_of_160k.ms", percentile(times, 0.5), "ms", 100)


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="holds locomo/ and beam/")
    parser.add_argument("--show", default="", help="print the bullets of this kind that go wrong")
    options = parser.parse_args()
    cases = [case for code, each in LANGUAGES.items() for case in write_cases(code, each)]
    cases += read_english(options.data)
    for case in cases if options.show else ():
        outcome = judge(case)
        wrong = outcome != "passed" if options.show in ("true", "derived") else outcome == "passed"
        if case.kind == options.show and wrong:
            print(outcome, case.half, case.language, case.bullet)
    report = Report(f"The audit, {len(cases)} bullets in {len(LANGUAGES) + 1} languages")
    report_rates(report, cases, 0, "tuned")
    report_rates(report, cases, 1, "other")
    report_answers(report)
    texts = [text for each in read_dialogues(options.data) for _, text, _ in each.messages]
    measure_time(report, texts)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
