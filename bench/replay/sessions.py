"""Agent work, authored: turns of up to 60 rounds with calls side by side, pictures and thinking,
where a summary takes 90 s while the work goes on."""

import random
from typing import TYPE_CHECKING

from agent.compaction.policy import Policy
from agent.context.assemble import BASE_PROMPT
from agent.context.request import Ttl
from bench.replay import baselines
from bench.replay.api import ScriptedApi
from bench.replay.conversations import ReplayExchange, ReplayRound, make_gaps
from bench.replay.costs import PEERS_RECENT
from bench.replay.replay import Replay
from bench.replay.summariser import Summariser
from bench.report import Report
from demo.api.tokens import count_text

if TYPE_CHECKING:
    from bench.compaction import Setting

ROUNDS, WEIGHTS = (1, 3, 8, 20, 60), (4, 6, 5, 3, 2)
MOST_CALLS, RESULT_LINES = 6, (5, 120)
THOUGHT_WORDS = 120
PICTURES = 0.1  # of the rounds
SUMMARY_SECONDS = 90.0
# Plain summaries: what is cached for how long, and how much of its price ours may have.
PLAIN: tuple[tuple[str, Ttl, float | None], ...] = (
    ("plain_same_trigger", "1h", 1.0),
    ("plain_same_trigger.five_minutes", "5m", None),
)
TOOLS = (
    {
        "name": "run",
        "description": "Runs a command.",
        "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    },
)


def make_session(seed: int, turns: int) -> list[ReplayExchange]:
    """An authored session of so many turns; a seed always gives the same."""
    dice = random.Random(seed)
    return [_make_turn(dice, number) for number in range(turns)]


def _make_turn(dice: random.Random, number: int) -> ReplayExchange:
    count = dice.choices(ROUNDS, WEIGHTS)[0]
    rounds = tuple(_make_round(dice) for _ in range(count))
    user = f"Task {number}: mend what fails in {_path(dice)}, and say what it was."
    answer = " ".join(f"It was {_path(dice)}, and is mended now." for _ in range(12))
    return ReplayExchange(user, answer, rounds)


def _make_round(dice: random.Random) -> ReplayRound:
    outputs = tuple(_make_output(dice) for _ in range(dice.randint(1, MOST_CALLS)))
    words = dice.randrange(THOUGHT_WORDS)
    thought = " ".join(f"perhaps {dice.randrange(10**4)}" for _ in range(words))
    return ReplayRound(outputs, thought, picture=dice.random() < PICTURES)


def _make_output(dice: random.Random) -> str:
    lines = dice.randint(*RESULT_LINES)
    return "\n".join(
        f"{_path(dice)}:{line}: it took {dice.randrange(9_000)} ms" for line in range(lines)
    )


def _path(dice: random.Random) -> str:
    return f"src/{dice.randrange(16**4):04x}/handler_{dice.randrange(1_000)}.py"


def work(setting: "Setting") -> Replay:
    """Such a session, played."""
    from bench.compaction import MODEL, new_limits

    writer = Summariser(setting.seed)
    api = ScriptedApi(setting.window, setting.prices, writer, call_seconds=SUMMARY_SECONDS)
    limits = new_limits(setting.window, setting.budget)
    replay = Replay(api, MODEL, limits, tools=TOOLS)
    session = make_session(setting.seed, setting.agent_turns)
    for exchange, gap in zip(session, make_gaps(setting.seed), strict=False):
        replay.play(exchange, gap)
    return replay


def report_work(report: Report, setting: "Setting", replay: Replay) -> None:
    """The price of such work, beside plain summaries."""
    tally, spent = replay.tally, replay.api.spent
    spent.note_compactions(replay.versions)
    report.add("agent.answers", spent.requests, "requests")
    report.add("agent.usd_per_request", spent.dollars(setting.prices) / spent.requests, "USD")
    for part, dollars in spent.list_parts(setting.prices).items():
        report.add(f"agent.usd_per_request.{part}", dollars / spent.requests, "USD")
    system = count_text(BASE_PROMPT) + count_text(str(TOOLS))
    trigger = int(Policy().threshold_ratio * setting.budget)
    for name, ttl, goal in PLAIN:
        plain = baselines.plain_summary(tally.requests, system, trigger, PEERS_RECENT, ttl=ttl)
        dollars = plain.dollars(setting.prices)
        report.add(f"agent.usd_per_request.{name}", dollars / spent.requests, "USD")
        ratio = spent.dollars(setting.prices) / dollars
        report.add(f"agent.cost_vs.{name}", ratio, "ratio", goal)
    for name, tokens in (
        ("context", spent.context),
        ("before_compaction", spent.before_compaction),
        ("after_compaction", spent.after_compaction),
    ):
        report.add(f"agent.{name}", tokens, "tokens")
