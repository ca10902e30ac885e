"""The compaction benchmark on its authored conversation: its figures come out, and what must hold
in every replay holds. No data directory, a small budget."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.compaction.policy import Policy
from agent.context.assemble import BASE_PROMPT
from agent.context.request import CACHE_SECONDS
from bench import compaction
from bench.compaction import Played, Setting, play
from bench.replay import baselines
from bench.replay.api import Prices
from bench.replay.conductor import Conductor
from bench.replay.conversations import ReplayExchange, chain, make_gaps, read_fixture
from bench.replay.costs import report_cost, turn_sizes
from bench.replay.sessions import report_session
from bench.replay.tally import RememberingCounter
from bench.replay.values import Lookup, Text, find_exact_values
from bench.report import Report
from demo.api.tokens import count_text

PRICES = Prices(2.0, 10.0, 0.1, 2.5)


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(
        beam=None,
        prices=PRICES,
        turns=240,
        drift_turns=240,
        services_turns=40,
        seed=3,
        budget=8_000,
        window=30_000,
        small_window=8_000,
        vocabulary=tmp_path_factory.mktemp("no-vocabulary"),
    )


@pytest.fixture(scope="module")
def long(setting: Setting) -> Played:
    return play(setting, chain([read_fixture()], 240))


def test_every_request_is_valid_and_continues_the_one_before(long: Played) -> None:
    assert long.violations == []
    assert long.fullest <= 1
    assert long.requests > 240
    assert long.followed > 200
    assert long.unchanged == long.followed


def test_nobody_waits_where_no_turn_is_large(long: Played) -> None:
    assert long.tally.compactions > 5
    assert long.tally.blocking == 0
    assert long.tally.trimmed == 0


def test_facts_are_written_once(long: Played) -> None:
    assert long.tally.depth == 1


def test_costs_grow_with_the_turns_and_not_faster(long: Played) -> None:
    both = zip(long.tally.dollars, long.tally.summary_dollars, strict=True)
    dollars = [all_calls - summaries for all_calls, summaries in both]
    assert len(dollars) == 240
    assert dollars[239] - dollars[159] <= 1.25 * (dollars[159] - dollars[79])
    assert 0 < PRICES.dollars(long.spent.summaries) < dollars[239]


def test_planted_values_are_kept_out_and_typed_ones_stay_reachable(setting: Setting) -> None:
    turns = chain([read_fixture()], 120)
    conversation = replace(turns, instructions=read_fixture().instructions)
    played = play(setting, conversation, small=True, examined=True)
    kept = played.kept
    assert kept is not None
    assert played.planted > 0
    assert kept.invented == ()
    assert kept.values > 20
    assert kept.reachable == kept.values
    assert 0 < kept.in_summary < kept.values
    assert kept.found == kept.instructions == 3


def test_baselines_agree_with_the_prompt_cache(setting: Setting) -> None:
    """Full history through the real cache accounting, and by arithmetic; with pauses so long that
    nothing is cached for an hour, which the baselines do not do. Nor do they tell the time."""
    turns = chain([read_fixture()], 40)
    plain = replace(turns, exchanges=[ReplayExchange(e.user, e.answer) for e in turns.exchanges])
    api = compaction.new_api(setting, 1_000_000, keep_digests=False)
    conductor = Conductor(
        api,
        Policy(enabled=False),
        compaction.new_limits(1_000_000, 200_000),
        RememberingCounter(setting.vocabulary),
        compaction.MODEL,
    )
    for exchange, gap in zip(plain.exchanges, make_gaps(setting.seed), strict=False):
        conductor.play(exchange, gap if gap < CACHE_SECONDS["5m"] else 2 * CACHE_SECONDS["1h"])
    system = count_text(BASE_PROMPT)
    expected = baselines.full_history(turn_sizes(plain, setting.seed), system)
    assert api.spent.dollars(PRICES) == pytest.approx(expected.dollars(PRICES), rel=0.02)
    assert api.spent.summary_calls == 0


@pytest.mark.parametrize("part", compaction.PARTS)
def test_each_replay_can_be_played_by_itself(setting: Setting, part: str) -> None:
    report = Report("Test")
    compaction.run_part(replace(setting, turns=60, agent_turns=3), report, part)
    figures = {metric.metric for metric in report.metrics}
    expected = {"long": "cost_vs.plain_same_size", "kept": "identifiers.in_prompt"}
    assert expected.get(part, "agent.cost_vs.plain_same_trigger") in figures


def test_work_with_tools_goes_on_as_it_was_also_after_a_compaction_within_a_turn(
    setting: Setting,
) -> None:
    """The prompt of the rounds that are kept is sent with the next turns too."""
    work = replace(setting, agent_turns=8, budget=40_000, window=200_000)
    report = Report("Test")
    report_session(report, work)
    figures = {metric.metric: metric.value for metric in report.metrics}
    assert figures["agent.compactions"] > 3
    assert figures["agent.prefix.unchanged"] == 1
    assert figures["agent.requests.invalid"] == 0


def test_a_plain_summary_is_paid_for_like_ours() -> None:
    """Two turns of 100 and 50 tokens fit 400; before the third, all that was sent is read for a
    summary, and it, the tail and the third turn are written anew."""
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


def test_report_has_the_figures(setting: Setting, long: Played) -> None:
    report = Report("test")
    conversation = chain([read_fixture()], 240)
    report_cost(report, setting, long, conversation)
    compaction.report_safety(report, [long])
    figures = {metric.metric: metric.value for metric in report.metrics}
    assert figures["usd_per_turn"] == pytest.approx(long.tally.dollars[-1] / 240, rel=0.01)
    assert figures["usd_per_turn.full_history"] < figures["usd_per_turn.sliding_window"]
    assert figures["prefix.unchanged"] == 1
    assert figures["request_over_window.max"] <= 1


@pytest.mark.django_db(transaction=True)
def test_services_send_the_same_requests(setting: Setting) -> None:
    """Both ask the engine for their steps: byte for byte."""
    setting = replace(setting, small_window=4_000, services_turns=1, swaps=1)
    conversation = replace(read_fixture(), exchanges=_plain())
    report = Report("test")
    sent, turns = compaction.report_services(report, setting, conversation)
    expected = play(setting, chain([conversation], turns), small=True, digests=True)
    compaction.report_same(report, sent, expected.digests)
    figures = {metric.metric: metric.value for metric in report.metrics}
    assert figures["services.same_requests"] == 1
    assert turns >= setting.services_turns
    assert figures["services.swaps"] >= 1


def _plain() -> list[ReplayExchange]:
    return [ReplayExchange(e.user, e.answer) for e in read_fixture().exchanges]


def test_values_are_found_by_themselves() -> None:
    assert find_exact_values("Port 8443, level 1,250 cm in src/app.py [#12]") == {
        "8443": "8443",
        "1250": "1,250",
        "src/app.py": "src/app.py",
    }
    assert Text("in 2015").holds("2015")
    assert not Text("in 2015").holds("15")


def test_lookup_asks_for_phrases() -> None:
    with closing(Lookup(["the port is 8443", "nothing here"])) as lookup:
        assert lookup.find("8443", "8443")
        assert not lookup.find("9000", "9000")


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
    questions = {"instruction_following": [{"source_chat_ids": [0]}]}
    (tmp_path / "a.chat.json").write_text(json.dumps(chat))
    (tmp_path / "a.questions.json").write_text(json.dumps(questions))
    [conversation] = compaction.read_beam(tmp_path)
    assert conversation.exchanges == [ReplayExchange("Always be brief.", "Yes.")]
    assert conversation.instructions == {1}
