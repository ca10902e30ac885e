"""What is kept of long conversations: by this engine, by a plain summary, and by the search."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.calibration import Times
from bench.replay.conversations import ReplayConversation, ReplayExchange
from bench.replay.keeping import Kept, examine
from bench.replay.plain import PlainReplay
from bench.replay.summariser import Summariser
from bench.replay.tally import RememberingCounter
from bench.replay.values import Text, find_questions
from bench.replay.writings import EPOCH
from bench.report import Report, percentile

if TYPE_CHECKING:
    from bench.compaction import Played, Setting

DRIFT_COMPACTIONS = 223
MOST_WRITINGS = 3
MOST_QUESTIONS = 50  # of one conversation


@dataclass(frozen=True, slots=True)
class PlainPlayed:
    """One conversation with plain summaries; `writes`: see `Lineage.writes`."""

    kept: Kept
    compactions: int
    deepest: int
    writes: list[int]


def play_plain(setting: "Setting", conversation: ReplayConversation) -> PlainPlayed:
    """A conversation in the small window, summarised in the usual way."""
    from bench.compaction import new_limits

    writer = Summariser(setting.seed)
    limits = new_limits(setting.small_window, setting.small_window)
    replay = PlainReplay(writer, limits, RememberingCounter(setting.vocabulary))
    for exchange in conversation.exchanges:
        replay.play(exchange)
    kept = examine(replay.record, writer.planted, conversation.instructions, searched=False)
    lineage = replay.lineage
    return PlainPlayed(kept, replay.compactions, lineage.deepest, lineage.writes)


def report_keeping(report: Report, kept: Sequence[Kept], planted: int) -> None:
    """What the small windows' conversations still hold at their ends, all together."""
    values = max(1, sum(k.values for k in kept))
    for name in ("in_summary", "in_index", "in_prompt", "by_lookup", "by_sentence"):
        report.add(f"identifiers.{name}", _share(kept, name, values), "ratio")
    report.add("identifiers.with_sentence", _share(kept, "with_sentence", values), "ratio")
    reachable = _share(kept, "reachable", values)
    report.add("identifiers.reachable", reachable, "ratio", at_least=0.998)
    by_sentence = _share(kept, "reachable_by_sentence", values)
    report.add("identifiers.reachable_by_sentence", by_sentence, "ratio")
    report.add("identifiers.typed", values, "values")
    report.add("identifiers.invented", sum(len(k.invented) for k in kept), "values", 0)
    report.add("identifiers.planted", planted, "values")
    asked = max(1, sum(k.instructions for k in kept))
    report.add("pins.instructions", _share(kept, "pinned", asked), "ratio", at_least=0.85)
    report.add("pins.found", _share(kept, "found", asked), "ratio")
    users = max(1, sum(k.user_messages for k in kept))
    report.add("pins.flagged", _share(kept, "flagged", users), "ratio", 0.17)


def report_plain(report: Report, played: Sequence[PlainPlayed]) -> None:
    """The same of plain summaries: what is not in the prompt is lost, as nothing searches."""
    kept = [each.kept for each in played]
    values = max(1, sum(k.values for k in kept))
    report.add("plain.identifiers.in_summary", _share(kept, "in_summary", values), "ratio")
    report.add("plain.identifiers.reachable", _share(kept, "in_prompt", values), "ratio")
    report.add("plain.identifiers.invented", sum(len(k.invented) for k in kept), "values")
    asked = max(1, sum(k.instructions for k in kept))
    report.add("plain.pins.instructions", _share(kept, "pinned", asked), "ratio")
    report.add("plain.compactions", sum(each.compactions for each in played), "compactions")
    report.add("plain.rewrite_depth.max", max(each.deepest for each in played), "writes")
    _report_writes(report, "plain.rewrite_depth", [n for each in played for n in each.writes])


def report_drift(report: Report, played: Sequence["Played"]) -> None:
    """How often a fact was written anew, over the most compactions of one conversation: by the
    engine's count, and by each value's lineage."""
    report.add("rewrite_depth.max", max(p.tally.depth for p in played), "writes", MOST_WRITINGS)
    most = max(played, key=lambda p: p.tally.compactions)
    deepest = max(p.deepest for p in played)
    report.add("rewrite_depth.lineage.max", deepest, "writes", MOST_WRITINGS)
    _report_writes(report, "rewrite_depth.lineage", most.writes)
    count = most.tally.compactions
    report.add("rewrite_depth.compactions", count, "compactions", at_least=DRIFT_COMPACTIONS)


def report_search(report: Report, setting: "Setting") -> None:
    """The product's own search, asked for values by the sentences around them, at random; Django
    must be set up. Found: the value stands in what the model is given to read."""
    from bench.dialogues import Dialogue
    from bench.recall import ask_question, store_dialogue

    dice = random.Random(setting.seed)
    asked = found = 0
    for conversation in setting.conversations:
        pairs = [(role, text) for e in conversation.exchanges for role, text in _messages(e)]
        scope = store_dialogue(
            Dialogue(conversation.name, [(role, text, EPOCH) for role, text in pairs], [])
        )
        questions = {
            value: question
            for role, text in pairs
            if role == "user"
            for value, question in find_questions(text).items()
            if question
        }
        chosen = dice.sample(sorted(questions.items()), min(MOST_QUESTIONS, len(questions)))
        for value, question in chosen:
            asked += 1
            found += Text(ask_question(scope, question, Times())).holds(value)
    report.add("search_history.by_sentence", found / max(1, asked), "ratio")
    report.add("search_history.asked", asked, "values")


def _messages(exchange: ReplayExchange) -> list[tuple[str, str]]:
    return [("user", exchange.user), ("assistant", exchange.answer)]


def _share(kept: Sequence[Kept], name: str, of: int) -> float:
    total: int = sum(getattr(each, name) for each in kept)
    return total / of


def _report_writes(report: Report, name: str, writes: Sequence[int]) -> None:
    """Of the values that stand in the summary at the end."""
    report.add(f"{name}.mean", sum(writes) / max(1, len(writes)), "writes")
    report.add(f"{name}.p95", percentile(writes, 0.95), "writes")
