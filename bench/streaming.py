"""How fast answers stream, what they cost and what they leave behind.

`python -m bench.streaming`. Everlong runs as `manage.py serve` against a paced, scripted provider
in its own process. Beside it, in the same rounds, the same questions are asked through the SDK and
over a bare socket. Each delta carries the time at which the provider wrote it.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench import serving
from bench.processes import Child, read_cpu_ms, read_pss_mb
from bench.report import Report, median, percentile

INTERVAL_MS = 20
DELTAS = 200
SPREAD_S = 2.0
# For what is about the start of an answer: short ones.
SHORT_DELTAS, SHORT_INTERVAL_MS = 10, 5
SIZES = (1, 50, 200)
# By the number of chats at once: how many should be in time, and the p95 of their first deltas.
LEAST_IN_TIME = {50: 50, 200: 190}
MOST_TTFT_MS = {50: 60}
MOST_LATE_MS = 150  # p95
MOST_ADDED_MS = 7.0  # to the SDK's first delta
KINDS = ("web", "sdk", "socket")
REST_S = 1.0  # between two runs, for what a server does after an answer
SETTLE_S = 3.0  # before memory is read: a new server still loads the vocabulary

Round = dict[str, Any]
Chats = list[tuple[str, str]]


@contextmanager
def serve_provider(deltas: int, interval_ms: float, *, markdown: bool = False) -> Iterator[str]:
    """The demo server with stamped answers; its URL."""
    options = f"--deltas {deltas} --interval-ms {interval_ms} --stamp".split()
    with Child("demo", *options, *["--markdown"] * markdown) as process:
        yield process.read_line()


@dataclass(frozen=True, slots=True)
class Site:
    """A measured server, and what its talkers connect to for some chats."""

    pid: int
    list_addresses: Callable[[Chats], list[Any]]


@dataclass
class Bench:
    """The servers and the talkers of one provider; a talker without a server asks it directly."""

    sites: dict[str, Site]
    talkers: dict[str, Child]
    deltas: int
    interval_ms: float

    def talk(self, kind: str, chats: Chats, spread_s: float) -> Round:
        """One run; `cpu_ms` is the server's where there is one, else the talker's own."""
        site = self.sites.get(kind)
        if site:
            self.talkers[kind].ask({"connect": site.list_addresses(chats)})
        order = {
            "chats": len(chats),
            "spread_s": spread_s,
            "deltas": self.deltas,
            "interval_ms": self.interval_ms,
        }
        before = read_cpu_ms(site.pid) if site else 0
        found = self.talkers[kind].ask({"talk": order})
        time.sleep(REST_S)
        if site:
            found["cpu_ms"] = read_cpu_ms(site.pid) - before
        if found["failures"]:
            print(f"{kind}, {len(chats)} chats: {found['failures']}", flush=True)
        return found

    def rounds(self, number: int, chats: Chats, spread_s: float) -> dict[str, list[Round]]:
        """Interleaved runs of all kinds, in rotating order."""
        found: dict[str, list[Round]] = defaultdict(list)
        kinds = list(self.talkers)
        for turn in range(number):
            shift = turn % len(kinds)
            for kind in kinds[shift:] + kinds[:shift]:
                found[kind].append(self.talk(kind, chats, spread_s))
        return found


@contextmanager
def run_bench(
    directory: Path, url: str, kinds: Sequence[str], deltas: int, interval_ms: float
) -> Iterator[Bench]:
    with ExitStack() as stack:
        server = stack.enter_context(serving.serve_site(directory, url))
        site = Site(server.pid, partial(serving.list_addresses, server))
        talkers = {kind: stack.enter_context(Child("bench.talkers", kind, url)) for kind in kinds}
        yield Bench({"web": site}, talkers, deltas, interval_ms)


def report_start(report: Report, directory: Path, url: str, rounds: int) -> None:
    """Cold start, idle memory and idle CPU."""
    starts, sizes, idle = [], [], []
    for _ in range(rounds):
        with serving.serve_site(directory, url) as server:
            starts.append(server.start_s)
            time.sleep(SETTLE_S)
            before = read_cpu_ms(server.pid)
            time.sleep(2)
            idle.append((read_cpu_ms(server.pid) - before) / 2)
            sizes.append(read_pss_mb(server.pid))
    report.add("start.cold_s", median(starts), "s")
    report.add("memory.idle_mb", median(sizes), "MB PSS", 230)
    report.add("idle.cpu_ms_per_s", median(idle), "ms/s")


def report_first_delta(report: Report, bench: Bench, chats: Chats, rounds: int) -> None:
    """The time to the first delta of one user who asks again and again. `added` is over the bare
    socket, whose time is the provider's own."""
    for kind in bench.talkers:
        bench.talk(kind, chats[:3], 0)  # the SDK imports a part of itself at its first request
    found = bench.rounds(rounds, chats, 0)
    ttft = {
        kind: median([median(each["ttft_ms"]) for each in runs]) for kind, runs in found.items()
    }
    for kind in (each for each in ttft if each != "socket"):
        goal = ttft["sdk"] - ttft["socket"] + MOST_ADDED_MS if kind == "web" else None
        report.add(f"{kind}.ttft_added_ms", ttft[kind] - ttft["socket"], "ms", goal)
    report.add("socket.ttft_ms", ttft["socket"], "ms")
    asks = len(chats)
    cost = median([each["cpu_ms"] / asks for each in found["web"]])
    report.add(f"web.cpu_ms_per_answer_of_{bench.deltas}", cost, "ms")


def report_growth(report: Report, bench: Bench, number: int, at_once: int) -> None:
    """Memory after many new chats, each with a title of its own: what no file holds, so that other
    programs that share our libraries do not change it."""
    pid = bench.sites["web"].pid
    time.sleep(SETTLE_S)
    sizes = [read_pss_mb(pid, "Pss_Anon")]
    for _half in range(2):
        for _ in range(max(1, number // at_once // 2)):
            bench.talk("web", serving.make_chats(at_once, begun=False), 0.5)
        time.sleep(SETTLE_S)
        sizes.append(read_pss_mb(pid, "Pss_Anon"))
    report.add(f"memory.growth_mb.{number}", sizes[-1] - sizes[0], "MB", 20)
    report.add(f"memory.growth_mb.last_{number // 2}", sizes[-1] - sizes[1], "MB")


def report_load(
    report: Report, bench: Bench, chats: Chats, size: int, rounds: int, prefix: str = ""
) -> None:
    """Many chats at once. `prefix`: of the figures' names."""
    found = bench.rounds(rounds, chats[:size], SPREAD_S)
    cost = {
        kind: median([each["cpu_ms"] / each["deltas"] * 1000 for each in runs if each["deltas"]])
        for kind, runs in found.items()
    }
    for kind, runs in found.items():
        web = kind == "web"

        def add(name: str, unit: str, value: float, kind: str = kind, **goal: Any) -> None:
            report.add(f"{prefix}{kind}.{size}.{name}", value, unit, **goal)

        in_time = [each["in_time"] for each in runs]
        add(
            "in_time", f"of {size}", min(in_time), at_least=LEAST_IN_TIME.get(size) if web else None
        )
        late = median([each["late_p95"] for each in runs])
        add("late_ms.p95", "ms", late, goal=MOST_LATE_MS if web else None)
        ttft = median([percentile(each["ttft_ms"], 0.95) for each in runs])
        add("ttft_ms.p95", "ms", ttft, goal=MOST_TTFT_MS.get(size) if web else None)
        add("cpu_ms_per_1000_deltas", "ms", cost[kind], goal=cost.get("sdk") if web else None)
    slip = [each["slip_p95"] for runs in found.values() for each in runs]
    report.add(f"{prefix}provider.{size}.slip_ms.p95", max(slip), "ms")


def measure_short(report: Report, directory: Path, chats: Chats, options: Any) -> None:
    """What is about the start of an answer, and what many answers leave behind."""
    with ExitStack() as stack:
        url = stack.enter_context(serve_provider(SHORT_DELTAS, SHORT_INTERVAL_MS))
        if options.starts:
            report_start(report, directory, url, options.starts)
        if not (options.asks or options.chats):
            return
        started = run_bench(directory, url, KINDS, SHORT_DELTAS, SHORT_INTERVAL_MS)
        bench = stack.enter_context(started)
        if options.asks:
            report_first_delta(report, bench, chats[: options.asks], options.rounds + 1)
        if options.chats:
            report_growth(report, bench, options.chats, at_once=50)


def measure_load(
    report: Report,
    directory: Path,
    chats: Chats,
    kinds: Sequence[str],
    rounds: int,
    sizes: Sequence[int],
    *,
    markdown: bool = False,
) -> None:
    """Many chats at once, with answers of one paragraph or with Markdown and code."""
    with ExitStack() as stack:
        url = stack.enter_context(serve_provider(DELTAS, INTERVAL_MS, markdown=markdown))
        started = run_bench(directory, url, kinds, DELTAS, INTERVAL_MS)
        bench = stack.enter_context(started)
        for kind in kinds:
            bench.talk(kind, chats[:1], SPREAD_S)  # warm
        for size in sizes:
            report_load(report, bench, chats, size, rounds, "markdown." if markdown else "")


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.streaming", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="of each size (default: 2)")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="chats at once")
    parser.add_argument("--asks", type=int, default=30, help="for the first delta; 0: none")
    parser.add_argument("--chats", type=int, default=1000, help="for the growth; 0: none")
    parser.add_argument(
        "--markdown", type=int, default=50, help="chats at once with Markdown; 0: none"
    )
    parser.add_argument("--starts", type=int, default=2, help="cold starts; 0: none")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS, help="who talks")
    options = parser.parse_args()
    kinds = list(dict.fromkeys(("web", *options.kinds)))

    report = Report("Streaming")
    with serving.load_django_site() as directory:
        serving.collect_static()
        most = max([*options.sizes, options.asks, options.markdown, 1])
        begun = serving.make_chats(most, begun=True)
        measure_short(report, directory, begun, options)
        load = partial(measure_load, report, directory, begun, kinds, options.rounds)
        if options.sizes:
            load(options.sizes)
        if options.markdown:
            load([options.markdown], markdown=True)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
