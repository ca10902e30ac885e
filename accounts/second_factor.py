"""Second factors: whether one is asked of somebody, and whether they have it.

REQUIRE_SECOND_FACTOR asks it of operators and administrators ("staff") or of all. Who has none yet
can sign in, and only add one. A provider's own second factor is not known here and does not count.
"""

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

from accounts.kept import Kept
from accounts.models import User

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

_has_factor: Kept[int, bool] = Kept()  # by person


def is_required_of(user: User) -> bool:
    """Whether the settings ask a second factor of somebody."""
    if settings.REQUIRE_SECOND_FACTOR == "staff":
        return user.is_staff
    return settings.REQUIRE_SECOND_FACTOR == "all"


def is_missed_by(user: User) -> bool:
    """Whether a second factor is asked of somebody who has none."""
    if not is_required_of(user):
        return False
    return not _has_factor.load(user.pk, lambda: _find_factor(user))


def _find_factor(user: User) -> bool:
    return Authenticator.objects.filter(user=user, type__in=FACTORS).exists()


def must_add_factor(request: HttpRequest) -> bool:
    """`is_missed_by` the person who asks. Where it is asked of nobody, they are not even read."""
    if not settings.REQUIRE_SECOND_FACTOR:
        return False
    return request.user.is_authenticated and is_missed_by(request.user)


@receiver([post_save, post_delete], sender=Authenticator, dispatch_uid="accounts.second_factor")
def forget(instance: Authenticator, **_: Any) -> None:
    _has_factor.forget(instance.user_id)


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
