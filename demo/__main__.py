"""`python -m demo`: the demo server as its own process, to play with and to measure against."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

from demo.api.script import Script
from demo.api.server import DemoServer
from demo.mind.playing import bench_script, demo_script


async def serve(server: DemoServer) -> None:
    """Serve until SIGINT or SIGTERM; the first line of output is the base URL."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    sys.stdout.write(await server.open() + "\n")
    sys.stdout.flush()
    try:
        await stopped.wait()
    finally:
        await server.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--tokens-per-s", type=float, default=100, help="of the demo; 0 = at once")
    parser.add_argument("--deltas", type=int, default=0, help="of each chat's answer")
    parser.add_argument("--interval-ms", type=float, default=20, help="between two such deltas")
    parser.add_argument("--delta-chars", type=int, default=16, help="characters of such a delta")
    parser.add_argument("--stamp", action="store_true", help="such deltas carry their write time")
    parser.add_argument("--markdown", action="store_true", help="such deltas are Markdown and code")
    parser.add_argument("--ollama", action="store_true", help="behave like Ollama")
    parser.add_argument("--scripted", action="store_true", help="script it over /control")
    options = parser.parse_args(arguments)
    if options.scripted:
        script = Script()
    elif options.deltas:
        script = bench_script(
            options.deltas,
            options.interval_ms / 1000,
            delta_chars=options.delta_chars,
            stamp=options.stamp,
            markdown=options.markdown,
        )
    else:
        script = demo_script(tokens_per_s=options.tokens_per_s)
    server = DemoServer(
        script,
        ollama=options.ollama,
        strict=options.scripted,
        host=options.host,
        port=options.port,
        control=options.scripted,
    )
    asyncio.run(serve(server))


if __name__ == "__main__":
    main()
