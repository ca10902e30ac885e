"""The form of the first-run page."""

from django.contrib.auth.forms import BaseUserCreationForm

from accounts.models import User


class SetupForm(BaseUserCreationForm):
    """`username`, `password1`, `password2`, checked by the password validators of the settings.

    It only validates: `accounts.services.claim_setup_link` creates the account.
    """

    class Meta:
        model = User
        fields = ("username",)
