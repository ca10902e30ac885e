"""Accounts, and what the chat stores for them."""

from collections.abc import Collection

from django.db import transaction

from accounts.models import User
from chat.models import Attachment, Turn
from chat.services.library import attachments


def delete_accounts(users: Collection[User]) -> None:
    """Delete accounts with all that they own; running turns end without a trace, and the files go
    when this is committed."""
    with transaction.atomic():
        # Rows are locked in the order in which the end of a turn locks them.
        active = Turn.objects.filter(conversation__owner__in=users, status__in=Turn.ACTIVE)
        list(active.select_for_update(of=("self",)))
        attachments.delete_files(Attachment.objects.filter(owner__in=users))
        for user in users:
            user.delete()
