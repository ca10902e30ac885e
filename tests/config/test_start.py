"""What a start waits for."""

import subprocess
import sys

IMPORTED = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
import chat.management.commands.serve, config.asgi, config.urls
from chat.live.embedded_worker import EmbeddedWorker
EmbeddedWorker()
from agent import patterns
from chat.queries import model_server
for _ in range(2):
    print("anthropic" in sys.modules, *{"compiled" in vars(each) for each in patterns._all})
    model_server.load_ahead()
"""


def test_the_sdk_and_the_expressions_of_compactions_are_loaded_after_the_port_is_open() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", "True", "True"]
