"""What is kept of long conversations: by this engine, and by a plain summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.processes import ROOT
from bench.replay.conversations import ReplayConversation
from bench.replay.keeping import Kept, examine
from bench.replay.plain import PlainReplay, RememberingCounter
from bench.replay.summariser import Summariser
from bench.report import Report

if TYPE_CHECKING:
    from bench.compaction import Setting


@dataclass(frozen=True, slots=True)
class PlainPlayed:
    """One conversation with plain summaries."""

    kept: Kept
    compactions: int


def play_plain(setting: "Setting", conversation: ReplayConversation) -> PlainPlayed:
    """A conversation in the small window, summarised in the usual way."""
    from bench.compaction import new_limits

    writer = Summariser(setting.seed)
    limits = new_limits(setting.small_window, setting.small_window)
    replay = PlainReplay(writer, limits, RememberingCounter(ROOT / "var" / "tiktoken"))
    for exchange in conversation.exchanges:
        replay.play(exchange)
    kept = examine(replay.record, writer.planted, conversation.instructions)
    return PlainPlayed(kept, replay.compactions)


def report_keeping(report: Report, kept: Sequence[Kept], planted: int) -> None:
    """What the small windows' conversations still hold at their ends, all together."""
    values = max(1, sum(k.values for k in kept))
    for name in ("in_summary", "in_index", "in_request"):
        report.add(f"identifiers.{name}", _share(kept, name, values), "ratio")
    reachable = _share(kept, "reachable", values)
    report.add("identifiers.reachable", reachable, "ratio", at_least=0.998)
    asked = max(1, sum(k.with_sentence for k in kept))
    report.add("identifiers.found_by_sentence", _share(kept, "by_sentence", asked), "ratio")
    report.add("identifiers.typed", values, "values")
    report.add("identifiers.invented", sum(len(k.invented) for k in kept), "values", 0)
    report.add("identifiers.planted", planted, "values")
    asked = max(1, sum(k.instructions for k in kept))
    report.add("pins.instructions", _share(kept, "pinned", asked), "ratio", at_least=0.85)
    report.add("pins.found", _share(kept, "found", asked), "ratio")
    users = max(1, sum(k.user_messages for k in kept))
    report.add("pins.flagged", _share(kept, "flagged", users), "ratio", 0.17)


def report_plain(report: Report, played: Sequence[PlainPlayed]) -> None:
    """The same of plain summaries: what is not in the request is lost, as nothing searches."""
    kept = [each.kept for each in played]
    values = max(1, sum(k.values for k in kept))
    report.add("plain.identifiers.in_summary", _share(kept, "in_summary", values), "ratio")
    report.add("plain.identifiers.reachable", _share(kept, "in_request", values), "ratio")
    report.add("plain.identifiers.invented", sum(len(k.invented) for k in kept), "values")
    asked = max(1, sum(k.instructions for k in kept))
    report.add("plain.pins.instructions", _share(kept, "pinned", asked), "ratio")
    report.add("plain.compactions", sum(each.compactions for each in played), "compactions")


def _share(kept: Sequence[Kept], name: str, of: int) -> float:
    total: int = sum(getattr(each, name) for each in kept)
    return total / of
