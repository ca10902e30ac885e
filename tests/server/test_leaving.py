"""A process that is asked to stop leaves, whatever its threads or its event loop wait for."""

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

from chat.live.leaving import END_SECONDS
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

STUCK = """
import django
django.setup()
from chat.live import leaving
leaving.END_SECONDS = 0.1
leaving.watch_signals(lambda: print("asked", flush=True))
print("stuck", flush=True)
while True:
    pass
"""


def post_setup(server: EverlongProcess) -> HTTPConnection:
    """Send the form that makes the administrator, and read no answer."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", server.setup_path)
    page = connection.getresponse()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
    assert token
    form = {"csrfmiddlewaretoken": token[1], "username": "ada", "password1": "correct horse"}
    cookies = "; ".join(each.split(";")[0] for each in page.headers.get_all("Set-Cookie", []))
    headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode(form | {"password2": "correct horse"})
    connection.request("POST", server.setup_path, body, headers)
    return connection


def test_a_request_that_waits_for_the_database_does_not_keep_the_process(
    start_everlong: Callable[..., EverlongProcess],
) -> None:
    server = start_everlong()
    path = Path(server.environment["DATA_DIR"]) / "everlong.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # until this connection is closed, nobody else writes
        with closing(post_setup(server)):
            assert server.healthy(), "asked after the form, so the form has its thread"
            assert server.stop(timeout=END_SECONDS) == 0
    assert "Stopped. Every answer is stored." in server.log


def test_a_process_leaves_although_its_event_loop_is_stuck() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGTERM)
        try:
            said, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, said) == (1, "asked\n")
    assert "Stopped by force" in error
