"""Which pages are compressed: those that hold nothing an attacker could add words to.

Who sees the size of a compressed page, and chooses words that stand in it, can find out a secret
in it, letter by letter (BREACH). docs/decisions/0011-pages-are-compressed.md says what is safe.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page

View = Callable[..., HttpResponse]

# For views that show nothing of what the request says. Django adds up to 100 random bytes.
compress = gzip_page


def compress_without_query(view: View) -> View:
    """For views that show parts of the query: a link on another site can hold any words there."""
    compressing = compress(view)

    @wraps(view)
    def chosen(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return (view if request.GET else compressing)(request, *args, **kwargs)

    return chosen
