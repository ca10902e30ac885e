"""What compaction costs and keeps: long conversations, turn by turn through the real engine, on
a scripted Messages API in virtual time.

`python -m bench.compaction --data DIRECTORY`, where the directory holds `beam/`; without it the
small authored conversation is replayed. `docs/performance.md` explains the figures.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path

from agent.compaction.policy import Policy
from agent.tokens import Factor, Limits, Prices
from bench.processes import ROOT
from bench.replay.api import ScriptedApi
from bench.replay.conductor import Conductor
from bench.replay.conversations import ReplayConversation, chain, make_gaps, read_beam, read_fixture
from bench.replay.costs import report_cost
from bench.replay.keeping import Kept, Record, examine
from bench.replay.retention import (
    play_plain,
    report_drift,
    report_keeping,
    report_plain,
    report_search,
)
from bench.replay.sessions import report_session
from bench.replay.spending import Spending
from bench.replay.summariser import Summariser
from bench.replay.tally import RememberingCounter, Tally
from bench.report import Report, percentile

MODEL = "claude-sonnet-5-5"
WINDOW, MAX_OUTPUT, BUDGET = 1_000_000, 128_000, 200_000
# What is kept is examined where most is compacted: in a window no larger than its budget.
SMALL_WINDOW = 75_000
PARTS = ("long", "kept", "agent")  # what can be replayed by itself


@dataclass(frozen=True, slots=True)
class Setting:
    """What to replay. Sizes in tokens; `beam`: the folder, None for the authored conversation."""

    beam: Path | None
    prices: Prices
    turns: int
    drift_turns: int
    services_turns: int
    seed: int
    swaps: int = 0  # go on through the services until so many summaries were swapped in
    agent_turns: int = 60
    budget: int = BUDGET
    window: int = WINDOW
    small_window: int = SMALL_WINDOW
    vocabulary: Path = ROOT / "var" / "tiktoken"

    @property
    def conversations(self) -> list[ReplayConversation]:
        return read_beam(self.beam) if self.beam else [read_fixture()]


@dataclass(frozen=True, slots=True)
class Played:
    """One replay, without what would be slow to send between processes."""

    tally: Tally
    requests: int
    violations: list[str]
    fullest: float
    followed: int
    unchanged: int
    spent: Spending
    bullets: int
    planted: int
    digests: list[str]
    deepest: int  # see `bench.replay.lineage.Lineage`
    writes: list[int]
    kept: Kept | None = None


def play(
    setting: Setting,
    conversation: ReplayConversation,
    *,
    small: bool = False,
    digests: bool = False,
    examined: bool = False,
) -> Played:
    """A conversation from its beginning, with an engine of its own: in the `small` window; with
    digests of all requests; and what is kept at its end examined."""
    window = setting.small_window if small else setting.window
    budget = window if small else setting.budget
    api = new_api(setting, window, keep_digests=digests)
    conductor = Conductor(
        api,
        Policy(),
        new_limits(window, budget),
        RememberingCounter(setting.vocabulary),
        MODEL,
    )
    for exchange, gap in zip(conversation.exchanges, make_gaps(setting.seed), strict=False):
        conductor.play(exchange, gap)
    writer = api.summariser
    kept = None
    if examined:
        kept = examine(Record.of(conductor), writer.planted, conversation.instructions)
    return Played(
        conductor.tally,
        api.requests,
        api.violations,
        api.fullest,
        api.followed,
        api.unchanged,
        api.spent,
        writer.bullets,
        len(writer.planted),
        api.digests,
        conductor.lineage.deepest,
        conductor.lineage.writes,
        kept,
    )


def new_api(setting: Setting, window: int, *, keep_digests: bool) -> ScriptedApi:
    return ScriptedApi(window, setting.prices, Summariser(setting.seed), keep_digests=keep_digests)


def new_limits(window: int, budget: int) -> Limits:
    return Limits(window, MAX_OUTPUT, budget, Factor.start(MODEL))


def report_safety(report: Report, played: Sequence[Played]) -> None:
    """What must hold in all replays."""
    report.add("requests", sum(p.requests for p in played), "requests")
    report.add("requests.invalid", sum(len(p.violations) for p in played), "violations", 0)
    report.add("request_over_window.max", max(p.fullest for p in played), "ratio", 1.0)
    unchanged = sum(p.unchanged for p in played) / max(1, sum(p.followed for p in played))
    report.add("prefix.unchanged", unchanged, "ratio", at_least=1.0)
    tallies = [p.tally for p in played]
    report.add("compactions", sum(t.compactions for t in tallies), "compactions")
    report.add("compactions.blocking", sum(t.blocking for t in tallies), "compactions", 0)
    report.add(
        "compactions.blocking_after_large",
        sum(t.blocking_after_large for t in tallies),
        "compactions",
    )
    report.add("compactions.failed_calls", sum(len(t.failures) for t in tallies), "rungs")
    report.add("turns.trimmed", sum(t.trimmed for t in tallies), "turns", 0)


def report_services(
    report: Report, setting: Setting, conversation: ReplayConversation
) -> tuple[list[str], int]:
    """The product's own services on a database, for the setting's turns and until it has its
    swaps: how long the composer is locked for a compaction. Django must be set up. Gives digests
    of the requests, which must be those of the replays without a database, and the turns."""
    from bench.replay.services import ServicesReplay

    window = setting.small_window
    api = new_api(setting, window, keep_digests=True)
    replay = ServicesReplay(api, MODEL, new_limits(window, window))
    turns = zip(cycle(conversation.exchanges), make_gaps(setting.seed), strict=False)
    for played, (exchange, gap) in enumerate(turns):
        if played >= setting.services_turns and len(replay.held_cpu) >= setting.swaps:
            break
        replay.play(exchange, gap)
    report.add("services.compactions", len(replay.held), "compactions")
    report.add("services.swaps", len(replay.held_cpu), "compactions")
    report.add("services.compactions.blocking", replay.blocking, "compactions", 0)
    report.add("lock_ms.p50", percentile(replay.held, 0.5), "ms")
    report.add("lock_ms.p95", percentile(replay.held, 0.95), "ms", 200)
    report.add("lock_ms.p95.cpu", percentile(replay.held_cpu, 0.95), "ms")
    report.add("turn_opened_ms.p50", percentile(replay.opened, 0.5), "ms")
    return api.digests, len(replay.held) + len(replay.opened)


def report_same(report: Report, sent: Sequence[str], expected: Sequence[str]) -> None:
    """Whether services and replay sent the same requests, byte for byte."""
    same = sum(a == b for a, b in zip(sent, expected, strict=False))
    total = max(len(sent), len(expected))
    report.add("services.same_requests", same / total, "ratio", at_least=1.0)


def find_longest(conversations: Sequence[ReplayConversation]) -> ReplayConversation:
    return max(conversations, key=lambda c: len(c.exchanges))


def run(setting: Setting, report: Report, workers: int) -> None:
    """All replays: the services' here, the others in processes of their own."""
    conversations = setting.conversations
    long = chain(conversations, setting.turns)
    drifting = chain(conversations, setting.drift_turns)
    longest = find_longest(conversations)
    # First, so that nothing else takes time from it.
    sent, turns = report_services(report, setting, longest)
    beside = chain([longest], turns)
    report_search(report, setting)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        costly = pool.submit(play, setting, long)
        drifted = pool.submit(play, setting, drifting, small=True)
        same = pool.submit(play, setting, beside, small=True, digests=True)
        whole = partial(play, setting, small=True, examined=True)
        kept = list(pool.map(whole, conversations))
        plain = list(pool.map(partial(play_plain, setting), conversations))
        expected, played, drift = same.result(), costly.result(), drifted.result()
    report_same(report, sent, expected.digests)
    report_keeping(report, [p.kept for p in kept if p.kept], sum(p.planted for p in kept))
    report_plain(report, plain)
    report_cost(report, setting, played, long)
    report_drift(report, [played, drift])
    report_safety(report, [played, drift, expected, *kept])
    report_session(report, setting)


def run_part(setting: Setting, report: Report, part: str) -> None:
    """One of the replays by itself, here."""
    conversations = setting.conversations
    if part == "long":
        long = chain(conversations, setting.turns)
        played = [play(setting, long)]
        report_cost(report, setting, played[0], long)
        report_safety(report, played)
    elif part == "kept":
        played = [play(setting, each, small=True, examined=True) for each in conversations]
        report_keeping(report, [p.kept for p in played if p.kept], sum(p.planted for p in played))
        report_plain(report, [play_plain(setting, each) for each in conversations])
        report_safety(report, played)
    else:
        report_session(report, setting)


def built_in_prices() -> Prices:
    """The model's prices, from the product's table."""
    from chat.engine.model_profiles import BUILT_IN, CACHE_WRITE

    known = BUILT_IN[MODEL]
    read = known.input_price * known.cache_read
    return Prices(known.input_price, known.output_price, read, known.input_price * CACHE_WRITE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="holds beam/")
    parser.add_argument("--turns", type=int, default=10_000, help="of the long replay")
    parser.add_argument("--drift-turns", type=int, default=6_200, help="in the small window")
    parser.add_argument("--services-turns", type=int, default=240, help="through the services")
    parser.add_argument("--swaps", type=int, default=20, help="of the services, at least")
    parser.add_argument("--agent-turns", type=int, default=60, help="of the work with tools")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=PARTS, help="one of the replays")
    options = parser.parse_args()
    from bench.serving import load_django_site

    with load_django_site():
        setting = Setting(
            options.data / "beam" if options.data else None,
            built_in_prices(),
            options.turns,
            options.drift_turns,
            options.services_turns,
            options.seed,
            options.swaps,
            options.agent_turns,
        )
        report = Report("Compaction")
        if options.only:
            run_part(setting, report, options.only)
        else:
            run(setting, report, options.workers)
        report.print_table()


if __name__ == "__main__":
    main()
