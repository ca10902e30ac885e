"""What a share shows, to whoever has its link."""

from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL

from accounts.models import User
from chat.models import Attachment, Conversation, Message, Share

# Every message on the way from the first one to the one that a share ends with.
_WAY = """
    WITH RECURSIVE way(id, parent_id) AS (
        SELECT id, parent_id FROM chat_message WHERE id = %s
        UNION ALL
        SELECT m.id, m.parent_id FROM chat_message m JOIN way ON m.id = way.parent_id
    )
    SELECT id FROM way
"""


def find_share(share_id: UUID) -> Share | None:
    """A share that may be read: not revoked, of a conversation that is there, and whose owner may
    sign in. With its conversation and the owner."""
    shares = Share.objects.select_related("conversation__owner")
    return shares.filter(
        pk=share_id,
        revoked_at=None,
        conversation__deleted_at=None,
        conversation__owner__is_active=True,
    ).first()


def select_shown(share: Share) -> QuerySet[Message]:
    """The messages that a share shows, by number, without one that is still being written and those
    that are left out of the context: the shown branch, or the way to its last message, on whatever
    branch that is."""
    rows = Message.objects.filter(conversation=share.conversation_id, left_out=False)
    if share.through_id is None:
        rows = rows.filter(active=True)
    else:
        rows = rows.filter(pk__in=RawSQL(_WAY, [share.through_id]))
    return rows.exclude(status=Message.Status.STREAMING).order_by("number")


def find_shown_file(share: Share, attachment_id: UUID) -> Attachment | None:
    """A file that was sent with a message which the share shows."""
    owned = Attachment.objects.filter(owner=share.conversation.owner_id, pk=attachment_id)
    return owned.filter(Exists(select_shown(share).filter(attachments=OuterRef("pk")))).first()


def list_shares(conversation: Conversation) -> list[Share]:
    """The links by which a conversation can be read, the newest first, each with its last
    message."""
    live = conversation.shares.filter(revoked_at=None)
    return list(live.select_related("through").order_by("-created_at"))


def load_conversation_with_mark(user: User, conversation_id: UUID) -> Conversation:
    """The user's own conversation, with `is_shared`: whether there is a link to it; where the site
    is connected to Slack also with its thread. Conversation.DoesNotExist for anybody else's."""
    live = Share.objects.filter(conversation=OuterRef("pk"), revoked_at=None)
    rows = Conversation.objects.of(user).annotate(is_shared=Exists(live))
    if settings.SLACK:
        rows = rows.select_related("slack_thread")
    return rows.get(pk=conversation_id)
