"""The product in processes of its own: `manage.py serve` and a Celery worker."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Self

import dj_database_url

from config.public_url import read_public_url, tell_apart
from tests.support.launcher import LaunchedProcess, Program
from tests.support.patience import PATIENCE
from tests.support.services import PostgresServer, free_port

ROOT = Path(__file__).resolve().parents[2]
# Both in one process: each would load the site anew.
BUILD = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("collectstatic", interactive=False, verbosity=0)
"""
COLLECTED = ROOT / "var" / "static"  # by `make setup`
# As in the Makefile; and a directory is newer once a file is gone.
COLLECTED_FROM = [
    *("static", "static/**/*", ".venv/.installed"),
    *("config/bundle.py", "config/storage.py", "config/typeface.py"),
]


# The socket of a launcher, where `make test` has started one: see `tests.support.launcher`.
launcher: Path | None = None


class ProcessFailed(Exception):
    """A process ended or stayed silent; the message carries the end of its log."""


def start_process(
    arguments: list[str], environment: dict[str, str], output: IO[bytes]
) -> "subprocess.Popen[bytes] | LaunchedProcess":
    """In the checkout, in a session of its own; Python's through the launcher, if there is one."""
    if launcher and arguments[0] == sys.executable:
        return LaunchedProcess(
            launcher, Program(arguments[1:], str(ROOT), environment), output.fileno()
        )
    return subprocess.Popen(
        arguments,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


class LoggedProcess:
    """A child process in the checkout with its output in a file.

    It leads a process group of its own, so that `kill()` takes its children with it.
    """

    name = "process"

    def __init__(self, arguments: list[str], directory: Path, environment: dict[str, str]) -> None:
        """`environment` is added to the tests' own."""
        self.arguments = arguments
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        self.log_path = directory / f"{self.name}-{free_port()}.log"
        self.process: subprocess.Popen[bytes] | LaunchedProcess | None = None
        self._before = 0  # characters of the log that earlier starts have written

    def start(self) -> Self:
        self._before = len(self.log)
        with self.log_path.open("ab") as output:
            self.process = start_process(self.arguments, self.environment, output)
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None, "not started"
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> str:
        """Everything printed so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def wait_for_log(self, pattern: str, timeout: float = PATIENCE) -> re.Match[str]:
        """The first match of a regular expression in the log since the last start. Raises
        ProcessFailed."""
        deadline = time.monotonic() + timeout
        while True:
            # Looked at before the log, so that the last words of a process are still read.
            over = not self.running or time.monotonic() > deadline
            if match := re.search(pattern, self.log[self._before :]):
                return match
            if over:
                raise ProcessFailed(f"{self.name}: no {pattern!r}.\n{self.log[-4000:]}")
            time.sleep(0.05)

    def stop(self, timeout: float = PATIENCE) -> int | None:
        """SIGTERM, and the exit code. Raises ProcessFailed, after killing it, if it does not end
        within `timeout` seconds (the server drains for 20)."""
        if self.process is None:
            return None
        if self.running:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ProcessFailed(f"{self.name} ignored SIGTERM.\n{self.log[-4000:]}") from None

    def kill(self) -> None:
        """SIGKILL to the process and its children: no clean-up of any kind runs."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):  # ended by itself
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class EverlongProcess(LoggedProcess):
    """`manage.py serve` on a free port, with data of its own in `directory`.

    `site` is a directory made by `build_site`, whose database and static files are copied. Keywords
    are environment variables, over the tests' own; a DATABASE_URL names a migrated database.
    """

    name = "serve"

    def __init__(self, directory: Path, site: Path, *arguments: str, **environment: str) -> None:
        self.port = int(environment.setdefault("PORT", str(free_port())))
        self.url = f"http://127.0.0.1:{self.port}"
        public = environment.get("PUBLIC_URL", "")
        if public.startswith(f"{self.url}/"):  # below a path, and no proxy in front
            self.url = public
        data = Path(environment.setdefault("DATA_DIR", str(directory / f"data-{self.port}")))
        if not data.exists():
            shutil.copytree(site, data)
        environment.setdefault("DATABASE_URL", sqlite_url(data))
        environment.setdefault("REDIS_URL", "")
        super().__init__([sys.executable, "manage.py", "serve", *arguments], directory, environment)

    def start(self, timeout: float = PATIENCE) -> Self:
        """Returns when `/healthz` answers. Raises ProcessFailed."""
        super().start()
        deadline = time.monotonic() + timeout
        while not self.healthy():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                raise ProcessFailed(f"serve did not become healthy.\n{self.log[-4000:]}")
            time.sleep(0.05)
        return self

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=PATIENCE) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def cookie(self, kind: str) -> str:
        """The name of its cookie for `session` or `csrf`."""
        environment = self.environment
        database = dj_database_url.parse(environment["DATABASE_URL"])
        port = None if environment["REDIS_URL"] else self.port
        public = read_public_url(environment.get("PUBLIC_URL", ""))
        return f"everlong_{kind}_{tell_apart(public, dict(database), port)}"

    @property
    def setup_path(self) -> str:
        """`/setup/<token>/`, as printed at the start of a server without an account."""
        return self.wait_for_log(r"/setup/[\w-]+/").group()


class CeleryProcess(LoggedProcess):
    """`celery -A config worker`. Keywords are environment variables; give it the DATABASE_URL,
    REDIS_URL and DATA_DIR of its server (`server.environment`)."""

    name = "worker"

    def __init__(self, directory: Path, **environment: str) -> None:
        command = [sys.executable, "-m", "celery", "-A", "config", "worker"]
        options = ["--pool", "threads", "-c", "4", "--loglevel", "INFO"]
        super().__init__(command + options, directory, environment)

    def start(self, timeout: float = PATIENCE) -> Self:
        """Returns when the worker takes tasks. Raises ProcessFailed."""
        super().start()
        self.wait_for_log(r" ready\.", timeout)
        return self


def sqlite_url(data: Path) -> str:
    return f"sqlite:///{data / 'everlong.sqlite3'}"


def build_site(directory: Path) -> Path:
    """A data directory to copy: a migrated SQLite database and the collected static files."""
    environment = {
        **os.environ,
        "DATA_DIR": str(directory),
        "DATABASE_URL": sqlite_url(directory),
        "REDIS_URL": "",
    }
    if is_collected():
        manage(environment, "migrate")
        shutil.copytree(COLLECTED, directory / "static")
    else:
        manage(environment, "shell", "-c", BUILD)
    return directory


def is_collected() -> bool:
    """Whether the static files of `make setup` are those of now: to collect them takes seconds."""
    manifest = COLLECTED / "staticfiles.json"
    sources = [path for pattern in COLLECTED_FROM for path in ROOT.glob(pattern)]
    return manifest.exists() and manifest.stat().st_mtime >= max(
        source.stat().st_mtime for source in sources
    )


def migrate_fresh(postgres: PostgresServer) -> str:
    """The name of a new database on that server, as `manage.py migrate` leaves it: to copy."""
    url = postgres.fresh_database()
    manage({**os.environ, "DATABASE_URL": url}, "migrate")
    return url.rpartition("/")[2]


def manage(environment: dict[str, str], *arguments: str) -> str:
    """Run a management command; what it prints. Raises ProcessFailed with that."""
    command = [sys.executable, "manage.py", *arguments, "--verbosity", "0"]
    with tempfile.TemporaryFile() as output:
        status = start_process(command, environment, output).wait()
        output.seek(0)
        said = output.read().decode(errors="replace")
    if status:
        raise ProcessFailed(f"manage.py {' '.join(arguments)}:\n{said}")
    return said
