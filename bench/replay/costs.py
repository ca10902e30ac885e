"""What a long replay costs, beside simpler strategies on the same turns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.compaction.policy import Policy
from agent.context.assemble import BASE_PROMPT
from agent.tokens import Prices
from bench.replay import baselines
from bench.replay.replay import Replay
from bench.replay.spending import Spending
from bench.report import Report
from demo.api.tokens import count_text

if TYPE_CHECKING:
    from bench.compaction import Setting

GROWTH_FROM = 1_000  # turns
# What stays word for word after a plain summary: OpenClaw, pi and Codex keep 20,000 tokens.
PEERS_RECENT = 20_000


def report_cost(report: Report, setting: "Setting", replay: Replay) -> None:
    """Dollars of the long replay by what they were paid for, and of the same turns otherwise."""
    prices, policy, sizes = setting.prices, Policy(), replay.tally.requests
    ours, number = replay.api.spent, len(replay.tally.dollars)
    ours.note_compactions(replay.versions)
    report.add("usd_per_turn", ours.dollars(prices) / number, "USD")
    _report_parts(report, "usd_per_turn", ours, prices, number)
    system = count_text(BASE_PROMPT)
    limit = int(policy.threshold_ratio * setting.budget)
    usual = int(baselines.WINDOW_RATIO * setting.window)
    same = baselines.plain_summary(sizes, system, limit, PEERS_RECENT, ttl="1h")
    others = {
        "full_history": baselines.full_history(sizes, system),
        # The API's default is five minutes; whoever takes an hour everywhere comes nearer.
        "plain_80_window": baselines.plain_summary(sizes, system, usual, PEERS_RECENT),
        "plain_80_window.hour": baselines.plain_summary(
            sizes, system, usual, PEERS_RECENT, ttl="1h"
        ),
        "plain_same_trigger": same,
        # Ours uses a pause near the trigger: the same for a plain one.
        "plain_same_size": baselines.plain_summary(
            sizes, system, int(ours.before_compaction), PEERS_RECENT, ttl="1h"
        ),
    }
    for name, other in others.items():
        report.add(f"usd_per_turn.{name}", other.dollars(prices) / number, "USD")
    _report_parts(report, "plain_same_trigger", same, prices, number)
    report.add("tokens_per_turn", sum(s.user + s.answer for s in sizes) / number, "tokens")
    for name, goal in (
        ("plain_80_window", 0.5),
        ("plain_80_window.hour", None),
        ("plain_same_trigger", 1.0),
        ("plain_same_size", None),
    ):
        ratio = ours.dollars(prices) / others[name].dollars(prices)
        report.add(f"cost_vs.{name}", ratio, "ratio", goal)
    report_growth(report, replay.tally.dollars)


def report_growth(report: Report, dollars: Sequence[float]) -> None:
    """Whether later turns cost more than early ones. `dollars`: in all, after each turn."""
    if len(dollars) > GROWTH_FROM:
        share = len(dollars) / GROWTH_FROM
        growth = dollars[-1] / dollars[GROWTH_FROM - 1]
        report.add("cost_growth", growth, f"x of {share:g}", 1.1 * share)


def _report_parts(report: Report, name: str, spent: Spending, prices: Prices, turns: int) -> None:
    """What a turn's dollars were paid for, and what decides that."""
    for part, dollars in spent.list_parts(prices).items():
        report.add(f"{name}.{part}", dollars / turns, "USD")
    report.add(f"{name}.context", spent.context, "tokens")
    report.add(f"{name}.before_compaction", spent.before_compaction, "tokens")
    report.add(f"{name}.after_compaction", spent.after_compaction, "tokens")
    report.add(f"{name}.compactions", spent.compactions, "compactions")
    report.add(f"{name}.summary_calls", spent.summary_calls, "calls")
