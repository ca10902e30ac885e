"""Everlong and another chat in the same run: `make bench-peers`.

Chainlit 2 runs in an environment of its own, `.venv-peers`, with the smallest application that its
documentation shows. Everlong stores every message, Chainlit none; neither asks for a login. Both
ask the same scripted provider, and so does the SDK, without a server: rounds are interleaved, and
all times count from the user's send. Judge by the ratios.
"""

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import serving, streaming
from bench.processes import ROOT, Child
from bench.report import Report, median, percentile
from tests.support.server import LoggedProcess
from tests.support.services import free_port

KINDS = ("web", "sdk", "chainlit")
MOST_OF_CHAINLIT = 0.7  # of its time to the first delta


class ChainlitProcess(LoggedProcess):
    """`chainlit run` on a free port, with its files in `directory`."""

    name = "chainlit"

    def __init__(self, python: Path, directory: Path, provider_url: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        # Apart from this checkout, whose `bench` would be found before the packages.
        app = shutil.copy(Path(__file__).with_name("chainlit_app.py"), directory)
        command = [str(python), "-m", "chainlit", "run", str(app), "--headless"]
        super().__init__(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            directory,
            {
                "ANTHROPIC_API_KEY": "bench",
                "ANTHROPIC_BASE_URL": provider_url,
                "CHAINLIT_APP_ROOT": str(directory),
                "DATABASE_URL": "",  # ours: it would store its chats there
            },
        )


@contextmanager
def serve_chainlit(python: Path, provider_url: str) -> Iterator[streaming.Site]:
    """The server, once it answers."""
    with TemporaryDirectory(prefix="everlong-peers-") as name:
        process = ChainlitProcess(python, Path(name), provider_url)
        process.start()
        try:
            process.wait_for_log("Your app is available")
            yield streaming.Site(process.pid, lambda chats: [process.url] * len(chats))
        finally:
            process.stop()


@contextmanager
def run_bench(
    directory: Path, python: Path, deltas: int, interval_ms: float
) -> Iterator[streaming.Bench]:
    """Both servers and the SDK against one provider."""
    with ExitStack() as stack:
        url = stack.enter_context(streaming.serve_provider(deltas, interval_ms))
        started = streaming.run_bench(directory, url, ("web", "sdk"), deltas, interval_ms)
        bench = stack.enter_context(started)
        bench.sites["chainlit"] = stack.enter_context(serve_chainlit(python, url))
        talker = Child("bench.peers.chainlit_talker", url)
        bench.talkers["chainlit"] = stack.enter_context(talker)
        yield bench


def report_first_delta(
    report: Report, bench: streaming.Bench, chats: streaming.Chats, rounds: int
) -> None:
    """One user who asks again and again."""
    for kind in KINDS:
        bench.talk(kind, chats[:3], 0)  # imports at the first request
    found = bench.rounds(rounds, chats, 0)
    ttft = {kind: [ms for each in runs for ms in each["ttft_ms"]] for kind, runs in found.items()}
    middle = {kind: median(every) for kind, every in ttft.items()}
    for kind in KINDS:
        goal = middle["sdk"] + streaming.MOST_ADDED_MS if kind == "web" else None
        report.add(f"{kind}.ttft_ms.p50", middle[kind], "ms", goal)
        report.add(f"{kind}.ttft_ms.p95", percentile(ttft[kind], 0.95), "ms")
    ratio = middle["web"] / middle["chainlit"]
    report.add("web_to_chainlit.ttft", ratio, "ratio", MOST_OF_CHAINLIT)


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each size")
    parser.add_argument("--sizes", type=int, nargs="*", default=(50, 200), help="chats at once")
    parser.add_argument("--asks", type=int, default=30, help="for the first delta")
    parser.add_argument(
        "--python", type=Path, default=ROOT / ".venv-peers/bin/python", help="that has Chainlit"
    )
    options = parser.parse_args()
    if not os.access(options.python, os.X_OK):
        parser.error(f"{options.python} is not there. Install it: make bench-peers")

    report = Report("Beside other chats")
    short = streaming.SHORT_DELTAS, streaming.SHORT_INTERVAL_MS
    long = streaming.DELTAS, streaming.INTERVAL_MS
    with serving.load_django_site() as directory:
        serving.collect_static()
        chats = serving.make_chats(max([*options.sizes, options.asks]), begun=True)
        with run_bench(directory, options.python, *short) as bench:
            report_first_delta(report, bench, chats[: options.asks], options.rounds)
        with run_bench(directory, options.python, *long) as bench:
            for kind in KINDS:
                bench.talk(kind, chats[:1], streaming.SPREAD_S)  # warm
            for size in options.sizes:
                streaming.report_load(report, bench, chats, size, options.rounds)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
