"""HTTP: the settings of a person, by section."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from accounts.preferences import change_preferences
from accounts.session_pages import describe_sessions
from accounts.tokens import (
    MOST_TOKENS,
    SCOPES,
    TooManyTokens,
    issue_token,
    list_tokens,
    revoke_token,
)
from chat.queries.readings import list_newest_readings
from chat.web.access import get_user, is_from_htmx, is_from_script
from chat.web.memory import load_memory
from chat.web.notifications import load_notifications
from chat.web.settings_forms import PreferencesForm, TokenForm
from chat.web.settings_frame import FIRST, render_section
from chat.web.usage import load_figures

Context = dict[str, Any]


@login_required
@require_GET
def settings(request: HttpRequest, section: str = "") -> HttpResponse:
    """The settings: the dialog where the chat asks, else a page."""
    load = _LOADERS.get(section or FIRST)
    if load is None:
        raise Http404
    context = load(request, get_user(request))
    return render_section(request, section or FIRST, context, is_chosen=bool(section))


# --- General --------------------------------------------------------------------------------------


def _load_general(request: HttpRequest, user: User) -> Context:
    return {"form": PreferencesForm(user)}


@login_required
@require_http_methods(["GET", "POST"])
def general(request: HttpRequest) -> HttpResponse:
    """The section; POST stores what was chosen. The page is loaded again where its language is
    another one then."""
    if request.method == "GET":
        return settings(request, "general")
    user = get_user(request)
    form = PreferencesForm(user, request.POST)
    if not form.is_valid():
        return render_section(request, "general", {"form": form}, status=422)
    changes = form.changes()
    is_other_language = changes.get("language", user.language) != user.language
    change_preferences(user, changes)
    if is_from_htmx(request) and is_other_language:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    if is_from_htmx(request):
        return render_section(request, "general", _load_general(request, user) | {"saved": True})
    return HttpResponse(status=204) if is_from_script(request) else _go_to("general")


# --- Access tokens --------------------------------------------------------------------------------


def _load_tokens(request: HttpRequest, user: User) -> Context:
    rows = list_tokens(user.pk)
    return {
        "form": TokenForm(),
        "tokens": [(row, [SCOPES[each] for each in row.scopes if each in SCOPES]) for row in rows],
        "now": timezone.now(),
    }


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
@sensitive_variables("token")
def tokens(request: HttpRequest) -> HttpResponse:
    """The section; POST makes an access token and shows it, this once."""
    if request.method == "GET":
        return settings(request, "tokens")
    user = get_user(request)
    form = TokenForm(request.POST)
    token = ""
    if form.is_valid():
        try:
            token = issue_token(user, **form.cleaned_data)
        except TooManyTokens:
            words = gettext("You have {most} tokens already. Revoke one first.")
            form.add_error(None, words.format(most=MOST_TOKENS))
    context = _load_tokens(request, user)
    context |= {"token": token} if token else {"form": form}
    return render_section(request, "tokens", context, status=200 if token else 422)


@login_required
@require_POST
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_user(request)
    if not revoke_token(user.pk, pk):
        raise Http404
    if not is_from_htmx(request):
        return _go_to("tokens")
    return render_section(request, "tokens", _load_tokens(request, user) | {"revoked": True})


# --- Others ---------------------------------------------------------------------------------------


def _load_memory(request: HttpRequest, user: User) -> Context:
    return load_memory(user)


def _load_notifications(request: HttpRequest, user: User) -> Context:
    return load_notifications(user)


def _load_sessions(request: HttpRequest, user: User) -> Context:
    return {"sessions": describe_sessions(request)}


def _load_security(request: HttpRequest, user: User) -> Context:
    kinds = Authenticator.objects.filter(user=user).values_list("type", flat=True)
    return {"has_password": user.has_usable_password(), "factors": Counter(kinds)}


def _load_usage(request: HttpRequest, user: User) -> Context:
    return load_figures(user)


def _load_data(request: HttpRequest, user: User) -> Context:
    return {"readings": list_newest_readings(user)}


def _go_to(section: str) -> HttpResponse:
    return redirect("settings_section", section)


_LOADERS: dict[str, Callable[[HttpRequest, User], Context]] = {
    "general": _load_general,
    "memory": _load_memory,
    "notifications": _load_notifications,
    "tokens": _load_tokens,
    "sessions": _load_sessions,
    "security": _load_security,
    "usage": _load_usage,
    "data": _load_data,
}
