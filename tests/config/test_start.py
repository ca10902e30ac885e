"""What a start waits for, and what it does not need from the system."""

import os
import subprocess
import sys

STARTED = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
import chat.management.commands.serve, config.asgi, config.urls
from chat.live.embedded_worker import EmbeddedWorker
EmbeddedWorker()
"""
LOADED = """
print("anthropic" in sys.modules)
from chat.engine import model_server
model_server.load_ahead()
print("anthropic" in sys.modules)
"""
ZONED = """
import zoneinfo
assert zoneinfo.TZPATH == ()
from django.utils import timezone
timezone.activate("Asia/Tokyo")
print(timezone.localtime().tzname())
"""


def run(program: str, **variables: str) -> list[str]:
    """The words that a new Python prints."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_sdk_is_loaded_after_the_port_is_open() -> None:
    assert run(STARTED + LOADED) == ["False", "True"]


def test_a_system_without_time_zones_is_enough() -> None:
    """As a bare Debian is. With an empty PYTHONTZPATH only the package tzdata is asked."""
    assert run(STARTED + ZONED, PYTHONTZPATH="") == ["JST"]
