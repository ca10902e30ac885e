"""Links by which other people of the site read a conversation."""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import ngettext

from accounts.models import User
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, Message, Share

MOST_SHARES = 50  # of one conversation


def share_conversation(user: User, conversation_id: UUID, through: int | None) -> Share:
    """A link to the user's conversation: up to the message with the key `through`, along the branch
    that leads to it, or None: all of the shown branch, as it goes on. It is the link that there is
    already, if there is one.

    Raises Refused (`too_many_shares`), and DoesNotExist for a conversation or a message that is not
    the user's.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().of(user).get(pk=conversation_id)
        last = None if through is None else conversation.messages.get(pk=through)
        live = conversation.shares.filter(revoked_at=None)
        if same := live.filter(through=last).first():
            return same
        if live.count() >= MOST_SHARES:
            words = ngettext(
                "There is {count} link to this conversation. Stop sharing it by that one first.",
                "There are {count} links to this conversation. Stop sharing it by one of them "
                "first.",
                MOST_SHARES,
            )
            raise Refused(RefusalCode.TOO_MANY_SHARES, words.format(count=MOST_SHARES))
        return Share.objects.create(conversation=conversation, through=last)


def revoke_share(user: User, conversation_id: UUID, share_id: UUID) -> None:
    """Nobody can read the user's conversation by this link any more."""
    own = Conversation.objects.of(user).filter(pk=conversation_id)
    _revoke(Share.objects.filter(pk=share_id, conversation__in=own))


def revoke_all(conversation_ids: Collection[UUID]) -> int:
    """`revoke_share` for all links to some conversations, as when somebody else gets them; how many
    there were."""
    return _revoke(Share.objects.filter(conversation__in=conversation_ids))


def _revoke(shares: QuerySet[Share]) -> int:
    return shares.filter(revoked_at=None).update(revoked_at=timezone.now())


def end_before(message: Message) -> None:
    """Let the links that end with a message, which is about to be deleted, end with the one before
    it. Where there is none they go: without a last message a link shows the whole conversation."""
    ending = Share.objects.filter(through=message)
    if message.parent_id is None:
        ending.delete()
    else:
        ending.update(through=message.parent_id)
