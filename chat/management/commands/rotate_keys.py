"""`manage.py rotate_keys`: encrypt the stored keys of providers under the newest secret."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.services.site import providers


class Command(BaseCommand):
    help = (
        "Encrypt the stored keys of providers anew, under the first of ENCRYPTION_KEYS or else "
        "under SECRET_KEY."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done, unreadable = providers.encrypt_keys_again()
        self.stdout.write(f"{done} keys encrypted anew.")
        if unreadable:
            raise CommandError(
                f"None of the secrets reads the key of: {', '.join(unreadable)}. Set the old "
                "SECRET_KEY or ENCRYPTION_KEYS as well, or enter these keys in the administration."
            )
