"""`manage.py restore`: a site from a backup."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.services.site import backups
from chat.services.site.copying import CannotCopy
from server.claims import CannotServe, claim_data


class Command(BaseCommand):
    help = "Fill the site's empty database and its files from a backup, and check the result."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, help="what manage.py backup has written")

    def handle(self, *, directory: Path, **options: Any) -> None:
        try:
            claim_data("manage.py restore")
            rows = backups.restore_backup(directory.absolute(), self._report)
        except (CannotServe, CannotCopy, OSError) as error:
            raise CommandError(f"The site was not restored. {error}") from None
        self.stdout.write(f"{sum(rows.values()):,} rows and their files are restored.")
        if damage := backups.find_damage():
            raise CommandError("\n".join(["Not everything can be used:", *damage]))
        self.stdout.write("Checked: every file is whole, every stored key can be decrypted.")

    def _report(self, table: str, rows: int) -> None:
        self.stdout.write(f"{table}: {rows:,}")
