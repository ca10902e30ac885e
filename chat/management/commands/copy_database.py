"""`manage.py copy_database`: from SQLite to PostgreSQL, or back."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chat.services.site.copying import CannotCopy, copy_database, read_address
from server.claims import CannotServe, claim_data


class Command(BaseCommand):
    help = "Copy every row of the site's database into an empty one. The site must not run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", help="as DATABASE_URL: postgres://user:password@host/name")

    def handle(self, *, address: str, **options: Any) -> None:
        try:
            claim_data("manage.py copy_database")
            target = read_address(address)
            rows = copy_database(settings.DATABASES["default"], target, self._report)
        except (CannotServe, CannotCopy) as error:
            raise CommandError(f"Nothing was copied. {error}") from None
        self.stdout.write(
            f"{sum(rows.values()):,} rows are copied, and the target has as many in each table. "
            "Set DATABASE_URL to it. Files and secrets stay in DATA_DIR."
        )

    def _report(self, table: str, rows: int) -> None:
        self.stdout.write(f"{table}: {rows:,}")
