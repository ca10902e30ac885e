"""What a sign-in passes through."""

from allauth.account.models import EmailAddress
from allauth.account.stages import EmailVerificationStage
from django.http import HttpResponse


class ConfirmAddressStage(EmailVerificationStage):
    """Who signed themselves up confirms their address before they are let in for the first time.

    Accounts that an administrator or an invitation made have no address of django-allauth's, and
    who has been in before is not locked out for an address that they add.
    """

    def handle(self) -> tuple[HttpResponse | None, bool]:
        user = self.login.user
        if user and (user.last_login or not EmailAddress.objects.filter(user=user).exists()):
            return None, True
        answer: tuple[HttpResponse | None, bool] = super().handle()
        return answer
