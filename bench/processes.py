"""Processes that are measured: their CPU time and memory, read from /proc (Linux only)."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def list_tree(pid: int) -> list[int]:
    """A process and its descendants."""
    pids = [pid]
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # it has ended meanwhile
            for child in (thread / "children").read_text().split():
                pids += list_tree(int(child))
    return pids


def read_cpu_ms(pid: int) -> float:
    """User and system time of a process tree so far, in ms (kept in steps of 10)."""
    total = 0
    for each in list_tree(pid):
        # The name, which may hold spaces, ends at the last parenthesis.
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))  # utime, stime, and those of ended children
    return total * _TICK_MS


def read_pss_mb(pid: int, field: str = "Pss") -> float:
    """Proportional set size of a process tree: shared pages are split among their users, so it
    grows when another program ends. `Pss_Anon`: of it, what no file holds; that does not."""
    kb = 0
    for each in list_tree(pid):
        for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{field}:"):
                kb += int(line.split()[1])
    return kb / 1024


class Child:
    """A module in a process of its own, with pipes to it."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def read_line(self) -> str:
        """The next line that it prints. Raises RuntimeError if it has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        return line.rstrip("\n")

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Send one JSON line and wait for the answer's."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.read_line())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # it had ended by itself
                    pipe.close()
