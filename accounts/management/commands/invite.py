"""`manage.py invite`: a link by which one person may make an account."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse

from accounts import audit
from accounts.audit import Act
from accounts.invitations import DAYS, invite
from server.claims import find_origin


class Command(BaseCommand):
    help = "Print a link by which one person may make an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--group", default="", help="The group that they will be in.")
        parser.add_argument("--email", default="", help="Whose invitation it is.")
        parser.add_argument("--days", type=int, default=DAYS, help="How long it can be used.")

    def handle(self, *, group: str, email: str, days: int, **options: Any) -> None:
        found = Group.objects.filter(name=group).first() if group else None
        if group and not found:
            raise CommandError(f"There is no group “{group}”.")
        if days < 1:
            raise CommandError(f"--days is {days}; it can be 1 or more.")
        try:
            if email:
                validate_email(email)
        except ValidationError:
            raise CommandError(f"“{email}” is no email address.") from None
        with transaction.atomic():
            invitation, token = invite(None, group=found, email=email, days=days)
            audit.record(None, Act.ADD, target=invitation)
        origin = find_origin(settings.HOST, settings.PORT)
        self.stdout.write(origin + reverse("invitation", args=[token]))
