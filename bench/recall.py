"""How much of what a question needs does `search_history` find?

`python -m bench.recall --data DIRECTORY [--database-url URL]`: the conversations of LoCoMo
(`locomo/*.json`) and BEAM (`beam/*.chat.json`, `*.questions.json`) enter through the services, each
question goes as it is through the tool's handler. Recall is the share of a question's evidence
messages among the first 5, 10, 20 hits, or within 2,000 and 4,000 tokens (four characters each) of
the returned text; means over all questions. Of BEAM the five categories are asked whose evidence a
search can find. `.half_a` and `.half_b` are R@10 of every other question: the ranking's constants
were chosen on the first half.
"""

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench.replay.conversations import ARTEFACT
from bench.report import Report, percentile
from bench.serving import load_django_site

CATEGORIES = [
    "contradiction_resolution",
    "information_extraction",
    "knowledge_update",
    "multi_session_reasoning",
    "temporal_reasoning",
]
# What is aimed at for R@10; the recipe reached 0.748, 0.694 and 0.637 on the whole data sets.
AIMS = {"locomo": 0.78, "beam_100k": 0.75, "beam_500k": 0.70}
IN_TOKENS = {("locomo", 2_000): 0.863, ("beam_500k", 4_000): 0.807}
MOST_MS = {"sqlite": 40.0, "postgresql": 80.0}  # p95 in a conversation of 10,000 messages
LONG = 10_000  # messages
_HIT = re.compile(r"^\[#(\d+)\] (?:user|assistant), \d{4}-\d\d-\d\d \d\d:\d\d$", re.M)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation: (role, text, time) each, and questions with the message numbers (from 1)
    that hold their evidence."""

    dataset: str
    messages: Sequence[tuple[str, str, datetime]]
    questions: Sequence[tuple[str, frozenset[int]]]


# --- Data -----------------------------------------------------------------------------------------


def read_dialogues(folder: Path) -> Iterator[Dialogue]:
    """Every dialogue of a folder that holds locomo/ and beam/, or is one of them."""
    for path in sorted([*folder.glob("locomo*.json"), *folder.glob("locomo/locomo*.json")]):
        for each in json.loads(path.read_text("utf-8")):
            yield _locomo(each)
    for path in sorted([*folder.glob("*.chat.json"), *folder.glob("beam/*.chat.json")]):
        yield _beam(path)


def _locomo(data: dict[str, Any]) -> Dialogue:
    """Two people: the first is the user. Their names stand before what they say, as in a log."""
    spoken = data["conversation"]
    numbers: dict[str, int] = {}
    messages = []
    session = 1
    while (turns := spoken.get(f"session_{session}")) is not None:
        began = _time(spoken[f"session_{session}_date_time"])
        for minute, turn in enumerate(turns):
            role = "user" if turn["speaker"] == spoken["speaker_a"] else "assistant"
            text = f"{turn['speaker']}: {turn['text']}"
            messages.append((role, text, began + timedelta(minutes=minute)))
            numbers[turn["dia_id"]] = len(messages)
        session += 1
    questions = []
    for asked in data["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", [])))
        evidence = frozenset(numbers[name] for name in named if name in numbers)
        if evidence:
            questions.append((asked["question"], evidence))
    return Dialogue("locomo", messages, questions)


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _beam(path: Path) -> Dialogue:
    numbers: dict[int, int] = {}
    messages = []
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for batch in json.loads(path.read_text("utf-8")):
        for message in (message for turn in batch["turns"] for message in turn):
            if anchor := message.get("time_anchor"):
                at = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC)
            text = ARTEFACT.sub("", message["content"]).strip()
            messages.append((message["role"], text, at))
            numbers[message["id"]] = len(messages)
    asked = json.loads(path.with_name(path.name.replace("chat", "questions")).read_text("utf-8"))
    questions = []
    for each in (question for category in CATEGORIES for question in asked[category]):
        evidence = frozenset(numbers[i] for i in _ids(each["source_chat_ids"]) if i in numbers)
        if evidence:
            questions.append((each["question"], evidence))
    return Dialogue(f"beam_{path.name.split('_')[0].lower()}", messages, questions)


def _ids(value: Any) -> Iterator[int]:
    """All numbers in lists in objects."""
    if isinstance(value, int):
        yield value
    else:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _ids(each)


# --- Asking ---------------------------------------------------------------------------------------


@dataclass
class Answers:
    """What the questions of one data set found: shares of evidence by measure, and times."""

    shares: dict[str, list[float]]
    milliseconds: list[float]
    empty: int = 0


def store_dialogue(dialogue: Dialogue) -> Any:
    """A conversation of a user of its own, with the dialogue in it; the scope of a tool call."""
    from accounts.models import User
    from chat.importers.pi import Session, SessionMessage
    from chat.services.importing import import_session
    from chat.tools.scope import Scope

    user = User.objects.create(username=f"recall{User.objects.count()}")
    messages = [
        SessionMessage(role, [{"type": "text", "text": text}], at=at)  # type: ignore[arg-type]
        for role, text, at in dialogue.messages
    ]
    conversation = import_session(user, Session(messages), title=dialogue.dataset)
    return Scope(conversation.pk, user.pk)


def ask_question(scope: Any, question: str) -> tuple[str, float]:
    """The handler's answer, and the milliseconds that it took."""
    from asgiref.sync import async_to_sync

    from chat.tools.history import search_history

    began = time.perf_counter()
    answer = async_to_sync(search_history)(scope, {"query": question})
    return answer, 1000 * (time.perf_counter() - began)


def measure_dialogue(dialogue: Dialogue, scope: Any, answers: Answers) -> None:
    """Ask all questions of a dialogue."""
    for index, (question, evidence) in enumerate(dialogue.questions):
        answer, milliseconds = ask_question(scope, question)
        answers.milliseconds.append(milliseconds)
        hits = [(int(match[1]), match.start()) for match in _HIT.finditer(answer)]
        answers.empty += not hits
        # A hit counts where its excerpt is within, so the start of the next one.
        ends = [start for _, start in hits[1:]] + [len(answer)]
        found = [number for number, _ in hits]

        def share(numbers: Sequence[int], wanted: frozenset[int] = evidence) -> float:
            return len(wanted.intersection(numbers)) / len(wanted)

        for most in (5, 10, 20):
            answers.shares[f"r{most}"].append(share(found[:most]))
        for limit in (2_000, 4_000):
            within = [n for n, end in zip(found, ends, strict=True) if end <= 4 * limit]
            answers.shares[f"in_{limit // 1000}k"].append(share(within))
        answers.shares["half_b" if index % 2 else "half_a"].append(share(found[:10]))


def report_answers(report: Report, name: str, answers: Answers) -> None:
    for measure_name, shares in answers.shares.items():
        goal = AIMS.get(name) if measure_name == "r10" else None
        if measure_name.startswith("in_"):
            goal = IN_TOKENS.get((name, 1000 * int(measure_name[3])))
        report.add(f"{name}.{measure_name}", sum(shares) / len(shares), "share", at_least=goal)
    report.add(f"{name}.p50_ms", percentile(answers.milliseconds, 0.5), "ms")
    report.add(f"{name}.p95_ms", percentile(answers.milliseconds, 0.95), "ms")
    report.add(f"{name}.empty", answers.empty, "questions", 0)


def measure_long(report: Report, dialogues: Sequence[Dialogue], vendor: str) -> None:
    """Times in one conversation of 10,000 messages: BEAM's, one after another, again and again."""
    texts = [m for d in dialogues if d.dataset != "locomo" for m in d.messages]
    questions = [q for d in dialogues if d.dataset != "locomo" for q, _ in d.questions]
    if not texts:
        return
    scope = store_dialogue(Dialogue("long", list(islice(cycle(texts), LONG)), []))
    ask_question(scope, questions[0])  # warms up
    times = [ask_question(scope, question)[1] for question in questions]
    report.add("long_10k.p50_ms", percentile(times, 0.5), "ms")
    report.add("long_10k.p95_ms", percentile(times, 0.95), "ms", MOST_MS[vendor])


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="holds locomo/ and beam/")
    parser.add_argument("--database-url", default="", help="an empty database; default: SQLite")
    parser.add_argument("--without-long", action="store_true", help="not in 10,000 messages")
    options = parser.parse_args()
    dialogues = list(read_dialogues(options.data))
    if not dialogues:
        parser.error(f"no dialogues in {options.data}")
    with load_django_site(options.database_url):
        from django.db import connection

        report = Report(f"Recall on {connection.vendor}")
        answers: dict[str, Answers] = defaultdict(lambda: Answers(defaultdict(list), []))
        for dialogue in dialogues:
            measure_dialogue(dialogue, store_dialogue(dialogue), answers[dialogue.dataset])
        for name, each in answers.items():
            report_answers(report, name, each)
        if not options.without_long:
            measure_long(report, dialogues, connection.vendor)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
