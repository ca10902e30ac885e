"""Starts programs as forks of one process that has loaded the libraries: for each of the forty
servers that the tests start, and each run of pytest, that is two seconds of processor time less.

`python -m tests.support.launcher NUMBER LIBRARY ...` serves an open socket until its standard input
ends, as it does with whoever started it. A connection is a process: `LaunchedProcess` says what to
run, and is told the process's id, then how it ended and the seconds of processor time it took. If
the connection breaks off first, or the launcher ends, the process is killed with all that it has
started.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

# What `manage.py serve`, a Celery worker and pytest load and that reads no settings. Not Twisted's
# reactor: it holds open files, which each process must have for itself.
LIBRARIES = [
    "agent.compaction",
    "agent.loop",
    "agent.model.client",
    "aiohttp",
    "allauth",
    "anthropic",
    "autobahn.twisted.websocket",
    "celery.app.amqp",
    "channels.layers",
    "cryptography.fernet",
    "cryptography.x509",
    "django.contrib.admin",
    "django.core.management",
    "django.test",
    "environs",
    "hypothesis.strategies",
    "markdown_it",
    "mcp",
    "PIL.Image",
    "playwright.sync_api",
    "psycopg_pool",
    "pygments.formatters.html",
    "pytest",
    "redis.asyncio",
    "structlog",
    "tiktoken",
    "twisted.internet.base",
]
LAUNCHER = "launcher"  # the socket's name in the directory that runs share
MOST = 1_000_000  # bytes of what is said at a time


class Program(NamedTuple):
    """`arguments` as for Python: a file, or `-m` and a module, and what follows."""

    arguments: list[str]
    directory: str
    environment: dict[str, str]


class Client:
    """The other end of a connection, and the process that was started for it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.pid = 0
        self.handle = -1  # becomes readable when the process has ended

    def tell(self, *numbers: float) -> None:
        with contextlib.suppress(OSError):  # gone, as will be noticed in a moment
            self.connection.sendall(json.dumps(numbers).encode())


class Launcher:
    def __init__(self, listening: socket.socket) -> None:
        self.socket = listening
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.socket, selectors.EVENT_READ)
        # Not a signal: Python misses one that comes right before it waits.
        self.ready.register(sys.stdin, selectors.EVENT_READ)
        self.clients: list[Client] = []

    def wait_for_program(self) -> Program:
        """Returns in each fork, with what it is to run."""
        while True:
            for key, _ in self.ready.select():
                if key.fileobj is sys.stdin:
                    self._stop()
                elif key.fileobj is self.socket:
                    self._add(Client(self.socket.accept()[0]))
                elif isinstance(key.fileobj, int):
                    self._tell_end(key.data)
                elif key.data.pid:
                    self._end(key.data)
                elif program := self._begin(key.data):
                    return program

    def _add(self, client: Client) -> None:
        self.clients.append(client)
        self.ready.register(client.connection, selectors.EVENT_READ, client)

    def _begin(self, client: Client) -> Program | None:
        """The program in the fork that runs it, None here."""
        said, files, _, _ = socket.recv_fds(client.connection, MOST, 1)
        if not said:
            self._end(client)
            return None
        client.pid = os.fork()
        if not client.pid:
            self._become(files[0])
            return Program(**json.loads(said))
        os.close(files[0])
        client.handle = os.pidfd_open(client.pid)
        self.ready.register(client.handle, selectors.EVENT_READ, client)
        client.tell(client.pid)
        return None

    def _become(self, log: int) -> None:
        """In the fork: a session of its own, with nothing of the launcher's."""
        os.setsid()
        self.ready.close()
        self.socket.close()
        for each in self.clients:
            each.connection.close()
            if each.handle >= 0:
                os.close(each.handle)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.close(nothing)
        os.close(log)

    def _tell_end(self, client: Client) -> None:
        _, status, used = os.wait4(client.pid, 0)
        self.ready.unregister(client.handle)
        os.close(client.handle)
        client.handle = -1
        client.tell(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)

    def _end(self, client: Client) -> None:
        """Whoever asked for the process is gone."""
        if client.handle >= 0:
            os.kill(client.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):  # it has not begun its session yet
                os.killpg(client.pid, signal.SIGKILL)
            self._tell_end(client)
        self.ready.unregister(client.connection)
        client.connection.close()
        self.clients.remove(client)

    def _stop(self) -> NoReturn:
        for each in list(self.clients):
            self._end(each)
        sys.exit()


def listen(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(str(path))
    listening.listen(100)
    return listening


class LaunchedProcess:
    """As much of `subprocess.Popen` as the tests use."""

    def __init__(self, path: Path, program: Program, output: int) -> None:
        self.returncode: int | None = None
        self.cpu_seconds = 0.0  # when it has ended: its own, and of what it has waited for
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(str(path))
        said = json.dumps(program._asdict()).encode()
        socket.send_fds(self._connection, [said], [output])
        (self.pid,) = json.loads(self._connection.recv(MOST))

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutExpired."""
        if self.returncode is None:
            ready = selectors.DefaultSelector()
            ready.register(self._connection, selectors.EVENT_READ)
            if not ready.select(timeout):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            ready.close()
            self.returncode, self.cpu_seconds = json.loads(self._connection.recv(MOST))
            self.disconnect()
        return self.returncode

    def disconnect(self) -> None:
        self._connection.close()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(program: Program) -> None:
    os.chdir(program.directory)
    os.environ.clear()
    os.environ.update(program.environment)
    first, *rest = program.arguments
    if first == "-m":
        module, *rest = rest
        sys.argv = [module, *rest]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


def main() -> None:
    number, *libraries = sys.argv[1:]
    for library in libraries:  # who asks meanwhile waits
        importlib.import_module(library)
    gc.collect()
    gc.freeze()
    launcher = Launcher(socket.socket(fileno=int(number)))
    run(launcher.wait_for_program())


if __name__ == "__main__":
    main()
