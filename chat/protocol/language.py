"""In which language a socket speaks."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import get_language_from_request

from accounts.preferences import find_language


def choose_language(scope: dict[str, Any]) -> str:
    """The language of a socket's page: the one that its person has chosen, or else the browser's.
    `scope` is that of ASGI, with `user` and `cookies`."""
    request = HttpRequest()
    request.COOKIES = scope["cookies"]
    headers = dict(scope["headers"])
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language", b"").decode("latin-1")
    return find_language(scope["user"]) or get_language_from_request(request)
