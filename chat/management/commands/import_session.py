"""`manage.py import_session FILE`: a session of the coding agent pi, as `import_chats` does it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.management.commands.import_chats import find_owner, run_import
from chat.models import Conversation
from chat.services.library import conversations


class Command(BaseCommand):
    help = "Import a session of the coding agent pi (JSON lines) as one conversation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--owner", default="", help="A username; not needed if there is only one account."
        )
        parser.add_argument("--title", default="", help="Otherwise the first line of the session.")
        parser.add_argument(
            "--model", default="", help="The model to go on with; otherwise the session's."
        )

    def handle(self, *, file: Path, owner: str, title: str, model: str, **options: Any) -> None:
        user = find_owner(owner, option="--owner")
        job = run_import(user, [file], model=model)
        if job.status != job.Status.COMPLETED:
            raise CommandError(f"{file}: {job.error}")
        entry = job.report["conversations"][0]
        conversation = Conversation.objects.get(pk=entry["id"])
        if title:
            conversations.rename_conversation(conversation, title)
        for reason, count in entry.get("dropped", {}).items():
            self.stderr.write(f"{file}: left out: {reason}: {count}")
        self.stdout.write(
            f"Imported {entry.get('added', 0):,} messages as “{conversation}” for {user}: "
            f"{conversation.get_absolute_url()}"
        )
