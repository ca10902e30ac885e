"""What is so for every request below the API's address, before and after its views."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from accounts.doors import has_token_in_address, read_token
from chat.api.auth import bad_token, token_in_address
from chat.api.errors import respond, say

ROOT = "api/"  # below BASE_PATH; also of versions that do not exist
PAGES = ("docs", "openapi.json")  # of the API's addresses, what people open in a browser
KEPT = ("Allow", "Retry-After", "WWW-Authenticate")  # headers of a refusal

Respond = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def keep_to_form(get_response: Respond) -> Respond:
    """Middleware: below the API's address no cookie counts, who brings no token learns nothing, and
    whatever Django, a middleware or the router refuses has the form of the API's errors."""
    if not iscoroutinefunction(get_response):

        def answer(request: HttpRequest) -> HttpResponse:
            if not _is_of_program(request):
                return get_response(request)
            return _refuse(request) or _in_form(get_response(request))

        return answer

    async def answer_async(request: HttpRequest) -> HttpResponse:
        if not _is_of_program(request):
            return await get_response(request)
        return _refuse(request) or _in_form(await get_response(request))

    return answer_async


def _is_of_program(request: HttpRequest) -> bool:
    root = settings.BASE_PATH + ROOT
    if not request.path.startswith(root):
        return False
    _version, _, rest = request.path.removeprefix(root).partition("/")
    return rest.strip("/") not in PAGES


def _refuse(request: HttpRequest) -> HttpResponse | None:
    request.COOKIES = {}
    if read_token(request):
        return None
    return respond(token_in_address() if has_token_in_address(request) else bad_token())


def _in_form(response: HttpResponse) -> HttpResponse:
    is_json = response.get("Content-Type", "").startswith("application/json")
    if response.status_code < 400 or is_json:
        return response
    made = say(response.status_code)
    for name in KEPT:
        if name in response:
            made[name] = response[name]
    return made
