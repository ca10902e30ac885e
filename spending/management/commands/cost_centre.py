"""`manage.py cost_centre`: what a group's calls of a month came to, as CSV."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError

from spending.exports import write_cost_centre_calls, write_cost_centre_sums
from spending.spans import Span, read_month


def month(text: str) -> Span:
    """For the parser, which names it where the text is no month."""
    if (span := read_month(text)) is None:
        raise ArgumentTypeError(f"“{text}” is no month; one is written as 2026-11.")
    return span


class Command(BaseCommand):
    help = "Write what a group's calls of a month came to, by person and model, as CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("group", help="The group's name.")
        parser.add_argument("--month", type=month, required=True, help="Such as 2026-11.")
        parser.add_argument("--calls", action="store_true", help="A line for each call instead.")

    def handle(self, *, group: str, month: Span, calls: bool, **options: Any) -> None:
        found = Group.objects.filter(name=group).first()
        if found is None:
            names = ", ".join(Group.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(f"There is no group “{group}”. Groups: {names or 'none'}.")
        write = write_cost_centre_calls if calls else write_cost_centre_sums
        for line in write(found, month):
            self.stdout.write(line, ending="")
