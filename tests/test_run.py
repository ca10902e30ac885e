"""`make test`, `make test-data`: a step that is stopped tells what it found and leaves nothing."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests import run as runner
from tests.conftest import parted
from tests.run import ROOT, Result, Step, descendants, run, start_launcher
from tests.support import programs
from tests.support.launcher import LAUNCHER, LaunchedProcess, Program
from tests.support.patience import PATIENCE

# A test that has begun a server in a session of its own and then hangs.
HANGING = """
import pathlib, subprocess, sys, time
import pytest

@pytest.fixture
def server():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                               start_new_session=True)
    yield process
    {teardown}

def test_before():
    pass

def test_that_hangs(server):
    pathlib.Path({pid!r}).write_text(str(server.pid))
    time.sleep(600)
"""

PROGRAM = """
import os, sys, time
print(os.environ["GREETING"], sys.argv[1], sep=", ", flush=True)
time.sleep(600 if sys.argv[1] == "wait" else 0)
sys.exit(7)
"""


def gone(pid: int) -> bool:
    """Within the time that a busy machine may take."""
    try:
        psutil.Process(pid).wait(PATIENCE)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def step(directory: Path, teardown: str) -> tuple[Step, Path]:
    pid = directory / "pid"
    test = directory / "test_hanging.py"
    test.write_text(HANGING.format(pid=str(pid), teardown=teardown))
    arguments = [
        "-m",
        "pytest",
        "-q",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:django",
        "-c",
        os.devnull,
        str(test),
    ]
    return Step("data", "hanging", arguments), pid


def run_until(pid: Path, step: Step) -> Result:
    """Long enough for the server to be there, however busy the machine is."""
    seconds = 4.0
    while not (result := run(step, seconds), pid.exists())[1]:
        seconds *= 2
        assert seconds < 120
    return result


@pytest.mark.parametrize(
    ("teardown", "forked"), [("process.kill()", False), ("time.sleep(600)", True)]
)
def test_a_step_that_runs_into_its_limit_tells_what_it_found_and_leaves_no_server(
    tmp_path: Path, teardown: str, forked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in teardown:
        monkeypatch.setattr("tests.run.LAST_WORDS", 2.0)
    hanging, pid = step(tmp_path, teardown)
    with start_launcher(tmp_path, libraries=[]):
        launcher = tmp_path / LAUNCHER
        if forked and launcher.exists():
            hanging = replace(hanging, launcher=launcher)
        result = run_until(pid, hanging)
    assert not result.passed
    assert "limit of time" in result.output
    assert gone(int(pid.read_text()))
    if "kill" in teardown:
        assert "1 passed" in result.output


def test_descendants_are_found_across_sessions() -> None:
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', "
        "'input()'], stdin=subprocess.PIPE, start_new_session=True); print(p.pid, flush=True); "
        "input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        grandchild = int(process.stdout.readline())
        assert grandchild in {each.pid for each in descendants(process.pid)}
        process.communicate("\n")
    assert gone(grandchild)


def test_a_launched_program_has_its_own_surroundings_and_ends_with_who_started_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    waiting, ending = (
        Program(["program.py", words], str(tmp_path), {"GREETING": "Hello"})
        for words in ("wait", "end")
    )
    with start_launcher(tmp_path, libraries=[]), (tmp_path / "log").open("wb") as log:
        ended = LaunchedProcess(tmp_path / LAUNCHER, ending, log.fileno())
        assert ended.wait(PATIENCE) == 7
        assert ended.cpu_seconds > 0
        assert (tmp_path / "log").read_text() == "Hello, end\n"
        stopped = LaunchedProcess(tmp_path / LAUNCHER, waiting, log.fileno())
        assert stopped.poll() is None
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(PATIENCE) == -signal.SIGTERM
        left = LaunchedProcess(tmp_path / LAUNCHER, waiting, log.fileno())
        lost = LaunchedProcess(tmp_path / LAUNCHER, waiting, log.fileno())
        lost.disconnect()
        assert gone(lost.pid)
        assert left.poll() is None
    assert left.wait(PATIENCE) == -signal.SIGKILL


def test_a_launcher_ends_with_who_started_it_however_that_ends(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.run import start_launcher\n"
        "with start_launcher(Path(sys.argv[1]), []): print('started', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        (launcher,) = descendants(process.pid)
        process.kill()
    assert gone(launcher.pid)


def test_every_file_is_in_one_part_and_the_parts_are_about_as_long(tmp_path: Path) -> None:
    files = [tmp_path / f"test_{number}.py" for number in range(1, 10)]
    for number, file in enumerate(files, start=1):
        file.write_text("x" * number)
    parts = parted(files, 3)
    assert sorted(file for part in parts for file in part) == files
    assert [sum(file.stat().st_size for file in part) for part in parts] == [16, 15, 14]
    assert parted(reversed(files), 3) == parts, "the same for every run that does one of them"


def test_a_step_whose_program_is_missing_is_named_and_the_rest_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        Step("unit", "with a tool", ["-c", ""], needs=("tool",)),
        Step("unit", "with both", ["-c", ""], needs=("tool", "other")),
        Step("unit", "without", ["-c", "print('3 passed in 1s')"]),
    ]
    for name in ("tool", "other"):
        monkeypatch.setitem(programs.PROGRAMS, name, program(name))
    monkeypatch.setattr(runner, "STEPS", steps)
    monkeypatch.setattr("sys.argv", ["tests.run", "unit"])
    monkeypatch.setenv(programs.TRIED, "yes")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert runner.main() == 1
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("ok    without") and "3 passed" in line for line in lines)
    assert "1 of 3 steps passed" in lines[-2]
    assert lines[-1] == (
        "NOT RUN: with a tool; with both. Missing: TOOL (it is not installed); OTHER (it is not "
        "installed). On Debian, as root: apt install a-tool a-other."
    )


def program(name: str) -> programs.Program:
    return programs.Program(
        name.upper(), lambda: programs.find_in_system(name), packages=(f"a-{name}",)
    )


# What apt-get is asked for, and whether another one runs meanwhile.
APT_GET = """#!/bin/sh
mkdir {directory}/running || echo "two at a time" >> {directory}/log
echo "$@" >> {directory}/log
sleep 0.2
test "$1" = update || {{ echo "#!/bin/sh" > {directory}/tool; chmod +x {directory}/tool; }}
rmdir {directory}/running
"""


@pytest.fixture
def apt_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its log; it installs the program `tool`."""
    script = tmp_path / "apt-get"
    script.write_text(APT_GET.format(directory=tmp_path))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv(programs.TRIED, raising=False)
    monkeypatch.setitem(programs.PROGRAMS, "tool", program("tool"))
    return tmp_path / "log"


def test_what_several_need_at_once_is_installed_once(apt_get: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(programs.require, 3 * ["tool"]))
    assert found == 3 * [apt_get.with_name("tool")]
    options = "-y -q --no-install-recommends"
    assert apt_get.read_text().splitlines() == ["update -q", f"install {options} a-tool"]


def test_the_second_start_installs_nothing(apt_get: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert programs.prepare(["tool"]) == {}
    apt_get.unlink()
    monkeypatch.delenv(programs.TRIED)
    assert programs.prepare(["tool"]) == {}
    assert not apt_get.exists()


def test_without_the_right_to_install_one_message_says_what_to_get(
    apt_get: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert programs.prepare(["tool"]) == {"tool": "it is not installed"}
    with pytest.raises(programs.ProgramUnavailable, match=r"TOOL .* apt install a-tool\."):
        programs.require("tool")
    assert not apt_get.exists()
