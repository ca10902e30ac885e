"""Who may make an account without an invitation, and what new people are given."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.signals import user_signed_up
from django.conf import settings
from django.contrib.auth.models import Group
from django.dispatch import receiver

from accounts.models import User


def may_sign_up(address: str) -> bool:
    """Whether SIGNUP lets somebody in who has this verified address, or none ("")."""
    if settings.SIGN_UP.who == "domain":
        return is_of_domain(address)
    return settings.SIGN_UP.who == "open"


def is_of_domain(address: str) -> bool:
    """Whether an address is of one of SIGNUP_DOMAINS. Their subdomains are others' domains."""
    return address.rpartition("@")[2].lower() in settings.SIGN_UP.domains


def has_address(address: str) -> bool:
    """Whether an account has an address, confirmed or only typed."""
    return (
        EmailAddress.objects.filter(email__iexact=address).exists()
        or User.objects.filter(email__iexact=address).exists()
    )


@receiver(user_signed_up, dispatch_uid="accounts.sign_up.put_into_group")
def put_into_group(user: User, **_: Any) -> None:
    """New people are in SIGNUP_GROUP, unless their invitation has put them into another one."""
    if settings.SIGN_UP.group and not user.groups.exists():
        user.groups.add(Group.objects.get_or_create(name=settings.SIGN_UP.group)[0])
