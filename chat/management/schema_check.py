"""What commands that serve ask of the database before they begin."""

from django.core.management.base import CommandError

from chat.db.threads import UNAVAILABLE
from chat.queries import schema


def require_schema() -> None:
    """Raise CommandError where the database cannot be read, or does not fit this code."""
    try:
        misfit = schema.find_misfit()
    except UNAVAILABLE as error:
        raise CommandError(
            f"The database cannot be read: {error}. Check DATABASE_URL, and that it runs."
        ) from error
    if misfit:
        raise CommandError(str(misfit))
