"""Times of calls, and what the machine had left for them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from bench.report import Report, percentile

T = TypeVar("T")

FIXED_WORK = 60_000  # additions: some milliseconds


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


@dataclass(frozen=True, slots=True)
class Load:
    """A fixed loop that takes turns with what is measured. Its time by the clock over its processor
    time is 1 on an idle machine: how much longer everything else took, too."""

    times: Times = field(default_factory=Times)

    def sample(self) -> None:
        self.times.measure(lambda: sum(range(FIXED_WORK)))

    def report(self, report: Report) -> None:
        self.times.report(report, "fixed_loop")
        stretched = sum(self.times.wall) / sum(self.times.processor)
        report.add("fixed_loop.clock_over_cpu", stretched, "times")
