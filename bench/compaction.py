"""What compaction costs and keeps: long conversations, turn by turn through the product's services,
on a scripted Messages API in virtual time.

`python -m bench.compaction --data DIRECTORY`, where the directory holds `beam/`; without it the
small authored conversation is replayed. `--only` plays one of three parts: `long` is BEAM's
conversations one after another, and says what a turn costs; `kept` plays each by itself in a small
window, and says what is left of it; `agent` is work with tools. `docs/performance.md` has the
figures.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.tokens import Factor, Limits, Prices
from bench.replay.api import ScriptedApi
from bench.replay.conversations import ReplayConversation, chain, make_gaps, read_beam, read_fixture
from bench.replay.costs import report_cost
from bench.replay.keeping import Record, examine
from bench.replay.replay import Replay
from bench.replay.retention import play_plain, report_keeping, report_plain
from bench.replay.sessions import report_work, work
from bench.replay.summariser import Summariser
from bench.report import Report, median, percentile
from bench.serving import load_django_site

MODEL = "claude-sonnet-5-5"
WINDOW, MAX_OUTPUT, BUDGET = 1_000_000, 128_000, 200_000
# What is kept is examined where most is compacted: in a window no larger than its budget.
SMALL_WINDOW = 75_000
PARTS = ("long", "kept", "agent")


@dataclass(frozen=True, slots=True)
class Setting:
    """What to replay. Sizes in tokens; `beam`: the folder, None for the authored conversation."""

    beam: Path | None
    prices: Prices
    turns: int = 2_000
    agent_turns: int = 24
    seed: int = 1
    budget: int = BUDGET
    window: int = WINDOW
    small_window: int = SMALL_WINDOW

    @property
    def conversations(self) -> list[ReplayConversation]:
        return read_beam(self.beam) if self.beam else [read_fixture()]


def play(setting: Setting, conversation: ReplayConversation, *, small: bool = False) -> Replay:
    """A conversation from its beginning, in the `small` window if that is said."""
    window = setting.small_window if small else setting.window
    budget = window if small else setting.budget
    api = ScriptedApi(window, setting.prices, Summariser(setting.seed))
    replay = Replay(api, MODEL, new_limits(window, budget))
    for exchange, gap in zip(conversation.exchanges, make_gaps(setting.seed), strict=False):
        replay.play(exchange, gap)
    return replay


def new_limits(window: int, budget: int) -> Limits:
    return Limits(window, MAX_OUTPUT, budget, Factor.start(MODEL))


def report_safety(report: Report, part: str, replays: Sequence[Replay]) -> None:
    """What must hold in all replays of a part, and how long the turns in which a prepared summary
    takes effect hold the composer."""

    def add(name: str, value: float, unit: str, goal: float | None = None) -> None:
        report.add(f"{part}.{name}", value, unit, goal)

    apis, tallies = [r.api for r in replays], [r.tally for r in replays]
    add("requests", sum(a.requests for a in apis), "requests")
    add("requests.invalid", sum(len(a.violations) for a in apis), "violations", 0)
    add("requests.over_window", max(a.fullest for a in apis), "ratio", 1.0)
    add("requests.prefix_changed", sum(a.followed - a.unchanged for a in apis), "requests", 0)
    add("compactions", sum(len(r.versions) for r in replays), "compactions")
    add("compactions.blocking", sum(t.blocking for t in tallies), "compactions", 0)
    after_large = sum(t.blocking_after_large for t in tallies)
    add("compactions.blocking_after_large", after_large, "compactions")
    add("compactions.failed_calls", sum(t.failed for t in tallies), "calls")
    add("turns.trimmed", sum(t.trimmed for t in tallies), "turns", 0)
    if swapped := [ms for each in tallies for ms in each.swapped]:
        add("lock_ms.p50", percentile(swapped, 0.5), "ms")
        add("lock_ms.p95", percentile(swapped, 0.95), "ms", 200)
        computing = [ms for each in tallies for ms in each.swapped_cpu]
        add("lock_ms.p95.cpu", percentile(computing, 0.95), "ms")
    add("turn_opened_ms.p50", median([ms for each in tallies for ms in each.opened]), "ms")
    for replay in replays:
        print(f"SHA-256 of {replay.api.requests} requests: {replay.api.digest.hexdigest()}")


def run(setting: Setting, report: Report, parts: Sequence[str] = PARTS) -> None:
    """Some of the parts. Django must be set up."""
    conversations = setting.conversations
    if "long" in parts:
        replay = play(setting, chain(conversations, setting.turns))
        report_cost(report, setting, replay)
        report_safety(report, "long", [replay])
    if "kept" in parts:
        replays = [play(setting, each, small=True) for each in conversations]
        kept = [
            examine(
                Record.of(replay), replay.api.summariser.planted, each.instructions, replay.search
            )
            for replay, each in zip(replays, conversations, strict=True)
        ]
        report_keeping(report, kept, sum(len(r.api.summariser.planted) for r in replays))
        report_plain(report, [play_plain(setting, each) for each in conversations])
        report_safety(report, "kept", replays)
    if "agent" in parts:
        replay = work(setting)
        report_work(report, setting, replay)
        report_safety(report, "agent", [replay])


def built_in_prices() -> Prices:
    """The model's prices, from the product's table."""
    from chat.engine.model_profiles import BUILT_IN, CACHE_WRITE

    known = BUILT_IN[MODEL]
    read = known.input_price * known.cache_read
    return Prices.of(known.input_price, known.output_price, read, known.input_price * CACHE_WRITE)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compaction", description=__doc__)
    parser.add_argument("--data", type=Path, help="holds beam/")
    parser.add_argument("--turns", type=int, default=2_000, help="of the long replay")
    parser.add_argument("--agent-turns", type=int, default=24, help="of the work with tools")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    options = parser.parse_args()
    beam = options.data / "beam" if options.data else None
    with load_django_site():
        prices = built_in_prices()
        setting = Setting(beam, prices, options.turns, options.agent_turns, options.seed)
        report = Report("Compaction")
        run(setting, report, [options.only] if options.only else PARTS)
    report.print_table()


if __name__ == "__main__":
    main()
