"""`make faults`: break real sites in every way, and see that docs/operations.md tells the truth.

One line a scenario, with what was seen; at the end what failed, in full. A file of this directory
is a step, three run at a time: most of a scenario is waiting. Names choose the scenarios that have
one of them in their own name, or in their file's: `make faults ONLY="redis disk_full"`.
"""

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parent
ROOT = DIRECTORY.parents[1]
AT_ONCE = 3
TIMEOUT = 900  # seconds a file; the longest takes a third of it
LONGEST_FIRST = ["test_compaction_killed.py", "test_stopping.py", "test_web_killed.py"]
OPTIONS = ["-q", "--tb=short", "--faults", "-o", "console_output_style=classic"]
NONE_CHOSEN = 5  # pytest's exit code


class Step:
    """One file. `passed` and `failed` count its scenarios, `rest` is what else was printed."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self._chosen = ["-k", " or ".join(names)] if names else []
        self._path = path
        self.passed = self.failed = 0
        self.rest: list[str] = []

    def run(self) -> None:
        command = [sys.executable, "-m", "pytest", *OPTIONS, str(self._path), *self._chosen]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        # As Ctrl-C: the fixtures still end their processes.
        clock = threading.Timer(TIMEOUT, process.send_signal, [signal.SIGINT])
        clock.start()
        assert process.stdout is not None
        for line in process.stdout:
            self._take(line)
        code = process.wait()
        clock.cancel()
        if code not in (0, NONE_CHOSEN) and not self.failed:
            self.failed = 1  # it did not come as far as its scenarios
            print(f"FAIL  {self._path.stem}: see below", flush=True)

    def _take(self, line: str) -> None:
        if not line.startswith(("ok    ", "FAIL  ")):
            self.rest.append(line)
            return
        self.passed += line.startswith("ok")
        self.failed += line.startswith("FAIL")
        print(line, end="", flush=True)  # at once: another step may be printing too


def main(names: list[str]) -> int:
    start = time.monotonic()
    files = {path.name: path for path in sorted(DIRECTORY.glob("test_*.py"))}
    paths = [files.pop(name) for name in LONGEST_FIRST] + list(files.values())
    steps = [Step(path, names) for path in paths]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(Step.run, steps))
    for step in steps:
        if step.failed:
            print("".join(step.rest).rstrip(), end="\n\n")
    passed, failed = (sum(getattr(step, name) for step in steps) for name in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed, {time.monotonic() - start:.0f} s in all.")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
