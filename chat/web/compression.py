"""Which pages are compressed: those that hold nothing an attacker could add words to.

Who sees the size of a compressed page, and chooses words that stand in it, can find out a secret
in it, letter by letter (BREACH). docs/decisions/0011-pages-are-compressed.md says what is safe.
"""

import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any

import brotli
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.gzip import gzip_page

View = Callable[..., HttpResponse]

SHORTEST = 200  # bytes; what is shorter, as a redirect, is sent as it is
# The page of a conversation beside a list of a hundred others: 12.1 kB by gzip in 0.7 ms, 10.6 kB
# in 0.65 ms by this. Higher levels take longer, and from 7 on forty times so.
QUALITY = 5
MOST_PADDING = 100  # random bytes, as many as Django adds to what it compresses by gzip


def compress(view: View) -> View:
    """For views that show nothing of what the request says: by brotli, where the browser has it,
    which browsers say over HTTPS and to localhost, else by gzip."""
    by_gzip = gzip_page(view)

    @wraps(view)
    def compressing(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "br" not in request.headers.get("Accept-Encoding", "").replace(",", " ").split():
            return by_gzip(request, *args, **kwargs)
        response = view(request, *args, **kwargs)
        is_page = response["Content-Type"].startswith("text/html")  # the padding is a comment
        if not is_page or len(response.content) < SHORTEST:
            return response
        padding = f"<!--{secrets.token_hex(secrets.randbelow(MOST_PADDING + 1))}-->"
        response.content = brotli.compress(response.content + padding.encode(), quality=QUALITY)
        response["Content-Encoding"] = "br"
        patch_vary_headers(response, ["Accept-Encoding"])
        return response

    return compressing


def compress_without_query(view: View) -> View:
    """For views that show parts of the query: a link on another site can hold any words there."""
    compressing = compress(view)

    @wraps(view)
    def chosen(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return (view if request.GET else compressing)(request, *args, **kwargs)

    return chosen
