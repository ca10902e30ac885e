"""A push for an answer that has ended, to the browsers of its person that asked for it."""

from uuid import UUID

import structlog
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext

from accounts import push
from accounts.models import PushSubscription
from accounts.preferences import find_language
from chat import metrics
from chat.models import Conversation

log = structlog.get_logger(__name__)

MOST_OF_A_TITLE = 100  # characters


def push_answer(conversation_id: UUID, *, failed: bool) -> None:
    """Tell that an answer is there, with the conversation's title and nothing of what was said. A
    browser that shows the conversation at this moment says nothing; only it knows."""
    conversation = (
        Conversation.objects.select_related("owner")
        .filter(pk=conversation_id, owner__is_active=True)
        .first()
    )
    if conversation is None or not push.is_offered():
        return
    for subscription in push.load_told(conversation.owner_id):
        payload = _write(conversation, subscription, failed=failed)
        outcome = push.send(subscription, payload, conversation_id.hex)
        metrics.PUSHES.labels(outcome.value).inc()


def _write(
    conversation: Conversation, subscription: PushSubscription, *, failed: bool
) -> dict[str, str]:
    language = find_language(conversation.owner) or subscription.language or settings.LANGUAGE_CODE
    with translation.override(language):
        return {
            "title": str(conversation)[:MOST_OF_A_TITLE],
            "body": gettext("The answer failed.") if failed else gettext("The answer is ready."),
            "url": reverse("conversation", args=[conversation.pk]),
            "icon": static("app_icons/192.png"),
            "badge": static("app_icons/badge-96.png"),
        }
