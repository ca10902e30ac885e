"""The conversations that are replayed: BEAM's, or the small authored one that tests use."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from agent.messages import Block
from demo.api import protocol

FIXTURE = Path(__file__).parent / "fixture.json"
# BEAM's user messages end in what its generator left there: "->-> 1,1".
ARTEFACT = re.compile(r"\s*->->[\s\d,.]*$")
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

    name: str
    exchanges: Sequence[ReplayExchange]
    instructions: frozenset[int] = frozenset()


def read_beam(folder: Path) -> list[ReplayConversation]:
    """All conversations of a folder in BEAM's form, in the order of their names."""
    return [_read(path) for path in sorted(folder.glob("*.chat.json"))]


def read_fixture() -> ReplayConversation:
    """The authored conversation."""
    data = json.loads(FIXTURE.read_text("utf-8"))
    exchanges = [
        ReplayExchange(
            e["user"], e["answer"], tuple(ReplayRound((output,)) for output in e.get("tools", ()))
        )
        for e in data["turns"]
    ]
    return ReplayConversation("fixture", exchanges, frozenset(data["instructions"]))


def chain(conversations: Sequence[ReplayConversation], turns: int) -> ReplayConversation:
    """One conversation of so many turns: one after another, and again from the first."""
    exchanges = cycle([exchange for c in conversations for exchange in c.exchanges])
    return ReplayConversation("chained", list(islice(exchanges, turns)))


def make_gaps(seed: int) -> Iterator[float]:
    """Seconds before each turn: mostly ten, a fifth of them a pause of six minutes."""
    dice = random.Random(seed)
    while True:
        yield PAUSE_SECONDS if dice.random() < PAUSES else GAP_SECONDS


def _read(path: Path) -> ReplayConversation:
    batches = json.loads(path.read_text("utf-8"))
    messages = [message for batch in batches for turn in batch["turns"] for message in turn]
    exchanges: list[ReplayExchange] = []
    numbers: dict[int, int] = {}  # message number by BEAM's id, of user messages
    for user, answer in zip(messages[::2], messages[1::2], strict=True):
        if (user["role"], answer["role"]) != ("user", "assistant"):
            raise ValueError(f"{path.name}: roles do not alternate at {user['id']}")
        numbers[user["id"]] = 2 * len(exchanges) + 1
        question = ARTEFACT.sub("", user["content"]).strip()
        exchanges.append(ReplayExchange(question, answer["content"].strip()))
    questions = json.loads(
        path.with_name(path.name.replace("chat", "questions")).read_text("utf-8")
    )
    evidence = {i for q in questions["instruction_following"] for i in q["source_chat_ids"]}
    instructions = frozenset(numbers[i] for i in evidence if i in numbers)
    return ReplayConversation(path.name.removesuffix(".chat.json"), exchanges, instructions)
