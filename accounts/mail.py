"""Mail goes out."""

import structlog
from django.core.mail import EmailMessage

log = structlog.get_logger(__name__)


def send_or_log(message: EmailMessage) -> None:
    """Send a mail. Where that fails the log says so: nobody who could mend it waits for it."""
    try:
        message.send()
    except OSError as error:  # of which SMTP's are
        log.error("a mail was not sent", error=repr(error)[:500], next_step="Check EMAIL_URL.")
