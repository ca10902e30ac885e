"""First-run set-up. Sign-in, sign-out and password change are django-allauth's."""

from functools import partial
from typing import Any

from allauth.decorators import rate_limit
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from accounts.forms import NewAccountForm
from accounts.middleware import explain_other_user
from accounts.second_factor import must_add_factor
from accounts.services import (
    SetupLinkInvalid,
    claim_setup_link,
    is_new_site,
    is_setup_link_valid,
)
from accounts.sessions import sign_in


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: asked only where the page does."""
    return {
        "is_new_site": is_new_site,
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "has_mail": bool(settings.MAIL),
        "has_sign_up": settings.SIGN_UP.who != "closed",
        "openid_provider": settings.OPENID_PROVIDER,
        "must_add_factor": partial(must_add_factor, request),
    }


@rate_limit(action="setup")
@never_cache
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """Create the administrator from the link that the server printed, and sign them in."""
    if not is_setup_link_valid(token):
        return setup_invalid(request)
    form = NewAccountForm(request.POST or None)
    if not form.is_valid():
        return render(request, "accounts/setup.html", {"form": form})
    try:
        user = claim_setup_link(
            token, form.cleaned_data["username"], form.cleaned_data["password1"]
        )
    except SetupLinkInvalid:  # Somebody else was faster.
        return setup_invalid(request)
    sign_in(request, user)
    return redirect("home")


@never_cache
@require_GET
def session(request: HttpRequest) -> JsonResponse:
    """Who is signed in in the browser that asks: `user`, the id as text, "" for nobody; `token` for
    what it sends next; `words` for a page of somebody else."""
    if request.user.is_authenticated:
        user, words = str(request.user.pk), explain_other_user(request)
    else:
        user, words = "", gettext("You were signed out. Nothing that you typed is lost.")
    return JsonResponse({"user": user, "token": get_token(request), "words": words})


def too_many_attempts(request: HttpRequest) -> HttpResponse:
    """The page for every rate limit of django-allauth: they last a minute."""
    response = render(request, "429.html", status=429)
    response["Retry-After"] = "60"
    return response


def setup_invalid(request: HttpRequest) -> HttpResponse:
    """The page for a link that was used, was replaced or never was valid: 404."""
    return render(request, "accounts/setup_invalid.html", status=404)
