"""The programs that tests need beside Python's packages: found, or installed once and in order.

`make test` calls `prepare` before anything runs in parallel. A test that is run by itself finds or
installs what it needs with `require`. A lock keeps two package managers from running at a time.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS = 600
TRIED = "TEST_PROGRAMS_TRIED"  # set for the steps: what is missing, is not to be had

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Fewer processes and threads: a sixth less of processor time.
    "--renderer-process-limit=1",
    "--js-flags=--single-threaded",
]


class ProgramUnavailable(Exception):
    """A program is missing and could not be installed: why, and how to get it."""


@dataclass(frozen=True)
class Program:
    """`find` returns a path that starts, or raises ProgramUnavailable with what is wrong;
    `packages` are Debian's; `download` is a command that needs no rights, where there is one."""

    name: str
    find: Callable[[], Path]
    packages: tuple[str, ...]
    download: tuple[str, ...] = ()


def find_chromium() -> Path:
    """CHROMIUM_PATH, PATH, Playwright's cache: the first that there is."""
    if given := os.environ.get("CHROMIUM_PATH"):
        return starting(Path(given))
    # The lightest first: the whole browser takes a fifth more of processor time.
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return starting(Path(path))
    cache = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    # The newest first; the folder inside was renamed once ("chrome-linux", "chrome-linux64").
    for found in sorted(Path(cache).glob("chromium-*/chrome-linux*/chrome"), reverse=True):
        return starting(found)
    raise ProgramUnavailable("it is not installed")


def find_driver() -> Path:
    """Playwright's own program. It comes with the package, but not the library that it needs."""
    import playwright

    return starting(Path(playwright.__file__).parent / "driver" / "node")


def find_in_system(name: str) -> Path:
    # Not everybody's PATH holds where servers are installed.
    if path := shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"):
        return Path(path)
    raise ProgramUnavailable("it is not installed")


def starting(path: Path) -> Path:
    """The path, if the program there starts. Raises ProgramUnavailable with what it said."""
    if reason := run([str(path), "--version"]):
        raise ProgramUnavailable(f"{path} does not start: {reason}")
    return path


PROGRAMS = {
    "chromium": Program(
        "Chromium",
        find_chromium,
        ("chromium-headless-shell",),
        (sys.executable, "-m", "playwright", "install", "chromium"),
    ),
    "driver": Program("Playwright's driver", find_driver, ("libatomic1",)),
    "nginx": Program("nginx", lambda: find_in_system("nginx"), ("nginx",)),
    "caddy": Program("Caddy", lambda: find_in_system("caddy"), ("caddy",)),
    "curl": Program("curl", lambda: find_in_system("curl"), ("curl",)),
}
BROWSER = ("driver", "chromium")  # in this order: the driver downloads Chromium
PROXIES = ("nginx", "caddy")
CLIENTS = ("curl",)


def require(*names: str) -> Path:
    """The last of these programs. What is missing of them is installed. Raises
    ProgramUnavailable."""
    if missing := prepare(names):
        raise ProgramUnavailable(describe(missing))
    return PROGRAMS[names[-1]].find()


def prepare(names: Iterable[str]) -> dict[str, str]:
    """Install what is missing of these, once for this process and those that it starts. Returns
    why each that is still missing could not be had."""
    wanted = {name: PROGRAMS[name] for name in names}
    reasons: dict[str, str] = {}
    if any(map(find_fault, wanted.values())) and TRIED not in os.environ:
        with only_one():
            reasons = install({name: each for name, each in wanted.items() if find_fault(each)})
        os.environ[TRIED] = "yes"
    faults = {name: find_fault(program) for name, program in wanted.items()}
    return {name: reasons.get(name) or fault for name, fault in faults.items() if fault}


def describe(missing: Mapping[str, str]) -> str:
    """What is missing and why, and how to get all of it."""
    faults = [f"{PROGRAMS[name].name} ({reason})" for name, reason in missing.items()]
    packages = [package for name in missing for package in PROGRAMS[name].packages]
    advice = f"Missing: {'; '.join(faults)}. On Debian, as root: apt install {' '.join(packages)}."
    return f"{advice} CHROMIUM_PATH may name a Chromium." if "chromium" in missing else advice


def find_fault(program: Program) -> str:
    """What is wrong with a program, or ""."""
    try:
        program.find()
    except ProgramUnavailable as error:
        return str(error)
    return ""


def install(missing: Mapping[str, Program]) -> dict[str, str]:
    """With the system's packages where we may, else with a download. Returns what failed."""
    failed = ""
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = [package for program in missing.values() for package in program.packages]
        print(f"Installing what the tests need: apt-get install {' '.join(packages)}", flush=True)
        options = ["-y", "-q", "--no-install-recommends"]
        # A stale list of packages names files that are gone.
        failed = run(["apt-get", "update", "-q"])
        failed = run(["apt-get", "install", *options, *packages]) or failed
    reasons = dict.fromkeys(missing, failed)
    for name, program in missing.items():
        if program.download and find_fault(program):
            print(f"Downloading {program.name} ...", flush=True)
            reasons[name] = run(program.download) or reasons[name]
    return reasons


@contextmanager
def only_one() -> Iterator[None]:
    """Wait until no other process of this environment installs."""
    with Path(sys.prefix, ".programs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: Iterable[str]) -> str:
    """Run a program to its end. Returns why it failed, or ""."""
    command = list(command)
    what = " ".join([Path(command[0]).name, *command[1:2]])
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{what}: {error}"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or line.startswith("E:")] or lines
    return f"{what}: {telling[0][:200] if telling else f'exit code {done.returncode}'}"
