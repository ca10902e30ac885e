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
print("anthropic" in sys.modules)
from chat.queries import model_server
model_server.load_ahead()
print("anthropic" in sys.modules)
"""


def test_the_sdk_is_loaded_after_the_port_is_open() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
