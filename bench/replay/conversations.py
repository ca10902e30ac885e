"""The conversations that are replayed: BEAM's, or the small authored one that tests use."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from agent.messages import Block
from bench.dialogues import Dialogue, read_dialogues
from demo.api import protocol

FIXTURE = Path(__file__).parent / "fixture.json"
PICTURE: Block = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}
GAP_SECONDS, PAUSE_SECONDS, PAUSES = 10.0, 360.0, 0.2


@dataclass(frozen=True, slots=True)
class ReplayRound:
    """The outputs of tools that one reply called side by side, what was thought before it, and
    whether the last tool gave a picture too."""

    outputs: tuple[str, ...]
    thought: str = ""
    picture: bool = False

    def call(self, key: str) -> list[Block]:
        """The reply that thinks and calls; `key` makes its ids its own."""
        calls = [
            protocol.tool_use("run", {"n": number}, f"toolu_{key}_{number}")
            for number in range(len(self.outputs))
        ]
        return [protocol.thinking(self.thought), *calls] if self.thought else calls

    def result(self, calls: Sequence[Block]) -> list[Block]:
        """What a reply's calls gave."""
        ids = [block["id"] for block in calls if block["type"] == "tool_use"]
        results: list[Block] = [
            {"type": "tool_result", "tool_use_id": call_id, "content": output}
            for call_id, output in zip(ids, self.outputs, strict=True)
        ]
        if self.picture:
            results[-1]["content"] = [protocol.text(self.outputs[-1]), PICTURE]
        return results


@dataclass(frozen=True, slots=True)
class ReplayExchange:
    """What a user wrote beside `files`, what was answered, and the rounds of tools in between.
    `stopped`: the user stopped the answer there."""

    user: str
    answer: str
    rounds: tuple[ReplayRound, ...] = ()
    files: tuple[Block, ...] = ()
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class ReplayConversation:
    """`instructions`: message numbers (from 1) of the user's standing instructions, as the data
    name them; only right where a conversation is replayed by itself."""

    exchanges: Sequence[ReplayExchange]
    instructions: frozenset[int] = frozenset()


def read_beam(folder: Path) -> list[ReplayConversation]:
    """All conversations of a folder in BEAM's form, in the order of their names."""
    return [_pair(dialogue) for dialogue in read_dialogues(folder)]


def _pair(dialogue: Dialogue) -> ReplayConversation:
    """A dialogue whose roles alternate."""
    texts = [text for _, text, _ in dialogue.messages]
    exchanges = list(map(ReplayExchange, texts[::2], texts[1::2]))
    asked = (q for q in dialogue.questions if q.category == "instruction_following")
    numbers = {number for question in asked for number in question.evidence}
    users = {n for n, (role, _, _) in enumerate(dialogue.messages, 1) if role == "user"}
    return ReplayConversation(exchanges, frozenset(numbers & users))


def read_fixture() -> ReplayConversation:
    """The authored conversation."""
    data = json.loads(FIXTURE.read_text("utf-8"))
    exchanges = [
        ReplayExchange(
            e["user"], e["answer"], tuple(ReplayRound((output,)) for output in e.get("tools", ()))
        )
        for e in data["turns"]
    ]
    return ReplayConversation(exchanges, frozenset(data["instructions"]))


def chain(conversations: Sequence[ReplayConversation], turns: int) -> ReplayConversation:
    """One conversation of so many turns: one after another, and again from the first."""
    exchanges = cycle([exchange for c in conversations for exchange in c.exchanges])
    return ReplayConversation(list(islice(exchanges, turns)))


def make_gaps(seed: int) -> Iterator[float]:
    """Seconds before each turn: mostly ten, a fifth of them a pause of six minutes."""
    dice = random.Random(seed)
    while True:
        yield PAUSE_SECONDS if dice.random() < PAUSES else GAP_SECONDS
