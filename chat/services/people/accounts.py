"""Accounts, and what the chat stores for them."""

from collections.abc import Collection

from django.db import transaction

from accounts import audit
from accounts.audit import Act
from accounts.deletion import delete_traces
from accounts.models import User
from accounts.roles import require_administrator_without
from chat.models import Attachment, Conversation, Turn
from chat.services.library import attachments, import_jobs, traces


def delete_accounts(users: Collection[User]) -> None:
    """Delete accounts with all that they own; running turns end without a trace, and the files go
    when this is committed. Raises LastAdministrator, and deletes nothing, where nobody could look
    after the site any more."""
    with transaction.atomic():
        require_administrator_without([user.pk for user in users])
        # Rows are locked in the order in which the end of a turn locks them.
        active = Turn.objects.filter(conversation__owner__in=users, status__in=Turn.ACTIVE)
        list(active.select_for_update(of=("self",)))
        attachments.delete_files(Attachment.objects.filter(owner__in=users))
        import_jobs.delete_files_of(users)
        owned = Conversation.objects.filter(owner__in=users)
        traces.forget_later(owned.values_list("pk", flat=True))
        delete_traces(users)
        for user in users:
            user.delete()


def delete_own_account(user: User) -> None:
    """`delete_accounts` for somebody who asks for it."""
    with transaction.atomic():
        audit.record(None, Act.DELETE_OWN_ACCOUNT, target=user)
        delete_accounts([user])
