"""A word about a budget by mail is in the language of whom it goes to."""

from typing import Any

import pytest
from django.core import mail

from accounts.models import User
from chat.jobs.budget_mail import mail_budget_word
from spending.limits import forget_budgets
from spending.models import Budget
from tests.chat.factories import make_user
from tests.chat.pseudo import LANGUAGE, pseudo_language
from tests.spending.factories import make_call

pytestmark = pytest.mark.django_db


def test_mail_is_in_the_language_of_whom_it_goes_to(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LANGUAGES = [("en", "en"), (LANGUAGE, LANGUAGE)]
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    settings.EMAIL_HOST = "mail.example.org"
    for name, language in ("ada", LANGUAGE), ("grace", ""):
        user = make_user(name, admin=True)
        User.objects.filter(pk=user.pk).update(email=f"{name}@example.org", language=language)
    make_call("9", user=user)
    Budget.objects.create(period="month", unit="money", limit=10)
    forget_budgets()
    with pseudo_language(monkeypatch):
        mail_budget_word(None, "month", "money")
    forget_budgets()
    told = {sent.to[0]: sent.subject for sent in mail.outbox}
    assert told == {
        "ada@example.org": "⟦Everlong: the site's budget⟧",
        "grace@example.org": "Everlong: the site's budget",
    }
