"""What a conversation still holds of its first tenth after a long life: thousands of messages, and
a scripted writer that leaves out half of what it should record.

`python -m bench.life [--data DIRECTORY]`, where the directory holds `beam/`; without it the
messages are made up. Fifteen decisions and values and five reversals are planted; what the next
request says of them is counted, and what it lacks is printed.
"""

import argparse
import asyncio
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.plan import plan_compaction
from agent.compaction.policy import Policy
from agent.compaction.writing.job import Job
from agent.context.assemble import Context, measure
from agent.context.request import Request
from agent.context.summary import Summary
from agent.engine import compact_context
from agent.messages import AgentMessage, Role
from agent.model.reply import Reply
from agent.tokens import Factor, Limits, Model, Prices, TokenCounter
from bench.processes import ROOT
from bench.replay.conversations import read_beam
from bench.replay.plain import RememberingCounter
from bench.replay.summariser import find_entries, previous_bullets, split_sentences
from bench.report import Report
from demo.api import protocol
from demo.api.recording import join_text
from demo.mind.recognition import HEADING, messages_of, summary_instruction

MODEL = "claude-sonnet-5-5"
DECISIONS, FACTS, GOALS = "Decisions", "Facts and values", "Goal and constraints"
PLANTS, REVERSALS = 15, 5
EARLY = 0.1  # of the messages: where all plants stand, but the second halves of reversals
KEPT = 0.5  # of what the writer could say
WORDS = re.compile(r"Write at most (\d+) words")
STATEMENTS = re.compile(r"<statements>\n(.*?)\n</statements>", re.S)


# --- What is planted ------------------------------------------------------------------------------


class Words(NamedTuple):
    """One language's ways to say that something is so, that it is so by decision, and that it is
    otherwise from now on; and what there is to say it of, with bars between."""

    facts: Sequence[str]
    decisions: Sequence[str]
    reversals: Sequence[str]
    subjects: str


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
        "staging port|launch date|monthly budget|mail host|backup folder|project name|"
        "storage limit|database version|meeting time|contact address|contract number|"
        "retry limit|test account|venue|delivery deadline|room code|paint colour|"
        "billing port|release tag|holiday start",
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
        "Testport|Starttermin|Monatsbudget|Mailserver|Sicherungsordner|Projektname|"
        "Datenbankversion|Besprechungszeit|Speichergrenze|Kontaktadresse|Vertragsnummer|"
        "Wiederholungsgrenze|Testkonto|Veranstaltungsort|Liefertermin|Raumcode|Wandfarbe|"
        "Rechnungsport|Versionsmarke|Urlaubsbeginn",
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
        "puerto de pruebas|fecha de inicio|presupuesto mensual|servidor de correo|"
        "carpeta de copias|nombre del proyecto|versión de la base|hora de reunión|"
        "límite de espacio|código de sala|dirección de contacto|número de contrato|"
        "límite de intentos|cuenta de prueba|lugar del evento|fecha de entrega|"
        "color de pared|puerto de facturas|etiqueta de versión|inicio de vacaciones",
    ),
    "zh": Words(
        ("{s}是 {v}。", "记一下,{s}:{v}。", "我们的{s}是 {v}。"),
        ("我们决定{s}用 {v}。", "{s}就定为 {v}。", "决定:{s}是 {v}。"),
        ("{s}改为 {v},不再是 {o}。", "{s}不是 {o} 了,现在是 {v}。", "把{s}从 {o} 换成 {v}。"),
        "测试端口|上线日期|每月预算|邮件主机|备份目录|项目名称|数据库版本|会议时间|存储上限|联系地址|合同编号|"
        "重试上限|测试账号|活动场地|交付期限|房间代码|墙面颜色|账单端口|版本标签|假期开始",
    ),
}


class Plant(NamedTuple):
    """What a user says in the message of a `number`, and what holds no longer from there on."""

    said: str
    subject: str
    value: str
    number: int
    old: "Plant | None" = None


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


NOUNS = ["report", "table", "client", "server", "garden", "recipe", "invoice", "letter", "lesson"]
VERBS = ["check", "write", "move", "compare", "explain", "shorten", "plan", "sort", "rename"]
THINGS = ["the draft", "the numbers", "our list", "both parts", "the old notes", "the rest"]


def make_exchanges(dice: random.Random) -> Iterator[tuple[str, str]]:
    """Made-up messages in the sizes of real ones: some 300 characters of a user, 2,000 of an
    answer, with numbers, names and questions in them."""

    def sentence() -> str:
        said = [
            f"Could you {dice.choice(VERBS)} {dice.choice(THINGS)} for the {dice.choice(NOUNS)}?",
            f"I had a look at the {dice.choice(NOUNS)} with {dice.randrange(3, 4000)} lines today.",
            f"The {dice.choice(NOUNS)} still feels too long to me.",
            f"There were {dice.randrange(2, 90)} % more than in the {dice.choice(NOUNS)} before.",
            f"It says Error{dice.randrange(100, 999)} in step_{dice.randrange(99)}.py again.",
            f"How would you {dice.choice(VERBS)} it, and what about the {dice.choice(NOUNS)}?",
        ]
        return dice.choice(said)

    while True:
        asked = " ".join(sentence() for _ in range(dice.randrange(1, 8)))
        answered = " ".join(sentence() for _ in range(dice.randrange(20, 110)))
        yield asked, answered


def read_exchanges(folder: Path) -> Iterator[tuple[str, str]]:
    """The messages of BEAM's conversations, one after another, and again from the first."""
    exchanges = [each for talk in read_beam(folder / "beam") for each in talk.exchanges]
    return cycle([(each.user, each.answer) for each in exchanges])


@dataclass
class CarelessWriter:
    """Says one thing of each message that it reads, and leaves out half of them, whatever they are.
    `headings`: under which of the form's it writes facts."""

    dice: random.Random
    headings: Sequence[str]
    plants: Sequence[Plant]

    async def complete(self, request: Request) -> Reply:
        """As `agent.model.client.Client.complete`."""
        blocks = [protocol.text(self._write(request.body()))]
        return Reply(blocks, "end_turn", complete=True)

    def _write(self, body: Mapping[str, Any]) -> str:
        asked = join_text(messages_of(body)[-1])
        if given_back := STATEMENTS.search(asked):
            return given_back[1]  # it stays with what it said
        words = int(WORDS.findall(asked)[-1])
        demanded = HEADING.findall(summary_instruction(body) or "")
        sections: dict[str, list[str]] = {heading: [] for heading in demanded}
        for heading, line in self._list_lines(body):
            words -= len(line.split())
            if words < 0:
                break
            sections[heading].append(line)
        return "\n".join(f"## {h}\n" + ("\n".join(s) or "None.") for h, s in sections.items())

    def _list_lines(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if "replaces the previous" in str(body["messages"]):  # records of parts are merged
            for said, cited in previous_bullets(body):
                yield self.dice.choice([h for h in self.headings if h != GOALS]), f"- {said}{cited}"
            return
        entries = list(find_entries(body))
        self.dice.shuffle(entries)
        for entry in entries:
            found = next((each for each in self.plants if each.said in entry.text), None)
            said = found.said if found else next(iter(split_sentences(entry.text)), "")
            if not said or self.dice.random() > KEPT:
                continue
            if found and found.old:
                change = f"{found.subject} {found.old.value} → {found.value}"
                yield DECISIONS, f"- Replaced: {change} [#{found.old.number} #{entry.number}]"
            else:
                fitting = [h for h in self.headings if h != GOALS or entry.role == "user"]
                yield self.dice.choice(fitting or [FACTS]), f"- {said} [#{entry.number}]"


# --- A life ---------------------------------------------------------------------------------------


@dataclass
class Life:
    """A conversation from its first message to its last. `texts`: its summary after each
    compaction."""

    limits: Limits
    writer: CarelessWriter
    counter: TokenCounter
    policy: Policy = field(default_factory=Policy)
    messages: list[AgentMessage] = field(default_factory=list)
    chapters: list[Chapter] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    texts: list[str] = field(default_factory=list)
    _through: int = 0

    def say(self, role: Role, text: str) -> None:
        blocks = [protocol.text(text)]
        number = len(self.messages) + 1
        tokens = self.counter.count_blocks(blocks)
        self.messages.append(AgentMessage(number, role, blocks, tokens))

    def compact_if_due(self) -> None:
        """As before a request; without its cost, so that a life takes seconds."""
        context = Context(
            model=MODEL,
            limits=self.limits,
            messages=self.messages[self._through :],
            summary=self.summary,
            summary_through=self._through,
            first=self.messages[0] if self._through else None,
        )
        size = measure(context, self.counter)
        if size.total < self.policy.trigger_tokens(self.limits):
            return
        plan = plan_compaction(
            context.messages, self.policy, self.limits, fixed=size.fixed, first=context.first
        )
        assert plan
        model = Model(MODEL, self.limits, Prices())
        job = Job(
            context=context,
            plan=plan,
            chapters=self.chapters,
            used=size.total,
            policy=self.policy,
            counter=self.counter,
            own=model,
            writer=model,
            ask=self.writer.complete,
        )
        done = asyncio.run(compact_context(job))
        self.chapters, self.summary = done.result.chapters, done.summary
        self._through = plan.summarise[-1].number
        self.texts.append(done.summary.text)


def live(
    seed: int,
    *,
    language: str = "en",
    headings: Sequence[str] = (DECISIONS, FACTS, GOALS),
    messages: int = 3_000,
    budget: int = 34_000,
    exchanges: Iterator[tuple[str, str]] | None = None,
    counter: TokenCounter | None = None,
) -> tuple[Life, list[Plant]]:
    """A whole life, and what was planted in it."""
    dice = random.Random(seed)
    turns = messages // 2
    planted = plant(dice, LANGUAGES[language], turns)
    writer = CarelessWriter(dice, headings, list(planted.values()))
    limits = Limits(budget, 8_000, budget, Factor(1.0, 0))
    life = Life(limits, writer, counter or RememberingCounter(Path("/no/vocabulary")))
    source = exchanges or make_exchanges(dice)
    for turn, (asked, answered) in enumerate(islice(source, turns)):
        if said := planted.get(turn):
            asked = said.said if dice.random() < 0.5 else f"{asked}\n{said.said}"
        life.say("user", asked)
        life.compact_if_due()
        life.say("assistant", answered)
    return life, list(planted.values())


def plant(dice: random.Random, words: Words, turns: int) -> dict[int, Plant]:
    """By turns: all of them in the first tenth, and later what replaces some."""
    subjects = dice.sample(words.subjects.split("|"), PLANTS + REVERSALS)
    early = dice.sample(range(2, int(EARLY * turns)), len(subjects))
    planted: dict[int, Plant] = {}
    for turn, subject in zip(early, subjects, strict=True):
        value, form = make_value(dice), dice.choice([*words.facts, *words.decisions])
        planted[turn] = Plant(form.format(s=subject, v=value), subject, value, 2 * turn + 1)
    for turn in early[:REVERSALS]:
        old, new = planted[turn], make_value(dice)
        free = [each for each in range(turn + 1, turns - 40) if each not in planted]
        later = dice.choice(free)
        said = dice.choice(words.reversals).format(s=old.subject, v=new, o=old.value)
        planted[later] = Plant(said, old.subject, new, 2 * later + 1, old)
    return planted


class Outcome(NamedTuple):
    """What the next request says of the plants that hold at the end: how many `stand` in it, how
    many of them replaced another; and the lines in which an old value is as if it held."""

    standing: int
    current: int
    stale: list[str]
    missing: list[str]


def judge(life: Life, plants: Sequence[Plant]) -> Outcome:
    """By the text of the summary alone: chapters, instructions and index."""
    text = life.summary.text
    old = {each.old for each in plants if each.old}
    held = [each for each in plants if each not in old]
    standing = [each for each in held if each.value in text]
    stale = [
        line
        for each in plants
        for line in text.splitlines()
        if each.old and each.old.value in line and each.value not in line
    ]
    current = sum(each.old is not None for each in standing)
    missing = [each.said for each in held if each not in standing]
    return Outcome(len(standing), current, stale, missing)


WRITERS: dict[str, Sequence[str]] = {
    "sorted": (DECISIONS, FACTS, GOALS),
    "one heading": (FACTS,),
    "decisions": (DECISIONS,),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.life", description=__doc__)
    parser.add_argument("--data", type=Path, help="holds beam/")
    parser.add_argument("--budget", type=int, default=34_000, help="of the context, in tokens")
    parser.add_argument("--messages", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=2, help="lives of each kind")
    parser.add_argument("--languages", nargs="*", default=list(LANGUAGES), choices=LANGUAGES)
    options = parser.parse_args()
    report = Report("A long life")
    counter = RememberingCounter(ROOT / "var" / "tiktoken")
    for language, writer, seed in product(options.languages, WRITERS, range(options.seeds)):
        life, plants = live(
            seed,
            language=language,
            headings=WRITERS[writer],
            messages=options.messages,
            budget=options.budget,
            exchanges=read_exchanges(options.data) if options.data else None,
            counter=counter,
        )
        found, name = judge(life, plants), f"{language}.{writer}.{seed}"
        report.add(f"{name}.standing", found.standing, "of 20", at_least=14)
        report.add(f"{name}.current", found.current, "of 5", at_least=REVERSALS)
        report.add(f"{name}.stale", len(found.stale), "lines", 0)
        report.add(f"{name}.compactions", len(life.texts), "compactions")
        print(*found.missing, *found.stale, sep="\n")
    report.print_table()


if __name__ == "__main__":
    main()
