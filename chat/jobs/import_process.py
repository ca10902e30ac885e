"""The process of an import. As a program (`python -m chat.jobs.import_process ID`) it is that
process; as a module it starts one and sees to its end.

An import takes minutes of processor time and much memory. In a process of its own neither the
interpreter that answers nor the memory of a worker has to bear it.
"""

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from uuid import UUID

import structlog

log = structlog.get_logger(__name__)

ROOT = Path(__file__).parents[2]  # where the packages are
# Behind whoever writes, but not far: while it stores something, others wait for it.
NICENESS = 5
# An ordinary import takes less than 200 MB. More than this is a file that is made to do harm, or a
# bug: the process ends, and the site goes on.
MOST_MEMORY = 1_500_000_000  # bytes


def run_waiting() -> None:
    """Start a process for each import that waits and may run now. The calling worker goes on: a
    thread waits for the process."""
    from chat.services.library import import_jobs

    while job_id := import_jobs.claim_next():
        name = f"import {job_id}"
        threading.Thread(target=_attend, args=(job_id,), name=name, daemon=True).start()


def _attend(job_id: UUID) -> None:
    """Run a claimed import in a process, and what waits when it has ended."""
    from django.db import connection

    from chat.services.library import import_jobs

    try:
        _run_process(job_id)
        # It has ended its job itself, unless it died.
        if import_jobs.fail(job_id):
            log.error("import died", job=str(job_id))
        import_jobs.tell_owner(job_id)
        run_waiting()
    except Exception:
        # The sweep ends the import, as it has no sign of life.
        log.exception("import left alone", job=str(job_id))
    finally:
        connection.close()


def _run_process(job_id: UUID) -> None:
    """When this process ends, so does the standard input of the other one, which then ends too."""
    command = [sys.executable, "-m", __name__, str(job_id)]
    # One malloc arena, as one thread does all: glibc keeps what is freed in each for itself.
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        process.wait()


# --- The process itself ---------------------------------------------------------------------------


def main(job_id: UUID) -> None:
    os.umask(0o077)
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    threading.Thread(target=_end_with_parent, daemon=True).start()

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

    from chat.jobs.imports import Import
    from chat.models import ImportJob
    from chat.services.library import import_jobs

    job = ImportJob.objects.select_related("owner").get(pk=job_id)
    try:
        Import(job).run(import_jobs.list_paths(job))
    except import_jobs.JobOver:
        log.info("import was ended by another process", job=str(job_id))


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main(UUID(sys.argv[1]))
