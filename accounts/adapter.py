"""django-allauth's policy for this site."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by the set-up link and the administrator; nobody signs themselves up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
