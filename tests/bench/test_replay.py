"""What the services send is valid, and goes on as the request before it, whatever the conversation
looks like: many turns, replayed in virtual time."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle

import pytest

from agent.compaction.policy import Method, Policy
from agent.tokens import Factor, Limits, Prices
from bench.compaction import MODEL
from bench.replay.api import ScriptedApi
from bench.replay.conversations import PICTURE, ReplayExchange, ReplayRound
from bench.replay.replay import Replay
from bench.replay.sessions import TOOLS
from bench.replay.summariser import Summariser

pytestmark = pytest.mark.django_db(transaction=True)

PRICES = Prices.of(2.0, 10.0, 0.1, 2.5)
PAUSES = (10.0, 10.0, 360.0, 10.0, 2_000.0, 7_200.0, 10.0)
SUBJECTS = ("the pump in hall 4", "invoice 7731", "port 8443", "the ferry at nine", "src/app.py")


@dataclass(frozen=True)
class Shape:
    """What a conversation looks like. Lengths in words; `rounds`: of tools in a turn, of which each
    has `results`; `stopped` and `pictures`: shares of the turns; `words`: of which every
    `long_every`th message has twenty times as many."""

    turns: int
    window: int
    words: int = 60
    long_every: int = 0
    rounds: Sequence[int] = (0,)
    results: int = 0
    stopped: float = 0.0
    pictures: float = 0.0
    pauses: Sequence[float] = PAUSES
    call_seconds: float = 30.0
    policy: Policy = field(default_factory=Policy)
    model: str = MODEL


SHAPES = {
    "talk": Shape(70, 6_000),
    "answers that were stopped, and pictures": Shape(40, 9_000, stopped=0.3, pictures=0.1),
    "messages that are too long for a request": Shape(35, 8_000, long_every=7),
    "work with tools": Shape(9, 12_000, rounds=(4, 9), results=300),
    "work that is faster than its summaries": Shape(
        6, 20_000, rounds=(3, 12), results=300, call_seconds=200.0
    ),
    "work that is pruned between pauses": Shape(
        10, 24_000, rounds=(1, 2, 4), results=900, pauses=(10.0, 4_000.0)
    ),
    "work that is compacted every few rounds": Shape(
        6, 40_000, rounds=(5, 9), results=60, policy=Policy(every_iterations=4)
    ),
    "a limit of messages": Shape(30, 30_000, words=200, policy=Policy(max_messages=12)),
    "a day's budget that is used up": Shape(50, 6_000, policy=Policy(prepare_budgets=2)),
    "nothing prepared": Shape(
        40, 6_000, policy=Policy(prepare_ratio=0, idle_ratio=0, keep_first_message=False)
    ),
    "nothing compacted": Shape(40, 5_000, policy=Policy(enabled=False)),
    "a model of another server": Shape(
        9, 12_000, rounds=(4, 9), results=300, model="house-model:9b"
    ),
    "a price that decides how a summary is asked for": Shape(
        4,
        16_000,
        words=150,
        rounds=(0, 5, 14),
        results=1_500,
        stopped=0.5,
        pictures=0.4,
        pauses=(90_000.0, 90_000.0, 360.0, 10.0),
        call_seconds=200.0,
        model="house-model:9b",
    ),
}


def write(dice: random.Random, words: int) -> str:
    said = (f"{dice.choice(SUBJECTS)} took {dice.randrange(9_000)} ms" for _ in range(words // 5))
    return ", ".join(said)


def make_exchanges(shape: Shape) -> list[ReplayExchange]:
    dice = random.Random(7)

    def play_round() -> ReplayRound:
        outputs = tuple(
            write(dice, dice.randint(5, shape.results)) for _ in range(dice.randint(1, 3))
        )
        thought = write(dice, 20) if dice.random() < 0.5 else ""
        return ReplayRound(outputs, thought, picture=dice.random() < shape.pictures)

    exchanges = []
    for turn in range(1, shape.turns + 1):
        times = 20 if shape.long_every and turn % shape.long_every == 0 else 1
        words = dice.randint(10, shape.words) * times
        rounds = tuple(play_round() for _ in range(dice.choice(list(shape.rounds))))
        files = (PICTURE,) if dice.random() < shape.pictures else ()
        stopped = dice.random() < shape.stopped
        user, answer = write(dice, words), write(dice, dice.randint(10, 2 * shape.words))
        exchanges.append(
            ReplayExchange(f"{turn}. {user}", f"Yes. {answer}", rounds, files, stopped)
        )
    return exchanges


def play(shape: Shape, replay: Replay) -> Replay:
    for exchange, gap in zip(make_exchanges(shape), cycle(shape.pauses), strict=False):
        replay.play(exchange, gap)
    return replay


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_requests_are_valid_and_go_on_as_the_one_before(shape: Shape) -> None:
    limits = Limits(shape.window, 4_000, shape.window, Factor.start(shape.model))
    tools = TOOLS if shape.results else ()
    api = ScriptedApi(shape.window, PRICES, Summariser(3), call_seconds=shape.call_seconds)
    replay = play(shape, Replay(api, shape.model, limits, shape.policy, tools))
    assert api.violations == []
    assert api.fullest <= 1
    assert api.requests >= shape.turns
    # Models that ignore the thinking of finished turns do not get it.
    assert api.unchanged == api.followed or shape.model != MODEL
    versions = replay.versions
    assert (len(versions) > 0) == shape.policy.enabled
    assert (replay.tally.trimmed > 0) or shape.policy.enabled
    if shape.call_seconds > shape.policy.deadline_seconds:
        assert Method.EXTRACT in {version.method for version in versions}
