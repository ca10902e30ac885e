"""The log as it is written: by the settings' own configuration, in a process of its own."""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess, start_process

FAILING = """
import logging, structlog
for name in ("django.request", "celery.worker", "asyncio", "daphne.server", "agent.loop"):
    try:
        raise ValueError("the reason")
    except ValueError:
        logging.getLogger(name).exception("it failed in %s", name)
try:
    raise ValueError("the reason")
except ValueError:
    structlog.get_logger("chat.live.runner").exception("it failed in chat.live.runner", turn=7)
"""
LOGGERS = [
    "django.request",
    "celery.worker",
    "asyncio",
    "daphne.server",
    "agent.loop",
    "chat.live.runner",
]


def logged(code: str, directory: Path, *, as_json: bool) -> str:
    """What a process prints that runs `code` with our settings."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    log = directory / "log"
    with log.open("wb") as output:
        environment = {**os.environ, "LOG_JSON": str(as_json)}
        assert start_process(command, environment, output).wait() == 0
    return log.read_text()


def test_a_json_line_holds_the_traceback_whoever_logged_it(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in logged(FAILING, tmp_path, as_json=True).splitlines()]
    assert [line["logger"] for line in lines] == LOGGERS
    for line in lines:
        assert line["event"] == f"it failed in {line['logger']}"
        assert line["level"] == "error"
        assert line["exception"].startswith("Traceback (most recent call last):\n")
        assert line["exception"].endswith("ValueError: the reason")
        assert "exc_info" not in line
    assert lines[-1]["turn"] == 7


def test_a_console_shows_the_traceback_whoever_logged_it(tmp_path: Path) -> None:
    said = logged(FAILING, tmp_path, as_json=False)
    assert said.count("Traceback (most recent call last):") == len(LOGGERS)
    assert said.count("ValueError: the reason") == len(LOGGERS)
    for name in LOGGERS:
        assert f"it failed in {name}" in said


@pytest.mark.parametrize("as_json", ["true", "false"])
def test_a_request_that_is_refused_is_one_line(
    start_everlong: Callable[..., EverlongProcess], as_json: str
) -> None:
    server = start_everlong(LOG_JSON=as_json)

    def status(path: str, **request: Any) -> int:
        try:
            asked = urllib.request.Request(server.url + path, **request)
            with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    server.wait_for_log("model list not available")  # the last word of its start
    before = len(server.log.splitlines())
    assert status("/metrics") == 403
    assert status("/account/login/", data=b"no=token") == 403
    assert status("/", headers={"Host": "elsewhere.example"}) == 400
    assert status("/nothing/") == 404
    server.wait_for_log("Not Found: /nothing/")
    said = server.log.splitlines()[before:]
    assert len(said) == 4, said
    for line, words in zip(
        said,
        ["Permission denied", "CSRF cookie not set", "elsewhere.example", "Not Found"],
        strict=True,
    ):
        assert words in line
