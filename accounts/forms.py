"""The forms of the first-run page, of invitations, and of sign-in and sign-up."""

from typing import Any

from allauth.account.forms import ChangePasswordForm as AllauthChangePasswordForm
from allauth.account.forms import LoginForm as AllauthLoginForm
from allauth.account.forms import ReauthenticateForm as AllauthReauthenticateForm
from allauth.account.forms import SignupForm as AllauthSignUpForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms
from django.conf import settings
from django.contrib.auth.forms import UserCreationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from accounts.models import User
from accounts.sign_up import is_of_domain


class NewAccountForm(UserCreationForm):
    """`username`, `password1`, `password2`, checked by the password validators of the settings. No
    two names differ only in their capitals: whoever signs in may write them as they like.

    It only validates: `accounts.services.claim_setup_link` and `accounts.invitations.accept` create
    the account.
    """

    class Meta:
        model = User
        fields = ("username",)


class PlainPasswordsMixin:
    """Without the link below a password that leads to a new one: without mail there is none, and
    where there is, the sign-in page has it."""

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"password", "oldpassword"} & self.fields.keys():
            self.fields[name].help_text = ""


class LoginForm(PlainPasswordsMixin, AllauthLoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login = self.fields["login"]
        login.label = gettext_lazy("Username or email address")
        login.widget.attrs = {"autocomplete": "username", "autocapitalize": "none"}
        self.fields["password"].widget.attrs.pop("placeholder", None)
        self.fields["remember"].label = gettext_lazy("Stay signed in")


class ReauthenticateForm(PlainPasswordsMixin, AllauthReauthenticateForm):
    pass


class ChangePasswordForm(PlainPasswordsMixin, AllauthChangePasswordForm):
    pass


class AddPasskeyForm(AddWebAuthnForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        alone = self.fields["passwordless"]
        alone.label = gettext_lazy("Sign in with it alone, without the password")
        alone.help_text = gettext_lazy("It then asks for your fingerprint, your face or a PIN.")
        alone.initial = True


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
