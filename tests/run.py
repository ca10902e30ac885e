"""`make test`: every step, one line each, with its seconds and its processor time; the full output
only of what fails.

More steps run at a time than there are cores, those that wait most first: much of a test's time is
waiting for another process. A step that cannot run (no Chromium, no PostgreSQL) fails like any
other: the rest still runs, and the last lines name it. What the steps need beside Python is found
or installed first, in order. One that takes too long, or Ctrl-C, ends in
order: pytest prints what it has found so far, and no process is left behind.
"""

import argparse
import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import psutil

from tests.support.launcher import LAUNCHER, LIBRARIES, LaunchedProcess, Program, listen
from tests.support.programs import BROWSER, CLIENTS, PROXIES, describe, prepare

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 1_800.0  # seconds a step; on a busy machine the slowest takes a third of it
LAST_WORDS = 30.0  # seconds in which a step that is interrupted tears down and reports
AT_ONCE = max(9, os.cpu_count() or 1)
PYTEST = ["-m", "pytest", "-q", "--tb=short"]
# Without Django; in a browser. The rest runs on SQLite, and what is marked so on PostgreSQL too.
PURE = ["tests/agent", "tests/demo"]
IN_CHROMIUM = "tests/e2e"
BEHIND_PROXIES = "tests/proxies"
BY_CLIENTS = "tests/clients"
NEITHER = [f"--ignore={path}" for path in [*PURE, IN_CHROMIUM, BEHIND_PROXIES, BY_CLIENTS]]
ON_BOTH = "on_both or services"

Process = subprocess.Popen[bytes] | LaunchedProcess


@dataclass(frozen=True)
class Step:
    """`program`: Python, or a tool that is installed beside it. `needs`: names of PROGRAMS, without
    which it cannot run. `launcher`: the socket of what forks itself to run it."""

    group: str
    name: str
    arguments: list[str]
    program: str = "python"
    needs: tuple[str, ...] = ()
    launcher: Path | None = None

    @property
    def command(self) -> list[str]:
        python = Path(sys.executable)
        program = python if self.program == "python" else python.parent / self.program
        return [str(program), *self.arguments]

    @property
    def is_pytest(self) -> bool:
        return self.arguments[: len(PYTEST)] == PYTEST

    def sharing(self, directory: Path) -> "Step":
        """The same step; if it is pytest's, with what the steps load and build only once."""
        if not self.is_pytest:
            return self
        launcher = directory / LAUNCHER
        return replace(
            self,
            arguments=[*self.arguments, f"--shared={directory}"],
            launcher=launcher if launcher.exists() else None,
        )

    def start(self, output: IO[str]) -> Process:
        """In a session of its own, so that Ctrl-C reaches it through here alone."""
        if self.launcher:
            program = Program(self.arguments, str(ROOT), environment())
            return LaunchedProcess(self.launcher, program, output.fileno())
        return subprocess.Popen(
            self.command,
            cwd=ROOT,
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def in_parts(parts: int, step: Step) -> list[Step]:
    """One step as several that may run beside each other."""
    names = {n: f"{step.name}, {n} of {parts}" for n in range(1, parts + 1)}
    return [
        replace(step, name=name, arguments=[*step.arguments, "--part", f"{n}/{parts}"])
        for n, name in names.items()
    ]


STEPS = [
    Step("static", "format", ["-m", "ruff", "format", "--check", "--quiet", "."]),
    Step("static", "lint", ["-m", "ruff", "check", "--quiet", "--output-format=concise", "."]),
    Step("static", "format of templates", ["--check", "--quiet", "templates"], "djangofmt"),
    Step("static", "lint of templates", ["check", "--quiet", "templates"], "djangofmt"),
    Step("static", "format of scripts", ["--check", "static"], "oxfmt"),
    Step("static", "lint of scripts", ["--quiet", "static"], "oxlint"),
    Step("static", "order of rooms", ["--no-logo"], "lint-imports"),
    Step("static", "types", ["-m", "mypy"]),
    Step("static", "migrations", ["manage.py", "makemigrations", "--check", "--dry-run"]),
    *in_parts(
        2, Step("services", "on PostgreSQL", [*PYTEST, "--services", "-m", ON_BOTH, *NEITHER])
    ),
    *in_parts(3, Step("e2e", "in Chromium", [*PYTEST, IN_CHROMIUM], needs=BROWSER)),
    Step("e2e", "behind proxies", [*PYTEST, BEHIND_PROXIES], needs=PROXIES),
    Step("e2e", "clients of the API", [*PYTEST, BY_CLIENTS], needs=CLIENTS),
    *in_parts(3, Step("unit", "on SQLite", [*PYTEST, "-m", "not services", *NEITHER])),
    Step("unit", "without a database", [*PYTEST, *PURE]),
]


@dataclass(frozen=True)
class Result:
    step: Step
    passed: bool
    output: str
    seconds: float
    cpu_seconds: float  # of the step and of all that it has started and waited for

    @property
    def summary(self) -> str:
        """pytest's counts, or why the step could not run."""
        missing = re.search(
            r"(?:ProgramUnavailable|ServiceUnavailable|^ERROR): (.+)", self.output, re.M
        )
        if missing and not self.passed:
            return missing[1]
        counts = re.findall(
            r"^(?:=+ )?(\d+ (?:passed|failed|error|skipped|xfailed|deselected).*?) in ",
            self.output,
            re.M,
        )
        return counts[-1] if counts else ""


stopping = threading.Event()  # Ctrl-C


def run(step: Step, seconds: float = TIMEOUT) -> Result:
    """Run a step to its end, and print its line."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = step.start(output)
        cause, cpu_seconds = _wait(process, start + seconds)
        if cause:
            end(process)
        output.seek(0)
        said = output.read() + (f"\n{cause}" if cause else "")
    passed = process.returncode == 0 and not cause
    result = Result(step, passed, said, time.monotonic() - start, cpu_seconds)
    verdict = "ok  " if passed else "FAIL"
    shown = f"{verdict}  {step.name:<24}{result.seconds:6.1f} s{cpu_seconds:6.1f} CPU s   "
    shown += f"{result.summary}\n"
    if not passed or step.group == "data":  # whose tables are what it is for
        shown += f"{said.rstrip()}\n\n"
    print(shown, end="", flush=True)  # at once: another step may be printing too
    return result


def environment() -> dict[str, str]:
    """This process's, but compiled modules are kept: the steps start a hundred processes, and each
    would compile them anew."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _wait(process: Process, deadline: float) -> tuple[str, float]:
    """Until a process ends: "" and its seconds of processor time, else why it has to be ended."""
    while not stopping.wait(0.2):
        if isinstance(process, LaunchedProcess):
            ended, cpu_seconds = process.poll() is not None, process.cpu_seconds
        else:
            ended_pid, status, used = os.wait4(process.pid, os.WNOHANG)
            ended, cpu_seconds = bool(ended_pid), used.ru_utime + used.ru_stime
            if ended:
                process.returncode = os.waitstatus_to_exitcode(status)
        if ended:
            return "", cpu_seconds
        if time.monotonic() > deadline:
            return "stopped: it ran into its limit of time", 0.0
    return "stopped: interrupted", 0.0


def end(process: Process) -> None:
    """Interrupt a process, as Ctrl-C does; then kill what is left of it and of all that it has
    started, servers in sessions of their own among them."""
    started = descendants(process.pid)
    for _ in range(2):  # an interrupt that comes while Python imports may get lost
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LAST_WORDS)
            break
    started |= descendants(process.pid)
    process.kill()
    process.wait()
    for each in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


def descendants(pid: int) -> set[psutil.Process]:
    """What a process has started, and what that has started."""
    try:
        return set(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return set()


@contextlib.contextmanager
def start_launcher(directory: Path, libraries: Sequence[str] = LIBRARIES) -> Iterator[None]:
    """A launcher for the steps that share the directory. Outside Linux they do without."""
    if sys.platform != "linux":
        yield
        return
    with listen(directory / LAUNCHER) as socket:
        number = socket.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.launcher", str(number), *libraries],
            cwd=ROOT,
            env=environment() | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            pass_fds=[number],
            start_new_session=True,  # Ctrl-C is for the steps
        )
    try:
        yield
    finally:
        process.communicate()  # ends its standard input, and so the launcher


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    groups = sorted({step.group for step in STEPS})
    parser.add_argument(
        "groups", nargs="*", metavar="group", help=f"only these: {', '.join(groups)}"
    )
    parser.add_argument("--data", type=Path, help="run tests/data on this directory, nothing else")
    parser.add_argument("--limit", type=float, default=TIMEOUT, help="seconds for a step")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(groups):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    steps = [step for step in STEPS if step.group in options.groups or not options.groups]
    if options.data:
        data = str(options.data.resolve())
        steps = [Step("data", "recorded data", [*PYTEST, "tests/data", "--data", data])]
    missing = prepare(BROWSER if options.data else [name for step in steps for name in step.needs])
    not_run = [step for step in steps if missing.keys() & set(step.needs)]
    steps = [step for step in steps if step not in not_run]
    start = time.monotonic()
    # Not ignored, as by a background job of a shell: the steps would take that over.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    with (
        tempfile.TemporaryDirectory(prefix="everlong-shared-") as shared,
        start_launcher(Path(shared))
        if any(step.is_pytest for step in steps)
        else contextlib.nullcontext(),
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        running = [pool.submit(run, each.sharing(Path(shared)), options.limit) for each in steps]
        try:
            results = [each.result() for each in running]
        except KeyboardInterrupt:
            stopping.set()
            pool.shutdown(cancel_futures=True)  # waits for those that run
            return 130
    failed = [result for result in results if not result.passed]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # the launcher's too
    print(
        f"{len(results) - len(failed)} of {len(results) + len(not_run)} steps passed, "
        f"{time.monotonic() - start:.0f} s in all, "
        f"{used.ru_utime + used.ru_stime:.0f} CPU s."
    )
    for result in failed:
        print(f"FAILED: {result.step.name}: {result.summary or 'see above'}")
    if not_run:
        print(f"NOT RUN: {'; '.join(step.name for step in not_run)}. {describe(missing)}")
    return 1 if failed or not_run else 0


if __name__ == "__main__":
    sys.exit(main())
