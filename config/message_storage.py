"""Where a message waits for the next page."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class NamedCookieStorage(CookieStorage):
    """In a cookie with a name of this site's own, as its other cookies have."""

    cookie_name = settings.MESSAGE_COOKIE_NAME


class MessageStorage(FallbackStorage):
    """In that cookie, or in the session if it is too long for one."""

    storage_classes = (NamedCookieStorage, SessionStorage)
