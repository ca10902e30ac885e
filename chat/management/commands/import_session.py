"""`manage.py import_session FILE`: a session of the coding agent pi as a conversation."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from chat.errors import Refused
from chat.importers.pi import Problem, parse_session
from chat.services.library.importing import import_session

MAX_SESSION_BYTES = 200 * 1024 * 1024
SHOWN_PROBLEMS = 20


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
        user = self._owner(owner)
        try:
            size = file.stat().st_size
            if size > MAX_SESSION_BYTES:
                has, most = size / 1024**2, MAX_SESSION_BYTES / 1024**2
                raise CommandError(
                    f"{file} has {has:,.0f} MB; at most {most:,.0f} MB "
                    "can be imported at once. Split the file between two lines."
                )
            with file.open("rb") as lines:
                session = parse_session(lines)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        self._report(file, session.problems)
        try:
            conversation = import_session(
                user, session, title=title, model=model, progress=self._progress
            )
        except Refused as refusal:
            raise CommandError(f"{file}: {refusal.message}") from refusal
        answers = sum(message.role == "assistant" for message in session.messages)
        self.stdout.write(
            f"Imported {len(session.messages):,} messages ({answers:,} answers) as "
            f"“{conversation}” for {user}: {conversation.get_absolute_url()}"
        )
        if session.model and conversation.model != session.model:
            self.stdout.write(
                f"It was held with {session.model} and goes on with {conversation.model}; what "
                "was reported then does not count for this model, so the meter is an estimate."
            )

    def _owner(self, name: str) -> User:
        users = User.objects.filter(is_active=True)
        found = list(users.filter(username=name) if name else users[:2])
        if len(found) == 1:
            return found[0]
        if name:
            raise CommandError(f"There is no active account named {name!r}.")
        raise CommandError(
            "Name the account to import it for: --owner NAME."
            if found
            else "There is no account yet."
        )

    def _progress(self, done: int, total: int) -> None:
        if self.stdout.isatty():
            end = "\n" if done == total else "\r"
            self.stdout.write(f"Counting tokens: {done:,} of {total:,} messages", ending=end)
            self.stdout.flush()

    def _report(self, file: Path, problems: list[Problem]) -> None:
        for problem in problems[:SHOWN_PROBLEMS]:
            self.stderr.write(f"{file}:{problem.line}: left out: {problem.reason}.")
        if len(problems) > SHOWN_PROBLEMS:
            self.stderr.write(f"… and {len(problems) - SHOWN_PROBLEMS:,} more.")
