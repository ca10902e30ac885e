"""What a signed-in person's pages need of every request and response."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext

from accounts.preferences import speak_chosen_language
from accounts.second_factor import must_add_factor

OWNER_HEADER, OWNER_FIELD = "X-Page-User", "page_user"  # static/js/base/session.js sends them
# A page may be kept for Back, which its script covers after a sign-out; all else is kept nowhere.
OF_PAGES, OF_THE_REST = "private, no-cache", "private, no-store"


@receiver(user_logged_out, dispatch_uid="accounts.middleware.note_sign_out")
def note_sign_out(request: HttpRequest, **_: object) -> None:
    """Give the token of forms a new value, as each sign-in does: by that the pages of the other
    tabs see that somebody else may be signed in."""
    rotate_token(request)
    request.has_signed_out = True  # type: ignore[attr-defined]


def is_scripted(request: HttpRequest) -> bool:
    """Whether a script has sent it: its answer is words, not a page."""
    return "x-requested-with" in request.headers or "hx-request" in request.headers


def explain_other_user(request: HttpRequest) -> str:
    """Why a page of one person does nothing while another one is signed in."""
    return gettext(
        "This page belongs to somebody else: {name} is signed in in this browser now. Nothing was "
        "sent, and nothing that was typed is lost."
    ).format(name=request.user.get_username())


class PrivatePagesMiddleware(MiddlewareMixin):
    """Keeps what one person's page sends from another one's account, and answers out of caches."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], *_: Any
    ) -> HttpResponse | None:
        """401 where the page is not of the person who is signed in. Of nobody's, the view tells.
        What is told from here on is in the language that the person has chosen."""
        speak_chosen_language(request)
        signed_in = request.session.get(SESSION_KEY)
        if not signed_in:  # a program's body is not read here: its view may want it whole
            return None
        owner = request.headers.get(OWNER_HEADER) or request.POST.get(OWNER_FIELD)
        if not owner or owner == signed_in or not request.user.is_authenticated:
            return None
        words = explain_other_user(request)
        if is_scripted(request):
            return HttpResponse(words, status=401, content_type="text/plain; charset=utf-8")
        return render(request, "accounts/other_user.html", {"words": words}, status=401)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_page = (
            response.get("Content-Type", "").startswith("text/html")
            and not is_scripted(request)
            and "Content-Disposition" not in response
        )
        response.setdefault("Cache-Control", OF_PAGES if is_page else OF_THE_REST)
        if getattr(request, "has_signed_out", False):
            response["Clear-Site-Data"] = '"cache"'  # browsers heed it on https and localhost
        return response


class SecondFactorMiddleware(MiddlewareMixin):
    """Lets who lacks a second factor that is asked of them do nothing but add one."""

    # Besides all of `allauth.mfa`, which is about second factors alone.
    ALLOWED = frozenset({"account_logout", "account_reauthenticate", "session"})

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], *_: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        # With what it is included in: the administration has pages of the same names.
        name = (match and match.view_name) or ""
        is_allowed = name in self.ALLOWED or name.startswith("mfa_")
        if is_allowed or not must_add_factor(request):
            return None
        if is_scripted(request):
            words = gettext("Your account needs a second factor first. Load the page again.")
            return HttpResponse(words, status=403, content_type="text/plain; charset=utf-8")
        return redirect("mfa_index")
