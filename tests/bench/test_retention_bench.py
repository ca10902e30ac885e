"""What the compaction benchmark says is kept: the lineage of a value, questions without it, and the
plain summary that ours is held against."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.compaction.chapters.chapter import Chapter
from agent.tokens import Factor, Limits
from bench.replay.conversations import ReplayConversation, ReplayExchange, chain, read_fixture
from bench.replay.keeping import Record, examine
from bench.replay.lineage import Lineage
from bench.replay.plain import PlainReplay
from bench.replay.retention import report_keeping
from bench.replay.summariser import Summariser
from bench.replay.tally import RememberingCounter
from bench.replay.values import Lookup, find_questions
from bench.report import Report


def test_a_value_that_a_merge_takes_over_was_written_once_more() -> None:
    lineage = Lineage()
    first = Chapter("- The port is 8443 [#1]\n- Version 1.2.3 [#3]", 1, 4)
    second = Chapter("- The port is 9000 [#5]", 5, 8)
    lineage.follow([first, second])
    assert lineage.deepest == 1
    merged = Chapter("- Port 8443 [#1 #2]\n- Then 9000 [#7]\n- It was 1.2.3 [#3]", 1, 8)
    lineage.follow([merged])
    # 9000 cites another message than before: it was taken from there.
    assert sorted(lineage.writes) == [1, 2, 2]
    lineage.follow([merged, Chapter("- 404 [#9]", 9, 10)])
    assert sorted(lineage.writes) == [1, 1, 2, 2]
    assert lineage.deepest == 2


def test_a_chapter_that_stays_is_not_written_again() -> None:
    lineage = Lineage()
    chapter = Chapter("- The port is 8443 [#1]", 1, 4)
    for _ in range(3):
        lineage.follow([chapter])
    assert lineage.writes == [1]


def test_a_question_is_the_sentence_without_the_value() -> None:
    text = "Our server listens on port 8443, please. 1.2.3\nSee src/app.py"
    assert find_questions(text) == {
        "8443": "Our server listens on port , please.",
        "1.2.3": "",
        "src/app.py": "",
    }


def test_a_question_finds_what_its_words_lead_to() -> None:
    texts = ["the server listens on port 8443", *["nothing of that kind"] * 9]
    with closing(Lookup(texts)) as lookup:
        assert lookup.find_by_words("8443", "where does it listen: which port?")
        assert not lookup.find_by_words("8443", "nothing kind")


def play_plainly(conversation: ReplayConversation, window: int) -> PlainReplay:
    limits = Limits(window, 1_000, window, Factor(1.0, 0))
    plain = PlainReplay(Summariser(3), limits, RememberingCounter(Path("no-vocabulary")))
    for exchange in conversation.exchanges:
        plain.play(ReplayExchange(exchange.user, exchange.answer))
    return plain


def test_a_plain_summary_is_rewritten_each_time_and_not_checked() -> None:
    plain = play_plainly(chain([read_fixture()], 240), 8_000)
    assert plain.compactions > 3
    assert 1 < plain.lineage.deepest <= plain.compactions
    record = plain.record
    assert 0 < record.through < 480
    kept = examine(record, [], frozenset({1}))
    assert 0 < kept.in_summary <= kept.in_prompt <= kept.values
    assert kept.in_index == 0
    assert kept.invented  # nobody looked its statements up


def test_what_is_asked_by_its_sentence_is_counted_apart() -> None:
    conversation = read_fixture()
    messages = play_plainly(conversation, 10**6).record.messages
    kept = examine(Record(messages, len(messages), chapters=""), [], conversation.instructions)
    assert kept.by_lookup == kept.values
    assert 0 < kept.by_sentence <= kept.with_sentence <= kept.values
    assert kept.reachable_by_sentence == kept.by_sentence  # nothing is in the prompt
    report = Report("kept")
    report_keeping(report, [kept, replace(kept, by_sentence=0)], 0)
    figures = {metric.metric: metric.value for metric in report.metrics}
    share = kept.by_sentence / kept.values / 2
    assert figures["identifiers.by_sentence"] == pytest.approx(share, rel=0.01)
