"""The page of an invitation."""

from allauth.decorators import rate_limit
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.forms import NewAccountForm
from accounts.invitations import InvitationInvalid, accept, find_valid, remember_pending
from accounts.sessions import sign_in


@rate_limit(action="invitation")
@never_cache
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Make an account by a link, here or by the provider of identities, and sign its owner in."""
    found = find_valid(token)
    if found is None:
        return show_invalid(request)
    if request.user.is_authenticated:
        return render(request, "accounts/invitation_not_needed.html")
    form = NewAccountForm(request.POST or None)
    try:
        if form.is_valid():
            user = accept(found, form.cleaned_data["username"], form.cleaned_data["password1"])
            sign_in(request, user)
            return redirect("home")
    except InvitationInvalid:  # Somebody else was faster: with this link,
        return show_invalid(request)
    except IntegrityError:  # or with the name.
        form.add_error("username", gettext("A user with that username already exists."))
    remember_pending(request, found)
    return render(request, "accounts/invitation.html", {"form": form})


def show_invalid(request: HttpRequest) -> HttpResponse:
    """The page for a link that was used, revoked or never was valid: 404."""
    return render(request, "accounts/invitation_invalid.html", status=404)
