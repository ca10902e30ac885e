"""The benchmark of the prompt cache: its figures come out, and each mend saves what it is for."""

from bench.caching import Mends, make_session, price, run
from bench.report import Report


def test_each_mend_saves_where_it_is_needed() -> None:
    report = Report("test")
    run(report, turns=2)
    figures = {metric.metric: metric.value for metric in report.metrics}
    assert figures["calls_9.before"] == figures["thinking_200.no_breakpoint"] == 1
    assert figures["calls_12.no_breakpoint"] > 2
    assert figures["calls_12.no_thinking"] == 1
    assert figures["thinking_200.no_thinking"] > 1.1
    assert figures["both.before"] >= figures["both.no_breakpoint"] > figures["both.no_thinking"]


def test_a_longer_session_costs_more_and_a_pause_costs_the_cache() -> None:
    short, long = make_session(1, 2, 3), make_session(2, 2, 3)
    assert price(short, Mends()) < price(long, Mends())
    paused = type(long)(long.messages, [400.0] * len(long.messages))
    assert price(paused, Mends()) > 2 * price(long, Mends())
