"""Importing files: from an archive to stored conversations, with a report. It runs in a process of
its own (`chat.jobs.import_process`) or in that of a command."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.utils.translation import gettext, override

from accounts.preferences import find_language
from chat.db.threads import UNAVAILABLE
from chat.errors import Refused
from chat.importers.archive import Archive
from chat.importers.errors import Unimportable
from chat.importers.everlong import (
    OwnAccount,
    OwnConversation,
    OwnDocument,
    OwnFacts,
    OwnMemory,
    OwnProject,
)
from chat.importers.formats import find_format
from chat.importers.records import ImportedConversation, ImportedProject, Offered, Skipped, Tally
from chat.importers.report import Report
from chat.jobs.records import write_record
from chat.models import ImportJob, Project
from chat.services.library import import_jobs, import_offers, restoring, restoring_places
from chat.services.library.import_projects import ImportedProjects
from chat.services.library.importing import store_conversation
from chat.services.library.importing_messages import Stored

log = structlog.get_logger(__name__)

Status = ImportJob.Status

BEAT_SECONDS = 1.0
# SQLite has one writer. After each transaction the import leaves it to others for as long again.
LONGEST_PAUSE = 0.5  # seconds
MOST_REASONS = 3  # that an error names


class Cancelled(Exception):
    """The owner has asked for the end of the import."""


class Import:
    """One import while it runs."""

    def __init__(self, job: ImportJob) -> None:
        self.job = job
        self.owner = job.owner
        self.report = Report()
        self._archive: Archive | None = None
        self._grown: list[UUID] = []  # conversations with new messages
        self._beat_at = 0.0

    def run(self, files: Sequence[tuple[str, Path]], *, model: str = "") -> None:
        """Store what the files hold, and end the job: completed, cancelled or failed, each with the
        report of what was done until then. The conversations go on with `model`; without one, see
        `store_conversation`. Raises JobOver where somebody else has ended the job, and whatever
        was not expected."""
        with override(find_language(self.owner) or settings.LANGUAGE_CODE):
            try:
                self._read(files, model)
            except Cancelled:
                self._finish(Status.CANCELLED)
            except Unimportable as error:
                self._finish(Status.FAILED, self._explain(str(error)))
            except import_jobs.JobOver:
                raise
            except Exception:
                self._finish(Status.FAILED, import_jobs.DIED, keep_files=True)
                raise
            else:
                self._judge()

    def _read(self, files: Sequence[tuple[str, Path]], model: str) -> None:
        self._store_all(files, model)
        for conversation_id in self._grown:
            self._record(conversation_id)

    def _store_all(self, files: Sequence[tuple[str, Path]], model: str) -> None:
        with Archive(files) as archive:
            self._archive = archive
            found = find_format(archive)
            self.report.name, self.report.label = found.NAME, found.LABEL
            projects = ImportedProjects(self.owner, found.NAME, found.LABEL)
            for record in found.read(archive):
                self._store(projects, record, model)
                self._go_on()

    def _store(self, projects: ImportedProjects, record: Any, model: str) -> None:
        match record:
            case Skipped():
                self.report.skip(record.name, record.reason, candidate=record.candidate)
            case Offered():
                project = self._find_project(projects, record.project)
                self.report.add_offers(import_offers.add_offer(self.job, record, project))
            case ImportedProject():
                self._store_project(projects, record)
            case ImportedConversation():
                project = self._find_project(projects, record.project)
                store = partial(
                    store_conversation,
                    self.owner,
                    self.report.name,
                    record,
                    project=project,
                    model=model,
                    after_write=self._after_write,
                )
                self._store_conversation(record, store)
            case OwnConversation():
                restore = restoring.restore_conversation
                store = partial(restore, self.owner, record, after_write=self._after_write)
                self._store_conversation(record, store)
            case OwnDocument():
                self._restore(record)

    def _store_conversation(self, record: Any, store: Callable[[], Stored]) -> None:
        """One that cannot be stored for a reason that nobody knows does not hold up the others."""
        title, origin = getattr(record, "title", ""), getattr(record, "origin", "")
        try:
            stored = store()
        except (Cancelled, import_jobs.JobOver, Unimportable, *UNAVAILABLE):
            raise
        except Refused as refusal:
            self.report.skip(title, refusal.message, origin=origin)
            return
        except Exception:
            log.exception("conversation not imported", job=str(self.job.pk), origin=origin)
            words = gettext("An error of the server, which is in its log.")
            self.report.skip(title, words, origin=origin)
            return
        if stored.conversation_id is None:
            self.report.skip(title, gettext("It has no messages."), origin=origin)
            return
        self.report.add_conversation(
            title,
            origin,
            getattr(record, "tally", None) or Tally(kept=stored.added + stored.known),
            state="new" if stored.is_new else "continued" if stored.added else "known",
            id=str(stored.conversation_id),
            added=stored.added,
            beside=stored.beside,
            files=stored.files,
            lost=stored.lost,
        )
        if stored.added:
            self._grown.append(stored.conversation_id)

    def _record(self, conversation_id: UUID) -> None:
        """So that a giant can be used at once. Where that fails, its first turn has it done. It
        takes memory, which the archive has given back by then."""
        try:
            write_record(conversation_id)
        except UNAVAILABLE:
            raise
        except Exception:
            log.exception("no record", conversation=str(conversation_id))
        self._go_on()

    def _restore(self, own: OwnDocument) -> None:
        """What an export of Everlong holds beside conversations."""
        try:
            match own:
                case OwnFacts():
                    self.report.add_facts(restoring_places.restore_facts(self.owner, own))
                case OwnProject():
                    lost = restoring_places.restore_project(self.owner, own)
                    self.report.add_project(own.title, lost)
                case OwnMemory():
                    self.report.add_facts(restoring_places.restore_memory(self.owner, own))
                case OwnAccount():
                    restoring_places.restore_preferences(self.owner, own)
        except Refused as refusal:
            self.report.skip(own.title, refusal.message, candidate=False, origin=own.origin)

    def _store_project(self, projects: ImportedProjects, record: ImportedProject) -> None:
        try:
            lost = projects.store(record)
        except Refused as refusal:
            self.report.skip(record.name, refusal.message, candidate=False, origin=record.origin)
        else:
            self.report.add_project(record.name, lost)

    def _find_project(self, projects: ImportedProjects, origin: str | None) -> Project | None:
        """What belongs to a project for which there is no room is stored in none."""
        try:
            return projects.find(origin)
        except Refused as refusal:
            self.report.skip(origin or "", refusal.message, candidate=False)
            return None

    # --- While it runs ----------------------------------------------------------------------------

    def _after_write(self, seconds: float) -> None:
        if connection.vendor == "sqlite":
            time.sleep(min(seconds, LONGEST_PAUSE))
        self._go_on()

    def _go_on(self) -> None:
        """Say now and then that it is alive, and end where its owner has cancelled it."""
        now = time.monotonic()
        if now < self._beat_at:
            return
        self._beat_at = now + BEAT_SECONDS
        read = self._archive.bytes_read if self._archive else 0
        if import_jobs.beat(self.job.pk, read, self.report.totals()):
            raise Cancelled

    # --- Its end ----------------------------------------------------------------------------------

    def _judge(self) -> None:
        """A file of which nothing could be used is an error, not a success."""
        if not self.report.has_failed:
            self._finish(Status.COMPLETED)
            return
        reasons = "; ".join(self.report.reasons[:MOST_REASONS])
        words = gettext("Nothing in these files could be imported: {reasons}.")
        self._finish(Status.FAILED, words.format(reasons=reasons or gettext("they are empty")))

    def _explain(self, error: str) -> str:
        if not self.report.conversations:
            return error
        return error + " " + gettext("The conversations before it are stored.")

    def _finish(
        self, status: ImportJob.Status, error: str = "", *, keep_files: bool = False
    ) -> None:
        report = self.report.describe()
        finished = import_jobs.finish(
            self.job.pk, status, report=report, error=error, keep_files=keep_files
        )
        if not finished:
            raise import_jobs.JobOver
        log.info("import ended", job=str(self.job.pk), status=status, **self.report.totals())
