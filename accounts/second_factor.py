"""Second factors: whether one is asked of somebody, and whether they have it.

REQUIRE_SECOND_FACTOR asks it of operators and administrators ("staff") or of all. Who has none yet
can sign in, and only add one. A provider's own second factor is not known here and does not count.
"""

from time import monotonic
from typing import Any

from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.translation import gettext

from accounts.models import User
from accounts.policies import KEPT_SECONDS

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

# Until when (monotonic, in seconds) it is known of a person whether they have a second factor.
_known: dict[int, tuple[float, bool]] = {}


def is_required_of(user: User) -> bool:
    """Whether the settings ask a second factor of somebody."""
    if settings.REQUIRE_SECOND_FACTOR == "staff":
        return user.is_staff
    return settings.REQUIRE_SECOND_FACTOR == "all"


def is_missed_by(user: User) -> bool:
    """Whether a second factor is asked of somebody who has none. What this process was told within
    two seconds is not asked again."""
    if not is_required_of(user):
        return False
    until, has_factor = _known.get(user.pk, (0.0, False))
    if until < monotonic():
        has_factor = Authenticator.objects.filter(user=user, type__in=FACTORS).exists()
        _known[user.pk] = monotonic() + KEPT_SECONDS, has_factor
    return not has_factor


def must_add_factor(request: HttpRequest) -> bool:
    """`is_missed_by` the person who asks. Where it is asked of nobody, they are not even read."""
    if not settings.REQUIRE_SECOND_FACTOR:
        return False
    return request.user.is_authenticated and is_missed_by(request.user)


@receiver([post_save, post_delete], sender=Authenticator, dispatch_uid="accounts.second_factor")
def forget(instance: Authenticator, **_: Any) -> None:
    _known.pop(instance.user_id, None)


class SecondFactorAdapter(DefaultMFAAdapter):
    """django-allauth's policy for second factors."""

    def get_totp_issuer(self) -> str:
        return f"Everlong {context.request.get_host()}"

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Not the last one of somebody of whom one is asked."""
        others = Authenticator.objects.filter(user=authenticator.user, type__in=FACTORS)
        has_another = others.exclude(pk=authenticator.pk).exists()
        is_factor = authenticator.type in FACTORS
        return has_another or not (is_factor and is_required_of(authenticator.user))

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return (
            gettext("Passkey") if number == 1 else gettext("Passkey {number}").format(number=number)
        )
