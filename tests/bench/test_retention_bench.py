"""What the compaction benchmark says is kept: questions without their values, and the plain summary
that ours is held against."""

from pathlib import Path

from agent.messages import plain_text
from agent.tokens import Factor, Limits
from bench.replay.conversations import ReplayConversation, ReplayExchange, chain, read_fixture
from bench.replay.keeping import Record, examine
from bench.replay.plain import PlainReplay, RememberingCounter
from bench.replay.retention import report_keeping
from bench.replay.summariser import Summariser
from bench.replay.values import find_questions
from bench.report import Report


def test_a_question_is_the_sentence_without_the_value() -> None:
    text = "Our server listens on port 8443, please. 1.2.3\nSee src/app.py"
    assert find_questions(text) == {
        "8443": "Our server listens on port , please.",
        "1.2.3": "",
        "src/app.py": "",
    }


def play_plainly(conversation: ReplayConversation, window: int) -> PlainReplay:
    limits = Limits(window, 1_000, window, Factor(1.0, 0))
    plain = PlainReplay(Summariser(3), limits, RememberingCounter(Path("no-vocabulary")))
    for exchange in conversation.exchanges:
        plain.play(ReplayExchange(exchange.user, exchange.answer))
    return plain


def test_a_plain_summary_is_not_checked() -> None:
    plain = play_plainly(chain([read_fixture()], 240), 8_000)
    assert plain.compactions > 3
    record = plain.record
    assert 0 < record.through < 480
    kept = examine(record, [], frozenset({1}))
    assert 0 < kept.in_summary <= kept.in_request <= kept.values
    assert kept.in_index == 0
    assert kept.invented  # nobody looked its statements up


def test_what_the_search_finds_is_reachable_by_the_value_or_by_its_sentence() -> None:
    conversation = read_fixture()
    messages = play_plainly(conversation, 10**6).record.messages
    record = Record(messages, len(messages), chapters="")
    everything = "\n".join(plain_text(message.blocks) for message in messages)
    kept = examine(record, [], conversation.instructions, lambda _: everything)
    assert kept.in_request == 0
    assert kept.reachable == kept.values >= kept.with_sentence > 0
    assert kept.by_sentence == kept.with_sentence
    by_value = examine(record, [], frozenset(), lambda query: query)
    assert (by_value.reachable, by_value.by_sentence) == (kept.values, 0)
    report = Report("kept")
    report_keeping(report, [kept, by_value], 0)
    figures = {metric.metric: metric.value for metric in report.metrics}
    assert figures["identifiers.found_by_sentence"] == 0.5
