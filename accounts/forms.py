"""The forms of the first-run page, of invitations, and of sign-in and sign-up."""

from typing import Any

from allauth.account.forms import LoginForm as AllauthLoginForm
from allauth.account.forms import SignupForm as AllauthSignUpForm
from django.conf import settings
from django.contrib.auth.forms import BaseUserCreationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from accounts.models import User
from accounts.sign_up import is_of_domain


class NewAccountForm(BaseUserCreationForm):
    """`username`, `password1`, `password2`, checked by the password validators of the settings.

    It only validates: `accounts.services.claim_setup_link` and `accounts.invitations.accept` create
    the account.
    """

    class Meta:
        model = User
        fields = ("username",)


class LoginForm(AllauthLoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, password = self.fields["login"], self.fields["password"]
        login.label = gettext_lazy("Username or email address")
        login.widget.attrs = {"autocomplete": "username", "autocapitalize": "none"}
        password.widget.attrs.pop("placeholder", None)
        password.help_text = ""  # the page has the link, where there is mail


class SignUpForm(AllauthSignUpForm):
    """Address and password: the name follows from the address."""

    def clean_email(self) -> str:
        address: str = super().clean_email()
        if settings.SIGN_UP.who == "domain" and not is_of_domain(address):
            raise ValidationError(
                gettext("Only addresses of these domains can sign up: {domains}.").format(
                    domains=", ".join(sorted(settings.SIGN_UP.domains))
                )
            )
        return address
