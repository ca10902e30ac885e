"""django-allauth's policy for this site."""

import threading
from typing import Any

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from accounts.mail import send_or_log

log = structlog.get_logger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by the set-up link, the administrator and by invitations; nobody signs
    themselves up unless SIGNUP says so.

    Failed attempts count for an account and a client together: whoever guesses at somebody's
    password locks nobody out but themselves.
    """

    error_messages = DefaultAccountAdapter.error_messages | {
        "too_many_login_attempts": gettext_lazy(
            "Too many failed attempts to sign in from here. Try again in five minutes."
        )
    }
    _proxy_named = False  # whether the log has the advice about proxies

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """By the form, which mails a link: where there is no mail, the provider is the only way."""
        return settings.SIGN_UP.who != "closed" and bool(settings.MAIL)

    def get_login_stages(self) -> list[str]:
        ours = {
            "allauth.account.stages.EmailVerificationStage": "accounts.stages.ConfirmAddressStage"
        }
        return [ours.get(stage, stage) for stage in super().get_login_stages()]

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """In a thread: a page takes as long for an address that nobody has, and does not fail with
        the mail server."""
        if not settings.MAIL:
            return
        site = RequestSite(self.request)
        details = {"request": self.request, "email": email, "current_site": site}
        message = self.render_mail(template_prefix, email, details | context)
        threading.Thread(target=send_or_log, args=(message,), name="mail").start()

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the limits apply to: the peer's, or the one that the outermost of
        TRUSTED_PROXIES saw. What a client itself writes into X-Forwarded-For does not count."""
        if not settings.ALLAUTH_TRUSTED_PROXY_COUNT and "X-Forwarded-For" in request.headers:
            self._advise()
        try:
            return super().get_client_ip(request)
        except (ImproperlyConfigured, PermissionDenied) as error:
            log.warning("X-Forwarded-For does not fit TRUSTED_PROXIES", reason=str(error))
            return str(request.META["REMOTE_ADDR"])

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{get_ip(request)}"

    @classmethod
    def _advise(cls) -> None:
        if not cls._proxy_named:
            cls._proxy_named = True
            log.warning(
                "a proxy is in front, and sign-in limits count all its clients as one",
                next_step="Set TRUSTED_PROXIES to the number of your proxies.",
            )
