"""The way to the provider of identities and back."""

from collections.abc import Callable

from allauth.decorators import rate_limit
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from requests import RequestException

from accounts.oidc.failures import show_away
from accounts.oidc.provider import OpenIdAdapter


@rate_limit(action="login")
@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider. A page that was merely opened asks first."""
    return _converse(request, OAuth2LoginView.adapter_view)


@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Where the provider sends it back to."""
    return _converse(request, OAuth2CallbackView.adapter_view)


def _converse(
    request: HttpRequest, make_view: Callable[[OpenIdAdapter], Callable[..., HttpResponse]]
) -> HttpResponse:
    provider = settings.OPENID_PROVIDER
    if not provider:
        raise Http404
    try:
        return make_view(OpenIdAdapter(request, provider.issuer))(request)
    except (OAuth2Error, RequestException) as error:
        return show_away(request, error)
