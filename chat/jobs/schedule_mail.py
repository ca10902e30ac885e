"""Mail about a scheduled prompt that rests, because it failed too often."""

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.translation import gettext

from accounts.mail import send_or_log
from accounts.preferences import speaking_to
from agent.context.shortening.text_previews import shorten_text
from chat.models import ScheduledPrompt

QUOTED = 200  # characters of the prompt


def mail_rest(scheduled_id: int) -> None:
    """Write to its owner why nothing is sent any more, and what to do. Where no mail server is
    configured, nothing is sent: the dialog says it."""
    rows = ScheduledPrompt.objects.select_related("conversation__owner")
    row = rows.filter(pk=scheduled_id).first()
    if row is None or not settings.MAIL:
        return
    owner = row.conversation.owner
    if not owner.email or not owner.is_active:
        return
    with speaking_to(owner.pk):
        body = gettext(
            "A scheduled prompt in “{title}” failed {failures} times in a row, and rests now:\n\n"
            "{text}\n\nThe last time: {problem}\n\nOpen the chat’s menu, “Scheduled prompts…”, to "
            "change it or to let it go on."
        ).format(
            title=row.conversation,
            failures=row.failures,
            text=shorten_text(row.text, QUOTED),
            problem=row.problem,
        )
        subject = gettext("Everlong: a scheduled prompt rests")
        send_or_log(EmailMessage(subject, body, to=[owner.email]))
