"""What a conversation still holds of its first tenth after a long life: thousands of messages, and a
scripted writer that leaves out half of what it should record.

`python -m bench.life --data DIRECTORY --budget 34000`, where the directory holds `beam/`; without it
the messages are made up. Fifteen decisions and values and five reversals are planted; what the next
request says of them is counted.
"""

import argparse
import asyncio
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from agent.compaction.chapters import Chapter
from agent.compaction.job import Job, WrittenSummary
from agent.compaction.plan import apply_compaction, plan_compaction, render_chapters
from agent.compaction.policy import Policy
from agent.compaction.skills import INSTRUCTIONS
from agent.context.assemble import Context, measure
from agent.context.request import Request
from agent.context.summary import Summary
from agent.engine import compact
from agent.messages import Message
from agent.model.reply import Reply, fold_message
from agent.tokens import Factor, Limits, Model, Prices, TokenCounter
from bench.processes import ROOT
from bench.replay.conductor import RememberingCounter
from bench.replay.conversations import chain, read_beam
from bench.replay.summariser import find_entries, split_sentences
from bench.report import Report
from demo.api import protocol
from demo.api.recording import join_text
from demo.mind.recognition import HEADING, messages_of, summary_instruction

MODEL = "claude-sonnet-5-5"
DECISIONS, FACTS, GOALS = "Decisions", "Facts and values", "Goal and constraints"
WORK = "Current work and next step"
PLANTS, REVERSALS = 15, 5
EARLY = 0.1  # of the messages: where all plants stand, but the second halves of reversals
KEPT = 0.5  # of what the writer could say
WORDS = re.compile(r"Write at most (\d+) words")
STATEMENTS = re.compile(r"<statements>\n(.*?)\n</statements>", re.S)


# --- What is planted ------------------------------------------------------------------------------


class Words(NamedTuple):
    """One language's ways to say that something is so, that it is so by decision, and that it is
    otherwise from now on; and what there is to say it of."""

    facts: Sequence[str]
    decisions: Sequence[str]
    reversals: Sequence[str]
    subjects: Sequence[str]


LANGUAGES = {
    "en": Words(
        ("The {s} is {v}.", "For the record, {s}: {v}.", "Our {s} is {v}, by the way."),
        (
            "We decided: the {s} is {v}.",
            "Let's go with {v} as the {s}.",
            "I settled on {v} for {s}.",
        ),
        (
            "Change of plan: the {s} is {v} instead of {o}.",
            "The {s} is no longer {o}, it is {v} now.",
            "Please switch the {s} from {o} to {v}.",
        ),
        (
            "staging port",
            "launch date",
            "monthly budget",
            "mail host",
            "backup folder",
            "project name",
            "database version",
            "meeting time",
            "storage limit",
            "contact address",
            "contract number",
            "retry limit",
            "test account",
            "venue",
            "delivery deadline",
            "room code",
            "paint colour",
            "billing port",
            "release tag",
            "holiday start",
        ),
    ),
    "de": Words(
        ("Der Wert für {s} ist {v}.", "Zur Erinnerung, {s}: {v}.", "Bei uns gilt für {s}: {v}."),
        (
            "Wir haben entschieden: {s} ist {v}.",
            "Wir nehmen {v} als {s}.",
            "Beschlossen: {s} = {v}.",
        ),
        (
            "Planänderung: {s} ist jetzt {v} statt {o}.",
            "{s} ist nicht mehr {o}, sondern {v}.",
            "Ändere {s} bitte von {o} auf {v}.",
        ),
        (
            "Testport",
            "Starttermin",
            "Monatsbudget",
            "Mailserver",
            "Sicherungsordner",
            "Projektname",
            "Datenbankversion",
            "Besprechungszeit",
            "Speichergrenze",
            "Kontaktadresse",
            "Vertragsnummer",
            "Wiederholungsgrenze",
            "Testkonto",
            "Veranstaltungsort",
            "Liefertermin",
            "Raumcode",
            "Wandfarbe",
            "Rechnungsport",
            "Versionsmarke",
            "Urlaubsbeginn",
        ),
    ),
    "es": Words(
        ("El valor de {s} es {v}.", "Para que conste, {s}: {v}.", "Nuestro dato de {s} es {v}."),
        (
            "Hemos decidido que {s} sea {v}.",
            "Nos quedamos con {v} para {s}.",
            "Decisión: {s} = {v}.",
        ),
        (
            "Cambio de planes: {s} ahora es {v} en lugar de {o}.",
            "{s} ya no es {o}, ahora es {v}.",
            "Cambia {s} de {o} a {v}, por favor.",
        ),
        (
            "puerto de pruebas",
            "fecha de inicio",
            "presupuesto mensual",
            "servidor de correo",
            "carpeta de copias",
            "nombre del proyecto",
            "versión de la base",
            "hora de reunión",
            "límite de espacio",
            "dirección de contacto",
            "número de contrato",
            "límite de intentos",
            "cuenta de prueba",
            "lugar del evento",
            "fecha de entrega",
            "código de sala",
            "color de pared",
            "puerto de facturas",
            "etiqueta de versión",
            "inicio de vacaciones",
        ),
    ),
    "zh": Words(
        ("{s}是 {v}。", "记一下,{s}:{v}。", "我们的{s}是 {v}。"),
        ("我们决定{s}用 {v}。", "{s}就定为 {v}。", "决定:{s}是 {v}。"),
        ("{s}改为 {v},不再是 {o}。", "{s}不是 {o} 了,现在是 {v}。", "把{s}从 {o} 换成 {v}。"),
        (
            "测试端口",
            "上线日期",
            "每月预算",
            "邮件主机",
            "备份目录",
            "项目名称",
            "数据库版本",
            "会议时间",
            "存储上限",
            "联系地址",
            "合同编号",
            "重试上限",
            "测试账号",
            "活动场地",
            "交付期限",
            "房间代码",
            "墙面颜色",
            "账单端口",
            "版本标签",
            "假期开始",
        ),
    ),
}


class Plant(NamedTuple):
    """Something that a user says, and for a reversal what it was before: see `Life.judge`."""

    said: str
    subject: str
    value: str
    cited: str
    old: str = ""


def make_value(dice: random.Random) -> str:
    """A value of a shape that stands in no other message."""
    number = dice.randrange(2_000, 60_000)
    name = "".join(dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(2))
    return dice.choice(
        [
            str(number),
            f"20{dice.randrange(27, 60)}-0{dice.randrange(1, 10)}-{dice.randrange(10, 28)}",
            f"{name}.example.net",
            f"/srv/{name}/{number}",
            f"{dice.randrange(3, 90)}.{dice.randrange(10, 90)}.{dice.randrange(10, 90)}",
            f"{name.upper()}-{number}",
            f"{number} EUR",
        ]
    )


# --- The messages ---------------------------------------------------------------------------------

NOUNS = (
    "report table client server garden recipe invoice letter chapter lesson ticket budget".split()
)
VERBS = "check write move compare explain shorten order plan measure sort rename review".split()
THINGS = "the draft|the numbers|our list|both parts|the second page|the old notes|the rest".split(
    "|"
)


def make_exchanges(dice: random.Random) -> Iterator[tuple[str, str]]:
    """Made-up messages in the sizes of real ones: some 300 characters of a user, 2,000 of an
    answer, with numbers, names and questions in them."""

    def sentence() -> str:
        said = [
            f"Could you {dice.choice(VERBS)} {dice.choice(THINGS)} for the {dice.choice(NOUNS)}?",
            f"I had a look at the {dice.choice(NOUNS)} with {dice.randrange(3, 4000)} lines today.",
            f"The {dice.choice(NOUNS)} still feels too long to me.",
            f"There were {dice.randrange(2, 90)} % more than in the {dice.choice(NOUNS)} of last week.",
            f"It says Error{dice.randrange(100, 999)} in step_{dice.randrange(99)}.py again.",
            f"How would you {dice.choice(VERBS)} it, and what about the {dice.choice(NOUNS)}?",
        ]
        return dice.choice(said)

    while True:
        asked = " ".join(sentence() for _ in range(dice.randrange(1, 8)))
        answered = " ".join(sentence() for _ in range(dice.randrange(20, 110)))
        yield asked, answered


def read_exchanges(folder: Path, turns: int) -> Iterator[tuple[str, str]]:
    """The messages of real conversations, one after another, and again from the first."""
    return iter([(e.user, e.answer) for e in chain(read_beam(folder), turns).exchanges])


# --- The writer -----------------------------------------------------------------------------------


@dataclass
class CarelessWriter:
    """Says one thing of each message that it reads, and leaves out half of them, whatever they are.
    `headings`: under which of the form's it writes facts; none: under any. `length`: how many times
    as long as it was asked for its record may get."""

    dice: random.Random
    headings: Sequence[str]
    length: float
    plants: Mapping[str, Plant]

    async def complete(self, request: Request) -> Reply:
        """As `agent.model.client.Client.complete`."""
        blocks = [protocol.text(self.write(request.body()))]
        return fold_message({"content": blocks, "stop_reason": "end_turn", "usage": {}})

    def write(self, body: Mapping[str, Any]) -> str:
        asked = join_text(messages_of(body)[-1])
        if given_back := STATEMENTS.search(asked):
            return given_back[1]  # it stays with what it said
        instruction = summary_instruction(body)
        assert instruction
        demanded = HEADING.findall(instruction)
        words = self.length * int(WORDS.findall(asked)[-1])
        sections: dict[str, list[str]] = {heading: [] for heading in demanded}
        for heading, line in self._list_lines(body):
            words -= len(line.split())
            if words < 0:
                break
            sections[heading].append(line)
        sections[INSTRUCTIONS] = []
        return "\n".join(f"## {h}\n" + ("\n".join(s) or "None.") for h, s in sections.items())

    def _list_lines(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        entries = list(find_entries(body))
        self.dice.shuffle(entries)
        for entry in entries:
            plant = next((p for said, p in self.plants.items() if said in entry.text), None)
            said = plant.said if plant else next(iter(split_sentences(entry.text)), "")
            if not said or self.dice.random() > KEPT:
                continue
            if plant and plant.old:
                before = next(p for p in self.plants.values() if p.value == plant.old)
                line = (
                    f"- Replaced: {plant.subject} {plant.old} → {plant.value} "
                    f"[{before.cited} #{entry.number}]"
                )
                yield DECISIONS, line
            else:
                where = self.dice.choice(
                    [h for h in self.headings if h != GOALS or entry.role == "user"]
                )
                yield where, f"- {said} [#{entry.number}]"


# --- A life ---------------------------------------------------------------------------------------


@dataclass
class Life:
    """A conversation from its first message to its last."""

    budget: int
    writer: CarelessWriter
    counter: TokenCounter
    factor: float = 1.0
    messages: list[Message] = field(default_factory=list)
    chapters: list[Chapter] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    through: int = 0
    compactions: int = 0
    written: list[WrittenSummary] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.policy = Policy()
        self.limits = Limits(self.budget, 8_000, self.budget, Factor(self.factor, 0))
        self._size = 0

    def say(self, role: Any, text: str) -> None:
        blocks = [protocol.text(text)]
        number = len(self.messages) + 1
        message = Message(number, role, blocks, self.counter.count_blocks(blocks))
        self.messages.append(message)

    @property
    def context(self) -> Context:
        return Context(
            model=MODEL,
            limits=self.limits,
            messages=self.messages[self.through :],
            summary=self.summary,
            summary_through=self.through,
            first=self.messages[0] if self.through else None,
        )

    def compact_if_due(self) -> None:
        context = self.context
        size = measure(context, self.counter)
        if size.total < self.policy.trigger_tokens(self.limits):
            return
        plan = plan_compaction(
            context.messages, self.policy, self.limits, fixed=size.fixed, first=context.first
        )
        assert plan
        model = Model(MODEL, self.limits, Prices())
        job = Job(
            context, plan, self.chapters, size.total, self.policy, self.counter, model, model,
            ask=self.writer.complete, ask_own=self.writer.complete,
        )  # fmt: skip
        done = asyncio.run(compact(job))
        self.chapters, self.summary = done.result.chapters, done.summary
        self.through = plan.summarise[-1].number
        self.compactions += 1
        self.written.append(done.result)
        self.texts.append(done.summary.text)


class Outcome(NamedTuple):
    """How many of the plants stand in the summary, how many reversals with what holds now, and what
    is there as if it still held."""

    standing: int
    current: int
    stale: list[str]
    missing: list[str]


def live(
    seed: int,
    *,
    language: str = "en",
    headings: Sequence[str] = (DECISIONS, FACTS, GOALS),
    length: float = 1.0,
    messages: int = 3_000,
    budget: int = 34_000,
    exchanges: Iterator[tuple[str, str]] | None = None,
    counter: TokenCounter | None = None,
) -> tuple[Life, list[Plant]]:
    """A whole life with its plants."""
    dice = random.Random(seed)
    words = LANGUAGES[language]
    turns = messages // 2
    early = sorted(dice.sample(range(2, int(EARLY * turns)), PLANTS + REVERSALS))
    subjects = dice.sample(words.subjects, PLANTS + REVERSALS)
    planted: dict[int, Plant] = {}
    reversed_ = set(dice.sample(range(len(early)), REVERSALS))
    for place, (turn, subject) in enumerate(zip(early, subjects, strict=True)):
        value = make_value(dice)
        form = dice.choice([*words.facts, *words.decisions])
        number = 2 * turn + 1
        planted[turn] = Plant(form.format(s=subject, v=value), subject, value, f"#{number}")
        if place in reversed_:
            later = dice.randrange(turn + 1, turns - 40)
            while later in planted:
                later = dice.randrange(turn + 1, turns - 40)
            new = make_value(dice)
            said = dice.choice(words.reversals).format(s=subject, v=new, o=value)
            planted[later] = Plant(said, subject, new, f"#{2 * later + 1}", value)
    writer = CarelessWriter(dice, headings, length, {p.said: p for p in planted.values()})
    life = Life(budget, writer, counter or RememberingCounter(Path("/no/vocabulary")))
    source = exchanges or make_exchanges(dice)
    for turn, (asked, answered) in enumerate(islice(source, turns)):
        if plant := planted.get(turn):
            asked = plant.said if dice.random() < 0.5 else f"{asked} {plant.said}"
        life.say("user", asked)
        life.compact_if_due()
        life.say("assistant", answered)
    return life, list(planted.values())


def judge(life: Life, plants: Sequence[Plant]) -> Outcome:
    """What the system prompt of the next request says of the plants."""
    text = life.summary.text
    gone = {plant.old for plant in plants if plant.old}
    standing = [p for p in plants if p.value not in gone and p.value in text]
    current = [p for p in standing if p.old]
    stale = []
    for plant in plants:
        if plant.old:
            lines = [line for line in text.splitlines() if plant.old in line]
            stale += [line for line in lines if plant.value not in line]
    missing = [p.said for p in plants if p.value not in gone and p.value not in text]
    return Outcome(len(standing), len(current), stale, missing)


WRITERS: dict[str, Sequence[str]] = {
    "sorted": (DECISIONS, FACTS, GOALS),
    "one heading": (FACTS,),
    "decisions": (DECISIONS,),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--budget", type=int, default=34_000)
    parser.add_argument("--messages", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--languages", nargs="*", default=list(LANGUAGES))
    parser.add_argument("--show", type=int, help="print the summary after so many compactions")
    options = parser.parse_args()
    report = Report("A long life")
    counter = RememberingCounter(ROOT / "var" / "tiktoken")
    for language in options.languages:
        for name, headings in WRITERS.items():
            for seed in range(options.seeds):
                exchanges = (
                    read_exchanges(options.data / "beam", options.messages)
                    if options.data
                    else None
                )
                life, plants = live(
                    seed, language=language, headings=headings, messages=options.messages,
                    budget=options.budget, exchanges=exchanges, counter=counter,
                )  # fmt: skip
                found = judge(life, plants)
                print(
                    f"{language} {name} {seed}: {found.standing} of 20, {found.current} of 5 current, "
                    f"{len(found.stale)} stale; {life.compactions} compactions"
                )
                if options.show:
                    print(life.texts[min(options.show, len(life.texts)) - 1])
                    print(found.missing, found.stale, sep="\n")


if __name__ == "__main__":
    main()
