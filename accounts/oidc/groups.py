"""The groups that a provider governs: whoever signs in by it is in those that its claim names."""

from typing import Any

import structlog
from allauth.account.signals import user_logged_in
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.signals import social_account_added
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.dispatch import receiver

from accounts.models import User
from accounts.oidc.claims import find_groups

log = structlog.get_logger(__name__)


@receiver(user_logged_in, dispatch_uid="accounts.oidc.groups.signed_in")
@receiver(social_account_added, dispatch_uid="accounts.oidc.groups.connected")
def on_signed_in(sociallogin: SocialLogin | None = None, **_: Any) -> None:
    if sociallogin:
        set_groups(sociallogin.user, sociallogin.account.extra_data)


def set_groups(user: User, claims: dict[str, Any]) -> None:
    """Put a person into the groups that the claim names, and out of the others that OIDC_GROUPS
    lists. All other groups stay. Groups that do not exist yet are made."""
    provider = settings.OPENID_PROVIDER
    if not (provider and provider.groups):
        return
    if provider.groups_claim not in claims:
        log.warning("the provider names no groups", claim=provider.groups_claim, user_id=user.pk)
    named = find_groups(claims, provider.groups_claim)
    wanted = {name for value, name in provider.groups.items() if value in named}
    with transaction.atomic():
        governed = user.groups.filter(name__in=provider.groups.values())
        has = set(governed.values_list("name", flat=True))
        user.groups.remove(*governed.exclude(name__in=wanted))
        user.groups.add(*(Group.objects.get_or_create(name=name)[0] for name in wanted - has))
