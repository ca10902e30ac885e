"""`manage.py scrub`: what was deleted leaves the disk now, and not within some minutes."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from chat.db.scrubbing import scrubbing
from chat.services.library import attachments


class Command(BaseCommand):
    help = (
        "Clean up after deletions: merge the full-text index and empty the log of SQLite, delete "
        "stored files that belong to nothing, and sessions that have expired. The site may be in "
        "use."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("clearsessions")
        self.stdout.write(f"{attachments.delete_orphans()} files that belonged to nothing deleted.")
        if not scrubbing.finish():
            raise CommandError("The database is in use: its log could not be emptied. Try again.")
        self.stdout.write("The database is clean.")
