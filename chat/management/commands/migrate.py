"""`manage.py migrate`: Django's, but where it could not help it says so and changes nothing."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from chat.queries import schema


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Who names an app, or a migration of it, knows better."""
        if options["database"] == DEFAULT_DB_ALIAS and not options["app_label"]:
            misfit = schema.find_misfit()
            if misfit and misfit.kind == schema.MisfitKind.CHANGED:
                raise CommandError(str(misfit))
        super().handle(*args, **options)
