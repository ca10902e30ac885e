"""How long a send waits to begin while an import runs, and what the import takes:
`python -m bench.importing`.

An export of ChatGPT's form is written and imported, in a process of its own as on a site, while a
person sends one message after the other, each when the answer before it has ended. The same sends
before the import are what they are compared with. A wait lasts until the turn is stored.
"""

import argparse
import asyncio
import json
import os
import random
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from bench import serving
from bench.report import Report, percentile

SENDS = 100  # before the import
PAUSE_SECONDS = 0.05  # between an answer and the next message
EXCHANGES, WORDS = 100, 120  # of a conversation, of a message: 190 kB
MOST_LATER_MS = 100.0
MOST_MEMORY_MB = 200.0


def write_export(path: Path, megabytes: float) -> None:
    """A `conversations.json` of that size, each conversation of words in an order of its own."""
    words = [f"word{number}" for number in range(5_000)]
    with path.open("w") as file:
        file.write("[")
        number = 0
        while file.tell() < megabytes * 1e6:
            file.write("," * bool(number) + json.dumps(_make_conversation(number, words)))
            number += 1
        file.write("]")


def _make_conversation(number: int, words: list[str]) -> dict[str, Any]:
    choose = random.Random(number).choices
    mapping: dict[str, Any] = {}
    parent = None
    for place in range(2 * EXCHANGES):
        mapping[str(place)] = {
            "id": str(place),
            "parent": parent,
            "message": {
                "id": str(place),
                "author": {"role": ("user", "assistant")[place % 2]},
                "create_time": 1.6e9 + number * 86_400 + place,
                "content": {"content_type": "text", "parts": [" ".join(choose(words, k=WORDS))]},
            },
        }
        parent = str(place)
    return {"id": f"talk-{number}", "title": f"Talk {number}", "mapping": mapping}


def queue_import(owner: Any, path: Path) -> Any:
    """A job whose file is here, and that may be run."""
    from chat.services.library import import_jobs

    job = import_jobs.create(owner, [(path.name, path.stat().st_size)])
    file = job.files.get()
    with path.open("rb") as stream:
        at = 0
        while data := stream.read(import_jobs.PIECE_BYTES):
            at = import_jobs.append(job, file.pk, at, data)
    import_jobs.start(job)
    return job


async def send(talk: Any) -> float:
    """Send one message, and wait for the answer; the seconds until it was stored."""
    from chat.live.admission import Sender
    from chat.live.runner import runner
    from chat.services.turns import requests
    from chat.services.turns.turns import NewMessage

    came = time.perf_counter()
    await runner.begin(
        Sender(talk.owner_id),
        requests.send_message,
        talk.owner,
        talk.pk,
        NewMessage("Yes or no?"),
        expected_head=None,
        holder=runner.holder,
    )
    waited = time.perf_counter() - came
    while runner.turn_ids:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.01)
    await asyncio.sleep(PAUSE_SECONDS)
    return waited


async def measure(report: Report, talk: Any, job: Any) -> None:
    from chat.db.threads import in_db
    from chat.engine.model_server import close_clients
    from chat.jobs import import_process

    for _ in range(5):  # what the first turns of a process load
        await send(talk)
    before = [await send(talk) for _ in range(SENDS)]
    began = time.perf_counter()
    await in_db(import_process.run_waiting)
    beside: list[float] = []
    peak = 0.0
    while await in_db(_is_running, job):
        beside.append(await send(talk))
        peak = max(peak, read_peak_mb())
    seconds = time.perf_counter() - began
    await close_clients()
    await in_db(job.refresh_from_db)
    assert job.status == job.Status.COMPLETED, job.error
    alone, p95 = percentile(before, 0.95) * 1e3, percentile(beside, 0.95) * 1e3
    report.add("wait.p95.alone", alone, "ms")
    report.add("wait.p95.beside", p95, "ms")
    report.add("wait.p95.later", p95 - alone, "ms", MOST_LATER_MS)
    report.add("wait.p95.ratio", p95 / alone, "x")
    report.add("sends.beside", len(beside), "")
    report.add("import.seconds", seconds, "s")
    report.add("import.messages", job.report["totals"]["added"] / seconds, "1/s")
    report.add("import.peak", peak, "MB", MOST_MEMORY_MB)


def _is_running(job: Any) -> bool:
    job.refresh_from_db(fields=["status"])
    return job.is_active


def read_peak_mb() -> float:
    """The most memory that the import's process has had, as the kernel counts it."""
    for pid in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        for child in pid.read_text().split():
            with suppress(OSError):
                for line in Path(f"/proc/{child}/status").read_text().splitlines():
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) / 1024
    return 0.0


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.importing", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="a new PostgreSQL of its own")
    parser.add_argument("--megabytes", type=float, default=20.0, help="of the export")
    options = parser.parse_args()
    with ExitStack() as stack:
        url = serving.start_postgresql(stack) if options.postgresql else ""
        directory = stack.enter_context(serving.load_django_site(url))
        from django.conf import settings
        from django.db import connection

        from demo.api.protocol import ScriptedReply, text
        from demo.api.server import DemoServer
        from tests.chat.factories import make_conversation, make_profile, make_user

        model = stack.enter_context(DemoServer())
        model.script.reply(ScriptedReply((text("Yes."),)), always=True)
        settings.ANTHROPIC_BASE_URL = model.base_url
        make_profile()
        owner = make_user("importer")
        talk = make_conversation(make_user("writer"), title="Talk", title_edited=True)
        path = directory / "conversations.json"
        write_export(path, options.megabytes)
        job = queue_import(owner, path)
        report = Report(f"An import of {options.megabytes:g} MB beside a chat, {connection.vendor}")
        asyncio.run(measure(report, talk, job))
    report.print_table()
    return report


if __name__ == "__main__":
    main()
