"""Imports as jobs: their files come in pieces, a process of its own works on them, and every end is
found once. Whoever works on a job must say so every few seconds, or a sweep ends it."""

import errno
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext

from accounts.models import User
from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.models import ImportFile, ImportJob
from chat.protocol.broadcast import emit, user_group
from chat.protocol.events import ProjectsChanged

log = structlog.get_logger(__name__)

Status = ImportJob.Status

PIECE_BYTES = 4_000_000  # of a file that is sent at once, at most
MOST_FILES = 100  # of one import: Claude.ai gives some tens of zips
AT_ONCE = 2  # imports of the site that run
KEPT_JOBS = 20  # of one person, with their reports
KEPT_FILES = timedelta(days=1)  # of an import that waits for them, or that can be started again
SILENT = timedelta(seconds=60)  # after which a running import counts as dead
SPARE_BYTES = 500_000_000  # of the disk, for the rest of the site
TOO_LATE = gettext_noop("The files were not sent whole within a day. Choose them again.")
DIED = gettext_noop(
    "The import was cut off, because the server stopped or ran out of memory. Start it again: only "
    "what is not here yet is added."
)


class WrongOffset(Exception):
    """A piece begins elsewhere than where the last one ended, at `received`."""

    def __init__(self, received: int) -> None:
        super().__init__(received)
        self.received = received


class JobOver(Exception):
    """Somebody else has ended the job, or it was deleted with its owner."""


# --- Files come -----------------------------------------------------------------------------------


def create(owner: User, files: Sequence[tuple[str, int]]) -> ImportJob:
    """An import that waits for these files, each with its name and its bytes; the one that waits
    for the same files already, so that it goes on. Refused where another one is active, or the
    files are too large for the person, the site or the disk."""
    files = [(" ".join(sanitise_text(name).split())[:200] or "file", size) for name, size in files]
    if waiting := _find_same(owner, files):
        return waiting
    _check_sizes(owner, files)
    return _make(owner, files, Status.UPLOADING)


def begin_here(owner: User, files: Sequence[tuple[str, int]]) -> ImportJob:
    """An import that the calling process runs itself, of files that it has. Refused where another
    one is active."""
    sweep()  # of one that was killed: no server need run that would end it
    return _make(owner, files, Status.RUNNING)


def _make(owner: User, files: Sequence[tuple[str, int]], status: ImportJob.Status) -> ImportJob:
    try:
        with transaction.atomic():
            old = ImportJob.objects.filter(owner=owner).exclude(status__in=ImportJob.ACTIVE)
            kept = old.order_by("-created_at").values_list("pk", flat=True)[: KEPT_JOBS - 1]
            old.exclude(pk__in=list(kept)).delete()
            total = sum(size for _, size in files)
            job = ImportJob.objects.create(owner=owner, bytes_total=total, status=status)
            ImportFile.objects.bulk_create(
                ImportFile(job=job, name=name, size=size) for name, size in files
            )
    except IntegrityError:
        raise _refuse_second() from None
    return job


def _refuse_second() -> Refused:
    return Refused(
        RefusalCode.IMPORT_ACTIVE,
        gettext("Another import of yours is not done yet. Wait until it is, or cancel it."),
    )


def _find_same(owner: User, files: Sequence[tuple[str, int]]) -> ImportJob | None:
    job = ImportJob.objects.filter(owner=owner, status=Status.UPLOADING).first()
    if job and sorted(job.files.values_list("name", "size")) == sorted(files):
        return job
    return None


def _check_sizes(owner: User, files: Sequence[tuple[str, int]]) -> None:
    if not files or len(files) > MOST_FILES:
        words = ngettext(
            "Choose the files to import: at most {count} at once.",
            "Choose the files to import: at most {count} at once.",
            MOST_FILES,
        )
        raise Refused(RefusalCode.IMPORT_FILES, words.format(count=MOST_FILES))
    if empty := next((name for name, size in files if size <= 0), None):
        words = gettext("{name} is empty. Choose the file again.")
        raise Refused(RefusalCode.FILE_EMPTY, words.format(name=empty))
    wanted = sum(size for _, size in files)
    stored = _count_bytes(ImportJob.objects.filter(owner=owner))
    if stored + wanted > (most := settings.IMPORT_MB * 10**6):
        words = gettext(
            "These files have {size:,.0f} MB; {left:,.0f} MB can be imported at once. Import them "
            "in several parts, or unpack the zip and choose the JSON files without the pictures."
        )
        left = max(0, most - stored) / 1e6
        raise Refused(RefusalCode.IMPORT_TOO_LARGE, words.format(size=wanted / 1e6, left=left))
    on_site = _count_bytes(ImportJob.objects.all()) + wanted > settings.IMPORTS_MB * 10**6
    if on_site or shutil.disk_usage(settings.DATA_DIR).free - wanted < SPARE_BYTES:
        raise _refuse_disk()


def _refuse_disk() -> Refused:
    return Refused(
        RefusalCode.DISK_FULL,
        gettext(
            "The server has no room for these files now. Try again later, or import a part of "
            "them; an administrator can make room."
        ),
    )


def _count_bytes(jobs: QuerySet[ImportJob]) -> int:
    """What the files of jobs take on the disk, or will."""
    files = ImportFile.objects.filter(job__in=jobs)
    coming = files.filter(job__status__in=ImportJob.ACTIVE).aggregate(total=Sum("size"))
    left = files.exclude(job__status__in=ImportJob.ACTIVE).aggregate(total=Sum("received"))
    return (coming["total"] or 0) + (left["total"] or 0)


def append(job: ImportJob, file_id: int, offset: int, data: bytes) -> int:
    """Store the next piece of a file; how many bytes of it are here. Raises WrongOffset,
    ImportFile.DoesNotExist, and Refused where the job takes none or the disk is full."""
    if job.status != Status.UPLOADING:
        raise _refuse_over()
    file = job.files.get(pk=file_id)
    if offset != file.received:
        raise WrongOffset(file.received)
    if not data or offset + len(data) > file.size:
        words = gettext("{name} is another file now than when it was chosen. Choose it again.")
        raise Refused(RefusalCode.IMPORT_FILES, words.format(name=file.name))
    path = path_of(file)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(opened, "wb") as stream:
            stream.seek(offset)
            stream.write(data)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _refuse_disk() from error
    # Two tabs may send the same piece: the bytes are the same, and one of them counts.
    received = offset + len(data)
    if not ImportFile.objects.filter(pk=file.pk, received=offset).update(received=received):
        file.refresh_from_db()
        raise WrongOffset(file.received)
    ImportJob.objects.filter(pk=job.pk).update(seen_at=timezone.now())
    return received


def path_of(file: ImportFile) -> Path:
    return _folder(file.job_id) / str(file.pk)


def list_paths(job: ImportJob) -> list[tuple[str, Path]]:
    """The files of a job, each with the name that its user called it by."""
    return [(file.name, path_of(file)) for file in job.files.order_by("pk")]


def _folder(job_id: UUID) -> Path:
    return settings.DATA_DIR / "imports" / job_id.hex


# --- States ---------------------------------------------------------------------------------------


def start(job: ImportJob) -> None:
    """Queue an import whose files are here, for the first time or again. Refused where a file is
    not whole, or another import is active."""
    if not has_all_files(job):
        words = gettext("The files are not here whole. Choose them again to go on.")
        raise Refused(RefusalCode.IMPORT_FILES, words)
    waiting = ImportJob.objects.filter(pk=job.pk, status__in=[Status.UPLOADING, Status.FAILED])
    now = timezone.now()
    values = {"status": Status.QUEUED, "seen_at": now, "error": "", "bytes_read": 0}
    try:
        with transaction.atomic():
            queued = waiting.update(**values, cancel_requested=False, finished_at=None, report={})
    except IntegrityError:
        raise _refuse_second() from None
    if not queued:
        raise _refuse_over()


def has_all_files(job: ImportJob) -> bool:
    files = job.files.all()
    return bool(files) and all(file.received == file.size for file in files)


def _refuse_over() -> Refused:
    words = gettext("This import has begun, or is over. Reload the page.")
    return Refused(RefusalCode.IMPORT_OVER, words)


def cancel(job: ImportJob) -> None:
    """End an import; a running one ends in a moment, and what it has stored stays. One that is over
    is no error."""
    if _end(job.pk, Q(status__in=(Status.UPLOADING, Status.QUEUED)), Status.CANCELLED):
        return
    ImportJob.objects.filter(pk=job.pk, status=Status.RUNNING).update(cancel_requested=True)


def claim_next() -> UUID | None:
    """The import that waits longest, which the caller has to run now; None where none waits, or
    enough run."""
    with transaction.atomic():
        if ImportJob.objects.filter(status=Status.RUNNING).count() >= AT_ONCE:
            return None
        queued = ImportJob.objects.filter(status=Status.QUEUED).order_by("seen_at")
        for pk in queued.values_list("pk", flat=True)[:AT_ONCE]:
            # Another process may have taken it since.
            mine = ImportJob.objects.filter(pk=pk, status=Status.QUEUED)
            if mine.update(status=Status.RUNNING, seen_at=timezone.now()):
                return pk
    return None


def is_any_waiting() -> bool:
    """Whether an import waits that could run."""
    waiting = ImportJob.objects.filter(status=Status.QUEUED).exists()
    return waiting and ImportJob.objects.filter(status=Status.RUNNING).count() < AT_ONCE


def beat(job_id: UUID, bytes_read: int, totals: Mapping[str, Any]) -> bool:
    """Say that a running import is alive, and how far it is; whether its owner has cancelled it.
    Raises JobOver."""
    running = ImportJob.objects.filter(pk=job_id, status=Status.RUNNING)
    values = {"seen_at": timezone.now(), "bytes_read": bytes_read}
    if not running.update(**values, report={"totals": dict(totals)}):
        raise JobOver
    return running.filter(cancel_requested=True).exists()


def finish(
    job_id: UUID,
    status: ImportJob.Status,
    *,
    report: Mapping[str, Any] | None = None,
    error: str = "",
    keep_files: bool = False,
) -> bool:
    """End a running import; False where it has ended already. `keep_files`: it can be started
    again."""
    values: dict[str, Any] = {} if report is None else {"report": report}
    running = Q(status=Status.RUNNING)
    return _end(job_id, running, status, error=error, keep_files=keep_files, **values)


def fail(job_id: UUID) -> bool:
    """End an import whose process died; False where it had ended. It can be started again."""
    return finish(job_id, Status.FAILED, error=DIED, keep_files=True)


def _end(
    job_id: UUID,
    before: Q,
    status: ImportJob.Status,
    *,
    error: str = "",
    keep_files: bool = False,
    **values: Any,
) -> bool:
    with transaction.atomic():
        job = ImportJob.objects.filter(before, pk=job_id)
        now = timezone.now()
        if not job.update(status=status, error=error, finished_at=now, seen_at=now, **values):
            return False
        if not keep_files:
            _delete_files(job_id)
    return True


def tell_owner(job_id: UUID) -> None:
    """Have the open pages of an import's owner list their conversations anew."""
    for owner in ImportJob.objects.filter(pk=job_id).values_list("owner", flat=True):
        emit(user_group(owner), ProjectsChanged())


# --- Cleaning up ----------------------------------------------------------------------------------


def _delete_files(job_id: UUID) -> None:
    """When this transaction is committed."""
    ImportFile.objects.filter(job=job_id).update(received=0)
    remove = partial(shutil.rmtree, _folder(job_id), ignore_errors=True)
    transaction.on_commit(remove, robust=True)


def sweep() -> int:
    """End imports of which nothing was heard: their files do not come, or their process died.
    Delete files that nobody needs any more. How many."""
    now = timezone.now()
    late = now - KEPT_FILES
    unsent = Q(status=Status.UPLOADING, seen_at__lt=late)
    silent = Q(status=Status.RUNNING, seen_at__lt=now - SILENT)
    ended = 0
    for pk in _find(unsent):
        ended += _end(pk, unsent, Status.CANCELLED, error=TOO_LATE)
    for pk in _find(silent):
        log.warning("import died", job=str(pk))
        ended += _end(pk, silent, Status.FAILED, error=DIED, keep_files=True)
    folder = settings.DATA_DIR / "imports"
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            ended += _delete_folder(path, late)
    return ended


def _find(which: Q) -> list[UUID]:
    return list(ImportJob.objects.filter(which).values_list("pk", flat=True))


def _delete_folder(path: Path, late: datetime) -> int:
    """Delete the files of a job that is gone, or is over for long."""
    try:
        job = ImportJob.objects.filter(pk=UUID(hex=path.name)).first()
    except ValueError:
        return 0
    if job and (job.status in ImportJob.ACTIVE or (job.finished_at or late) > late):
        return 0
    if job:
        ImportFile.objects.filter(job=job).update(received=0)
    shutil.rmtree(path, ignore_errors=True)
    return 1


def delete_files_of(users: Collection[User]) -> None:
    """Delete the files of accounts that are deleted in this transaction, when it is committed."""
    for pk in ImportJob.objects.filter(owner__in=users).values_list("pk", flat=True):
        _delete_files(pk)


# --- Looking --------------------------------------------------------------------------------------


def list_jobs(owner: User) -> QuerySet[ImportJob]:
    """A person's imports, the newest first, with the `totals` of their reports."""
    rows = ImportJob.objects.filter(owner=owner).order_by("-created_at").defer("report")
    return rows.annotate(totals=F("report__totals")).prefetch_related("files")


def describe(job: ImportJob) -> dict[str, Any]:
    """What programs are told of an import."""
    return {
        "id": str(job.pk),
        "status": job.status,
        "bytes_total": job.bytes_total,
        "bytes_read": job.bytes_read,
        "totals": job.report.get("totals", {}),
        "error": gettext(job.error) if job.error else "",
        "files": [
            {"id": file.pk, "name": file.name, "size": file.size, "received": file.received}
            for file in job.files.order_by("pk")
        ],
        "piece_bytes": PIECE_BYTES,
        "created_at": job.created_at,
        "finished_at": job.finished_at,
    }
