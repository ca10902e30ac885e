"""The demo beside the site, in the process of `manage.py serve`: settings.DEMO_SERVER names it."""

from __future__ import annotations

from demo.api.server import DemoServer
from demo.mind.playing import demo_script


def start(*, tokens_per_s: float) -> DemoServer:
    """Start it in a thread of its own, on a free port of the loopback interface."""
    # Not strict: a mistake in the request rules must not break somebody's first try.
    server = DemoServer(demo_script(tokens_per_s=tokens_per_s), strict=False)
    server.start()
    return server
