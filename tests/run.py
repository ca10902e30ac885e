"""`make test`: every step, one line each; the full output only of what fails.

Three steps run at a time, the longest first: most of a test's time is waiting for another process.
A step that cannot run (no Chromium, no PostgreSQL) fails like any other: the rest still runs, and
the last lines name it.
"""

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 900  # seconds a step; the slowest takes a fraction of it
AT_ONCE = 3
PYTEST = ["-m", "pytest", "-q", "--tb=short"]
# Without Django.
PURE = ["tests/agent", "tests/demo"]
NOT_PURE = [f"--ignore={path}" for path in PURE]
# Where another database makes no difference either: rendering, pages, files, settings. What locks,
# races, searches, counts or waits for a worker runs on both.
RENDERING = ["markdown", "formulas", "render", "translation", "protocol", "plot"]
PAGES = ["views", "message_views", "summary_views", "admin", "attachments", "mcp", "socket_errors"]
ELSEWHERE = [
    "tests/accounts",
    "tests/bench",
    "tests/config",
    "tests/proxies",
    "tests/test_bundle.py",
    "tests/test_docs.py",
    "tests/test_wheel.py",
]
SAME = [
    *NOT_PURE,
    *(f"--ignore={path}" for path in ELSEWHERE),
    *(f"--ignore=tests/chat/test_{name}.py" for name in RENDERING + PAGES),
]
# About half of what takes a browser: most of the walks that share one server.
SHARING = ["page", "start_page", "while_answering", "composer", "messages", "engine_page"]
TALKS = [f"tests/e2e/test_{name}.py" for name in [*SHARING, "keyboard", "look", "tools", "weight"]]


@dataclass(frozen=True)
class Step:
    """`arguments` are Python's."""

    group: str
    name: str
    arguments: list[str]


STEPS = [
    Step("static", "format", ["-m", "ruff", "format", "--check", "--quiet", "."]),
    Step("static", "lint", ["-m", "ruff", "check", "--quiet", "--output-format=concise", "."]),
    Step("static", "types", ["-m", "mypy"]),
    Step("static", "migrations", ["manage.py", "makemigrations", "--check", "--dry-run"]),
    Step("services", "on PostgreSQL, Redis", [*PYTEST, "--services", "-m", "not e2e", *SAME]),
    Step("e2e", "in Chromium", [*PYTEST, "-m", "e2e", *(f"--ignore={path}" for path in TALKS)]),
    Step("e2e", "talks in Chromium", [*PYTEST, "-m", "e2e", *TALKS]),
    Step("unit", "on SQLite", [*PYTEST, "-m", "not e2e and not services", *NOT_PURE]),
    Step("unit", "without a database", [*PYTEST, *PURE]),
]


@dataclass(frozen=True)
class Result:
    step: Step
    passed: bool
    output: str
    seconds: float

    @property
    def summary(self) -> str:
        """pytest's counts, or why the step could not run."""
        missing = re.search(
            r"(?:ChromiumUnavailable|ServiceUnavailable|^ERROR): (.+)", self.output, re.M
        )
        if missing and not self.passed:
            return missing[1]
        counts = re.findall(
            r"^(?:=+ )?(\d+ (?:passed|failed|error|skipped|xfailed|deselected).*?) in ",
            self.output,
            re.M,
        )
        return counts[-1] if counts else ""


def run(step: Step) -> Result:
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *step.arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
        passed, output = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b""
        passed = False
        output = f"{said.decode(errors='replace')}\nstopped after {TIMEOUT} s"
    result = Result(step, passed, output, time.monotonic() - start)
    verdict = "ok  " if passed else "FAIL"
    shown = f"{verdict}  {step.name:<22}{result.seconds:6.1f} s   {result.summary}\n"
    if not passed:
        shown += f"{output.rstrip()}\n\n"
    print(shown, end="", flush=True)  # at once: another step may be printing too
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    groups = sorted({step.group for step in STEPS})
    parser.add_argument(
        "groups", nargs="*", metavar="group", help=f"only these: {', '.join(groups)}"
    )
    parser.add_argument("--data", type=Path, help="run tests/data on this directory, nothing else")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(groups):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    steps = [step for step in STEPS if step.group in options.groups or not options.groups]
    if options.data:
        data = str(options.data.resolve())
        steps = [Step("data", "recorded data", [*PYTEST, "tests/data", "--data", data])]
    start = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(run, steps))
    failed = [result for result in results if not result.passed]
    print(
        f"{len(results) - len(failed)} of {len(results)} steps passed, "
        f"{time.monotonic() - start:.0f} s in all."
    )
    for result in failed:
        print(f"FAILED: {result.step.name}: {result.summary or 'see above'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
