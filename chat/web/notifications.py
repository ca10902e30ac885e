"""HTTP: the browsers that tell a person when an answer has ended, a section of the settings."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import get_language, gettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts import push
from accounts.browsers import describe_browser
from accounts.models import User
from chat.web.access import get_user, is_from_htmx
from chat.web.settings_frame import render_section

SECTION = "notifications"
Context = dict[str, Any]


def load_notifications(user: User) -> Context:
    is_offered = push.is_offered()
    return {
        "is_offered": is_offered,
        "key": push.public_key() if is_offered else "",
        "browsers": [
            (row, describe_browser(row.browser)) for row in push.list_subscriptions(user.pk)
        ],
    }


@login_required
@require_http_methods(["GET", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    """The section; POST stores that this browser is told."""
    user = get_user(request)
    if request.method == "GET":
        return render_section(request, SECTION, load_notifications(user))
    problem = _subscribe(request, user)
    if not problem and not is_from_htmx(request):
        return redirect("settings_section", SECTION)
    context = load_notifications(user) | {"problem": problem, "saved": not problem}
    return render_section(request, SECTION, context, status=422 if problem else 200)


def _subscribe(request: HttpRequest, user: User) -> str:
    """Why this browser cannot be told; "" where it is from now on."""
    try:
        push.subscribe(
            user,
            request.session.session_key or "",
            request.POST.dict(),
            browser=request.headers.get("User-Agent", ""),
            language=get_language() or "",
        )
    except push.Unusable:
        return gettext(
            "The push service of this browser is not one that this site asks. Its administrator "
            "can add it to PUSH_SERVICES."
        )
    except push.TooManyBrowsers:
        words = gettext("{most} browsers tell you already. Turn one of them off first.")
        return words.format(most=push.MOST_BROWSERS)
    return ""


@login_required
@require_POST
def notifications_end(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_user(request)
    if not push.unsubscribe(user.pk, pk):
        raise Http404
    if not is_from_htmx(request):
        return redirect("settings_section", SECTION)
    return render_section(request, SECTION, load_notifications(user) | {"removed": True})
