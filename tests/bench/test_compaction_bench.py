"""The compaction benchmark on its authored conversation: its figures come out, and what must hold
in every replay holds. No data directory, a small budget."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.compaction.policy import Policy
from agent.context.assemble import BASE_PROMPT
from agent.context.request import CACHE_SECONDS
from bench import compaction
from bench.compaction import Setting, play
from bench.replay import baselines
from bench.replay.api import Prices, ScriptedApi
from bench.replay.conversations import ReplayExchange, chain, make_gaps, read_beam, read_fixture
from bench.replay.costs import report_cost
from bench.replay.keeping import Record, examine
from bench.replay.replay import Replay
from bench.replay.sessions import work
from bench.replay.summariser import Summariser
from bench.replay.values import Text, find_exact_values
from bench.report import Report
from demo.api.tokens import count_text

PRICES = Prices.of(2.0, 10.0, 0.1, 2.5)
SETTING = Setting(
    None, PRICES, turns=60, agent_turns=3, seed=3, budget=8_000, window=30_000, small_window=8_000
)

in_database = pytest.mark.django_db(transaction=True)


@in_database
def test_a_long_talk_waits_for_nothing_and_its_turns_do_not_become_dearer() -> None:
    replay = play(SETTING, chain([read_fixture()], 240))
    api, tally = replay.api, replay.tally
    assert api.violations == []
    assert api.fullest <= 1
    assert api.requests > 240
    assert api.unchanged == api.followed > 200
    assert len(replay.versions) > 5
    assert tally.blocking == tally.trimmed == 0
    assert len(tally.swapped) + len(tally.opened) == len(tally.dollars) == 240
    assert tally.dollars[239] - tally.dollars[159] <= 1.3 * (tally.dollars[159] - tally.dollars[79])
    assert 0 < PRICES.dollars(api.spent.summaries) < tally.dollars[239]
    report = Report("test")
    report_cost(report, SETTING, replay)
    compaction.report_safety(report, "long", [replay])
    figures = {metric.metric: metric.value for metric in report.metrics}
    assert figures["usd_per_turn"] == pytest.approx(tally.dollars[-1] / 240, rel=0.01)
    assert figures["usd_per_turn"] < figures["usd_per_turn.full_history"]
    assert figures["usd_per_turn.compactions"] == figures["long.compactions"]
    assert figures["usd_per_turn.before_compaction"] > figures["usd_per_turn.after_compaction"] > 0


@in_database
def test_planted_values_are_kept_out_and_typed_ones_stay_reachable() -> None:
    replay = play(SETTING, chain([read_fixture()], 120), small=True)
    planted = replay.api.summariser.planted
    kept = examine(Record.of(replay), planted, read_fixture().instructions, replay.search)
    assert planted
    assert kept.invented == ()
    assert kept.values > 20
    assert kept.reachable == kept.values
    assert 0 < kept.in_summary < kept.values
    assert kept.found == kept.instructions == 3


@in_database
def test_baselines_agree_with_the_prompt_cache() -> None:
    """Full history through the real cache accounting, and by arithmetic; with pauses so long that
    nothing is cached for an hour, which the baselines do not do. Nor do they tell the time."""
    api = ScriptedApi(1_000_000, PRICES, Summariser(3))
    limits = compaction.new_limits(1_000_000, 200_000)
    replay = Replay(api, compaction.MODEL, limits, Policy(enabled=False))
    for exchange, gap in zip(chain([read_fixture()], 40).exchanges, make_gaps(3), strict=False):
        plain = ReplayExchange(exchange.user, exchange.answer)
        replay.play(plain, gap if gap < CACHE_SECONDS["5m"] else 2 * CACHE_SECONDS["1h"])
    expected = baselines.full_history(replay.tally.requests, count_text(BASE_PROMPT))
    assert api.spent.dollars(PRICES) == pytest.approx(expected.dollars(PRICES), rel=0.02)
    assert api.spent.summary_calls == 0


@in_database
@pytest.mark.parametrize(
    ("part", "figure"),
    [
        ("long", "cost_vs.plain_same_size"),
        ("kept", "identifiers.in_request"),
        ("agent", "agent.cost_vs.plain_same_trigger"),
    ],
)
def test_each_part_can_be_played_by_itself(part: str, figure: str) -> None:
    report = Report("test")
    compaction.run(SETTING, report, [part])
    figures = {metric.metric for metric in report.metrics}
    assert {figure, f"{part}.requests.invalid"} < figures


@in_database
def test_work_with_tools_goes_on_as_it_was_also_after_a_compaction_within_a_turn() -> None:
    """The prompt of the rounds that are kept is sent with the next turns too."""
    replay = work(replace(SETTING, agent_turns=8, budget=40_000, window=200_000))
    assert len(replay.versions) > 3
    assert replay.api.unchanged == replay.api.followed
    assert replay.api.violations == []


def test_a_plain_summary_is_paid_for_like_ours() -> None:
    """Two turns of 100 and 50 tokens fit 400; before the third, all that was sent is read for a
    summary, and it, the recent messages and the third turn are written anew."""
    turns = [baselines.TurnSize(360.0, 100, 50)] * 3
    spent = baselines.plain_summary(turns, 10, 400, 40, ttl="1h")
    turn, before = 150 + 2 * baselines.OVERHEAD, 10
    assert spent.summaries.cache_read_input_tokens == before + 2 * turn
    assert spent.sizes_after == [10 + baselines.SUMMARY_TOKENS + 40]
    assert spent.answers.output_tokens == 3 * 50
    assert spent.answers.ephemeral_1h_input_tokens == spent.answers.cache_creation_input_tokens
    assert sum(spent.list_parts(PRICES).values()) == pytest.approx(spent.dollars(PRICES))
    short = baselines.plain_summary(turns, 10, 400, 40, ttl="5m")
    assert short.answers.cache_read_input_tokens == 0 < spent.answers.cache_read_input_tokens


def test_values_are_found_by_themselves() -> None:
    assert find_exact_values("Port 8443, level 1,250 cm in src/app.py [#12]") == {
        "8443": "8443",
        "1250": "1,250",
        "src/app.py": "src/app.py",
    }
    assert Text("in 2015").holds("2015")
    assert not Text("in 2015").holds("15")


def test_beam_is_read_without_its_artefacts(tmp_path: Path) -> None:
    chat = [
        {
            "turns": [
                [
                    {"role": "user", "id": 0, "content": "Always be brief. ->-> 1,1"},
                    {"role": "assistant", "id": 1, "content": "Yes."},
                ]
            ]
        }
    ]
    questions = {"instruction_following": [{"question": "How long?", "source_chat_ids": [0]}]}
    (tmp_path / "a.chat.json").write_text(json.dumps(chat))
    (tmp_path / "a.questions.json").write_text(json.dumps(questions))
    [conversation] = read_beam(tmp_path)
    assert conversation.exchanges == [ReplayExchange("Always be brief.", "Yes.")]
    assert conversation.instructions == {1}
