"""Who reads the API's document, and the page that shows it: people who are signed in, and programs
with any good token. It says nothing of anybody, but a stranger need not know what there is."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse

from accounts.doors import read_token
from accounts.tokens import ANY_SCOPE
from chat.api.auth import let_in
from chat.api.errors import ApiError, respond

View = Callable[..., HttpResponse]


def let_readers_in(view: View) -> View:
    """`login_required`, or an access token."""
    for_people = login_required(view)

    @wraps(view)
    def enter(request: HttpRequest, **named: Any) -> HttpResponse:
        if not read_token(request):
            return for_people(request, **named)
        try:
            let_in(request, ANY_SCOPE)
        except ApiError as error:
            return respond(error)
        return view(request, **named)

    return enter
