"""`manage.py audit`: entries of the audit as lines of JSON, for a copy that is kept elsewhere."""

from argparse import ArgumentParser
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand

from accounts import audit
from accounts.audit import Act
from accounts.models import AuditEntry


class Command(BaseCommand):
    help = "Print the audit's entries of some days, both included, as lines of JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        day = "such as 2026-11-26; by default all"
        parser.add_argument("--since", type=date.fromisoformat, help=f"first day, {day} before")
        parser.add_argument("--until", type=date.fromisoformat, help=f"last day, {day} after")

    def handle(self, *, since: date | None, until: date | None, **options: Any) -> None:
        after = 0
        while entries := audit.read_entries(*audit.find_bounds(since, until), after=after):
            for entry in entries:
                self.stdout.write(audit.write_json_line(entry), ending="")
            after = entries[-1]["id"]
        audit.record(None, Act.EXPORT, target=AuditEntry())
