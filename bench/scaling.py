"""What a second web process is worth: `python -m bench.scaling`.

On PostgreSQL and Redis, one web process and two, in turn. Each gets the same share of a core and no
more, so that the clients, the provider and the two servers have the rest of a small machine: what
is compared are answers, not cores. Every chat asks again as soon as it is answered.
"""

import argparse
import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import serving
from bench.processes import read_cpu_ms
from bench.report import Report, median
from bench.streaming import serve_provider
from bench.talkers import Web

SHARE = 0.2  # of a core, for each web process; less where others use the machine
CHATS = 8  # for each web process: enough that none ever has nothing to do
SETTLE_S, SECONDS = 5.0, 30.0
DELTAS, INTERVAL_MS = 50, 20
STEP_S = 0.005  # how finely a process is held back
BURST_S = 0.02  # what it may use at once after it was idle
GOAL = 1.7


class Limit(threading.Thread):
    """Holds processes to a share of a core each: one that has used more is stopped for a while.
    Where cgroups cannot be had this needs no rights."""

    def __init__(self, pids: Sequence[int], share: float) -> None:
        super().__init__(daemon=True)
        self.pids, self.share = pids, share
        self._done = threading.Event()

    def run(self) -> None:
        last = time.monotonic()
        used = {pid: _read_cpu_s(pid) for pid in self.pids}
        owed: dict[int, float] = dict.fromkeys(self.pids, 0.0)  # seconds over its share
        while not self._done.wait(STEP_S):
            now = time.monotonic()
            earned, last = (now - last) * self.share, now
            for pid in self.pids:
                before, used[pid] = used[pid], _read_cpu_s(pid)
                owed[pid] = max(-BURST_S, owed[pid] + used[pid] - before - earned)
                os.kill(pid, signal.SIGSTOP if owed[pid] > 0 else signal.SIGCONT)

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        failed = not self.is_alive()
        self._done.set()
        self.join()
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)
        if failed:
            raise RuntimeError("The processes were not held back all the time.")


def _read_cpu_s(pid: int) -> float:
    """The processor time of a process so far, exact to the nanosecond."""
    clock = (~pid << 3) | 2  # what clock_getcpuclockid(3) returns on Linux
    return time.clock_gettime(clock)


class Servers:
    """PostgreSQL and Redis of the benchmark's own."""

    def __init__(self) -> None:
        from tests.support.services import start_own_postgres, start_own_redis

        self.postgres, self.redis = start_own_postgres(), start_own_redis()

    def read_cpu_ms(self) -> dict[str, float]:
        return {
            name: read_cpu_ms(server.owned.process.pid)
            for name, server in (("postgres", self.postgres), ("redis", self.redis))
            if server.owned
        }

    def stop(self) -> None:
        self.postgres.stop()
        self.redis.stop()


@contextmanager
def serve_sites(number: int, directory: Path, url: str, redis_url: str) -> Iterator[list[Any]]:
    """So many web processes of one site."""
    from tests.support.server import EverlongProcess

    environment = serving.ENVIRONMENT | {
        "DATA_DIR": str(directory),
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "REDIS_URL": redis_url,
        "ANTHROPIC_BASE_URL": url,
    }
    with ExitStack() as stack:
        servers: list[Any] = []
        for _ in range(number):
            server = EverlongProcess(directory, directory, "--no-worker", **environment)
            servers.append(server.start())
            stack.callback(server.stop)
        yield servers


@dataclass
class Run:
    """What was answered, and what it cost each part in ms of processor time."""

    answers: int
    cpu_ms: dict[str, float]


async def ask_all(
    sites: Sequence[Any], chats: Sequence[tuple[str, str]], servers: Servers, share: float
) -> Run:
    """Let every chat ask and ask, each at one of the web processes, and look at SECONDS of it."""
    web = Web("")
    addresses: list[list[str]] = []
    for index, site in enumerate(sites):
        addresses += serving.list_addresses(site, chats[index :: len(sites)])
    await web.connect(addresses)
    pids = [site.pid for site in sites]
    answers = 0

    def read_cpu() -> dict[str, float]:
        return {"web": sum(map(read_cpu_ms, pids)), **servers.read_cpu_ms()}

    async def ask(index: int) -> None:
        nonlocal answers
        while True:
            heard = await web.chat(index)
            answers += heard.complete  # not in one line: `+=` reads before it awaits

    # What is loaded at the first request is loaded before anything is held back.
    await asyncio.gather(*map(web.chat, range(len(addresses))))
    async with asyncio.TaskGroup() as group:
        with Limit(pids, share):
            asking = [group.create_task(ask(index)) for index in range(len(addresses))]
            await asyncio.sleep(SETTLE_S)
            before, answers = read_cpu(), 0
            await asyncio.sleep(SECONDS)
            found = Run(answers, {name: cpu - before[name] for name, cpu in read_cpu().items()})
        for each in asking:
            each.cancel()
    await web.close()
    return found


def measure(
    number: int,
    directory: Path,
    url: str,
    servers: Servers,
    chats: Sequence[tuple[str, str]],
    share: float,
) -> dict[str, float]:
    """With so many web processes: answers a second, and what one costs each part."""
    with serve_sites(number, directory, url, servers.redis.fresh_database()) as sites:
        run = asyncio.run(ask_all(sites, chats[: number * CHATS], servers, share))
    cost = {f"{name}.cpu_ms_per_answer": cpu / run.answers for name, cpu in run.cpu_ms.items()}
    return {"answers_per_s": run.answers / SECONDS, **cost}


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=SHARE, help="of a core, for each process")
    options = parser.parse_args()
    report = Report("Scaling")
    servers = Servers()
    try:
        with (
            serving.load_django_site(servers.postgres.fresh_database()) as directory,
            serve_provider(DELTAS, INTERVAL_MS) as url,
        ):
            serving.collect_static()
            chats = serving.make_chats(2 * CHATS, begun=True)
            rounds = [
                {
                    number: measure(number, directory, url, servers, chats, options.share)
                    for number in (1, 2)
                }
                for _ in range(options.rounds)
            ]
    finally:
        servers.stop()
    for number in (1, 2):
        for name in rounds[0][number]:
            unit = "1/s" if name == "answers_per_s" else "ms"
            report.add(f"{number}.{name}", median([each[number][name] for each in rounds]), unit)
    ratios = [each[2]["answers_per_s"] / each[1]["answers_per_s"] for each in rounds]
    report.add("answers.ratio", median(ratios), "", at_least=GOAL)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
