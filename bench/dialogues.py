"""Dialogues with questions whose evidence is known: LoCoMo's and BEAM's, in one form."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# BEAM's user messages end in what its generator left there: "->-> 1,1".
ARTEFACT = re.compile(r"\s*->->[\s\d,.]*$")
LOCOMO = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
# BEAM's whose evidence a question's words can lead to; the means of BEAM are of these.
SEARCHABLE = (
    "contradiction_resolution",
    "information_extraction",
    "knowledge_update",
    "multi_session_reasoning",
    "temporal_reasoning",
)


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: the numbers (from 1) of the messages that hold the answer, at least one."""

    text: str
    evidence: frozenset[int]
    category: str

    @property
    def counted(self) -> bool:
        """Whether it counts in the means of its data set."""
        return self.category in SEARCHABLE or self.category in LOCOMO.values()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation: (role, text, time) of each message, and its questions."""

    dataset: str
    messages: Sequence[tuple[str, str, datetime]]
    questions: Sequence[Question]


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
            questions.append(Question(asked["question"], evidence, LOCOMO[asked["category"]]))
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
    for category, each in ((name, each) for name, group in asked.items() for each in group):
        named = _ids(each.get("source_chat_ids", []))
        evidence = frozenset(numbers[i] for i in named if i in numbers)
        if evidence:
            questions.append(Question(each["question"], evidence, category))
    return Dialogue(f"beam_{path.name.split('_')[0].lower()}", messages, questions)


def _ids(value: Any) -> Iterator[int]:
    """All numbers in lists in objects."""
    if isinstance(value, int):
        yield value
    else:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _ids(each)
