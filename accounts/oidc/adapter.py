"""django-allauth's policy for people who come by a provider of identities."""

from typing import Any

import requests
import structlog
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import render

from accounts import invitations
from accounts.invitation_pages import show_invalid
from accounts.models import User
from accounts.oidc.failures import show_away
from accounts.oidc.http import ProxiedSession
from accounts.sign_up import has_address, may_sign_up

log = structlog.get_logger(__name__)


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    """Who comes by the provider signs in to the account that is linked to them, or else to the one
    whose verified address is theirs, or else makes one if that is allowed."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """The one provider of the settings; rows of the database are none."""
        known = settings.OPENID_PROVIDER
        if known is None:
            return []
        app = SocialApp(
            provider="openid_connect",
            provider_id=known.issuer,  # a person is an issuer's subject
            name=known.name,
            client_id=known.client_id,
            secret=known.secret,
            settings={
                "server_url": known.issuer.rstrip("/"),
                "scope": list(known.scopes),
                "oauth_pkce_enabled": True,
                "groups_claim": known.groups_claim,
            },
        )
        fits = provider in (None, app.provider, app.provider_id)
        return [app] if fits and client_id in (None, known.client_id) else []

    def get_requests_session(self) -> requests.Session:
        return ProxiedSession()

    def authenticate_by_email(self, sociallogin: SocialLogin) -> tuple[User, str] | None:
        """The account whose own verified address is the provider's. What an administrator typed
        into an account is no verified address. An account that the provider opens for one person
        it opens for no other: an address may have been given to a successor."""
        known = SocialAccount.objects.filter(provider=sociallogin.account.provider)
        for address in sociallogin.email_addresses:
            found = EmailAddress.objects.filter(email=address.email, verified=True)
            free = found.exclude(user__in=known.values("user"))
            if address.verified and (owner := free.select_related("user").first()):
                return owner.user, address.email
        return None

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse a second account with an address that one has, but nobody has confirmed."""
        is_new = not sociallogin.is_existing and sociallogin.state.get("process") != "connect"
        if is_new and any(has_address(each.email) for each in sociallogin.email_addresses):
            raise ImmediateHttpResponse(
                render(request, "socialaccount/address_taken.html", status=409)
            )

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        if isinstance(exception, requests.RequestException):
            raise ImmediateHttpResponse(show_away(request, exception))
        if exception:
            log.warning("a sign-in by the provider failed", error=repr(exception)[:500])

    def is_auto_signup_allowed(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return True  # nothing is left to ask

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        address = self._address_of(sociallogin)
        return invitations.find_pending(request, address) is not None or may_sign_up(address)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        invitation = invitations.find_pending(request, self._address_of(sociallogin))
        try:
            with transaction.atomic():
                user: User = super().save_user(request, sociallogin, form)
                if invitation:
                    invitations.claim(invitation, user)
        except invitations.InvitationInvalid:  # Somebody else was faster.
            raise ImmediateHttpResponse(show_invalid(request)) from None
        invitations.forget_pending(request)
        return user

    @staticmethod
    def _address_of(sociallogin: SocialLogin) -> str:
        """The verified one, or ""."""
        return next((each.email for each in sociallogin.email_addresses if each.verified), "")
