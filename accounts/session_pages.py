"""The page of the sessions in which somebody is signed in."""

from typing import Any

from allauth.account.internal.flows.logout import logout
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from accounts.browsers import describe_browser
from accounts.models import User
from accounts.sessions import end_other_sessions, end_session, list_sessions


@login_required
@require_GET
def sessions(request: HttpRequest) -> HttpResponse:
    """Where somebody is signed in."""
    context = {"sessions": describe_sessions(request)}
    return render(request, "usersessions/usersession_list.html", context)


def describe_sessions(request: HttpRequest) -> list[dict[str, Any]]:
    """Where the person who asks is signed in, this browser first. A session that began before the
    list was kept is noted here, when its own person looks."""
    current = request.session.session_key
    if not UserSession.objects.filter(session_key=current).exists():
        UserSession.objects.create_from_request(request)
    listed = [
        {
            "pk": each.pk,
            "browser": describe_browser(each.user_agent),
            "address": each.ip,
            "since": each.created_at,
            "is_current": each.session_key == current,
        }
        for each in list_sessions(_person(request))
    ]
    return sorted(listed, key=lambda each: not each["is_current"])


@login_required
@require_POST
def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """Sign out of one of them; of this one as the button “Sign out” does."""
    if UserSession.objects.filter(pk=pk, session_key=request.session.session_key).exists():
        logout(request)
        return redirect("account_login")
    if not end_session(_person(request), pk):
        raise Http404
    messages.success(request, gettext("That session is signed out."))
    return redirect("usersessions_list")


@login_required
@require_POST
def sessions_end_others(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere but here."""
    end_other_sessions(_person(request), request.session.session_key)
    messages.success(request, gettext("All other sessions are signed out."))
    return redirect("usersessions_list")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
