"""`manage.py import_chats FILE…`: conversations from elsewhere, as the page imports them."""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.csv_lines import write_csv_line
from accounts.models import User
from chat.errors import Refused
from chat.html.import_words import list_figures, list_groups
from chat.importers.report import list_rows
from chat.jobs.imports import Import
from chat.models import ImportJob
from chat.services.library import import_jobs


class Command(BaseCommand):
    help = (
        "Import conversations from elsewhere: the ZIP or JSON files of one export. The same export "
        "again adds only what is new. Exit code 1 where nothing could be imported."
    )

    requires_system_checks = ()  # they load what answers requests: 30 MB

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument(
            "--user", default="", help="A username; not needed if there is only one account."
        )
        parser.add_argument(
            "--report", type=Path, metavar="FOLDER", help="Write report.json and report.csv there."
        )
        parser.add_argument(
            "--model",
            default="",
            help="The model to go on with; otherwise that of each conversation, if it is offered.",
        )

    def handle(
        self,
        *,
        files: Sequence[Path],
        user: str,
        report: Path | None,
        model: str,
        **options: Any,
    ) -> None:
        owner = find_owner(user, option="--user")
        job = run_import(owner, files, model=model)
        if report:
            self._write(report, job)
        self._print(owner, job)

    def _write(self, folder: Path, job: ImportJob) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        whole = json.dumps(job.report, ensure_ascii=False, indent=1)
        (folder / "report.json").write_text(f"{whole}\n", encoding="utf-8")
        lines = "".join(write_csv_line(row) for row in list_rows(job.report))
        (folder / "report.csv").write_text(lines, encoding="utf-8", newline="")

    def _print(self, owner: User, job: ImportJob) -> None:
        totals = job.report.get("totals", {})
        for name, value in list_figures(totals):
            self.stdout.write(f"{name}: {value}")
        for heading, reasons in list_groups(totals):
            for reason, count in reasons.items():
                self.stdout.write(f"{heading}: {reason}: {count:,}")
        for entry in job.report.get("conversations", []):
            for lost in (entry.get("reason"), *entry.get("lost", [])):
                if lost:
                    self.stderr.write(f"{entry.get('title') or entry.get('origin', '')}: {lost}")
        if job.status != ImportJob.Status.COMPLETED:
            raise CommandError(job.error or "Cancelled.")
        self.stdout.write(f"Imported for {owner}.")


def find_owner(name: str, *, option: str) -> User:
    """The active account of that name; without one, the only account. Raises CommandError."""
    users = User.objects.filter(is_active=True)
    found = list(users.filter(username=name) if name else users[:2])
    if len(found) == 1:
        return found[0]
    if name:
        raise CommandError(f"There is no active account named {name!r}.")
    raise CommandError(
        f"Name the account to import for: {option} NAME." if found else "There is no account yet."
    )


def run_import(owner: User, files: Sequence[Path], *, model: str) -> ImportJob:
    """Import the files in this process; the job when it is over. Raises CommandError where it could
    not begin."""
    try:
        named = [(path.name, path.stat().st_size) for path in files]
        job = import_jobs.begin_here(owner, named)
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
    except Refused as refusal:
        raise CommandError(refusal.message) from refusal
    try:
        Import(job).run([(path.name, path) for path in files], model=model)
    except import_jobs.JobOver:
        raise CommandError("The import was ended elsewhere.") from None
    except KeyboardInterrupt:
        import_jobs.finish(job.pk, ImportJob.Status.CANCELLED)
        raise CommandError("Cancelled. What was stored until then stays.") from None
    import_jobs.tell_owner(job.pk)
    job.refresh_from_db()
    return job
