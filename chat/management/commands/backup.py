"""`manage.py backup`: the database and the files of the site into a directory."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.services.site import backups
from chat.services.site.copying import CannotCopy


class Command(BaseCommand):
    help = "Copy the database and all files into a new directory. The site may be in use."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path)

    def handle(self, *, directory: Path, **options: Any) -> None:
        try:
            made = backups.make_backup(directory.absolute(), self._report)
        except (CannotCopy, OSError) as error:
            raise CommandError(f"There is no backup. {error}") from None
        files = made.pop("files")
        self.stdout.write(
            f"{directory}: {sum(made.values()):,} rows, {files:,} files. A restored site needs "
            f"these too, to be kept apart: {', '.join(backups.name_secrets())}."
        )

    def _report(self, table: str, rows: int) -> None:
        self.stdout.write(f"{table}: {rows:,}")
