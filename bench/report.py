"""Figures as they are measured, and the table at the end."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure. `goal` is readable ("<= 25"); `ok` is None where there is no goal."""

    metric: str
    value: float
    unit: str
    goal: str | None
    ok: bool | None


class Report:
    """The figures of one benchmark: each is printed as a JSON line at once."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.metrics: list[Metric] = []

    def add(
        self,
        metric: str,
        value: float,
        unit: str,
        goal: float | None = None,
        *,
        at_least: float | None = None,
    ) -> None:
        """`goal` is the most that the figure should be, `at_least` the least."""
        value = _rounded(value)
        words = ok = None
        if goal is not None:
            words, ok = f"<= {_rounded(goal):g}", value <= goal
        elif at_least is not None:
            words, ok = f">= {_rounded(at_least):g}", value >= at_least
        self.metrics.append(Metric(metric, value, unit, words, ok))
        print(json.dumps(asdict(self.metrics[-1])), flush=True)

    @property
    def missed(self) -> list[Metric]:
        """The figures that are worse than their goals."""
        return [metric for metric in self.metrics if metric.ok is False]

    def print_table(self) -> None:
        width = max((len(metric.metric) for metric in self.metrics), default=0)
        print(f"\n{self.title}")
        for metric in self.metrics:
            verdict = {True: "ok", False: "MISSED", None: ""}[metric.ok]
            print(
                f"  {metric.metric:<{width}} {metric.value:>12,g} {metric.unit:<10} "
                f"{metric.goal or '':<12} {verdict}"
            )
        print(flush=True)


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of each call: by the clock, and of this process's processors, which other
    programs change less (PostgreSQL's own are not in it)."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def measure(self, call: Callable[[], T]) -> T:
        """Call it once, and note what it took."""
        began, used = time.perf_counter(), time.process_time()
        result = call()
        self.wall.append(1000 * (time.perf_counter() - began))
        self.processor.append(1000 * (time.process_time() - used))
        return result

    def report(self, report: Report, name: str, goal: float | None = None) -> None:
        report.add(f"{name}.p50_ms", percentile(self.wall, 0.5), "ms")
        report.add(f"{name}.p95_ms", percentile(self.wall, 0.95), "ms", goal)
        report.add(f"{name}.p95_cpu_ms", percentile(self.processor, 0.95), "ms")


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed; NaN for none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values: Sequence[float]) -> float:
    """The lower median; NaN for none."""
    return percentile(values, 0.5)


def _rounded(value: float) -> float:
    """Four significant digits, whole from a thousand on."""
    if not value or not math.isfinite(value):
        return value
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))
