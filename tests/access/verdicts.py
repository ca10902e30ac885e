"""What an answer means for who has asked."""

from enum import StrEnum
from typing import Any

from asgiref.sync import async_to_sync
from django.urls import reverse


class Verdict(StrEnum):
    IN = "in"  # also where a form is wrong, or leads on
    SIGN_IN = "sign in"
    REFUSED = "refused"
    HIDDEN = "hidden"
    METHOD = "method"  # the address does not take it, whoever asks
    FAULT = "fault"


BY_STATUS = {403: Verdict.REFUSED, 404: Verdict.HIDDEN, 405: Verdict.METHOD}


def judge(response: Any) -> Verdict:
    if response.status_code >= 500:
        return Verdict.FAULT
    if _sends_to_sign_in(response):
        return Verdict.SIGN_IN
    return BY_STATUS.get(response.status_code, Verdict.IN)


def _sends_to_sign_in(response: Any) -> bool:
    """And back: what leads to that page without a way back, as signing out, is done. A program is
    told which token it needs."""
    if response.status_code == 401:
        return "WWW-Authenticate" in response
    page, _, query = response.get("Location", "").partition("?")
    return page in (reverse("account_login"), reverse("admin:login")) and "next=" in query


def read(response: Any) -> str:
    """What was sent, by whatever way."""
    if not response.streaming:
        sent = response.content
    elif response.is_async:
        sent = async_to_sync(_join)(response)
    else:
        sent = b"".join(response)
    return str(sent.decode(errors="replace"))


async def _join(response: Any) -> bytes:
    return b"".join([chunk async for chunk in response])


def list_possible(expected: Verdict, method: str) -> set[Verdict]:
    """A method that nobody may use tells nothing of the thing, but who is not signed in is sent to
    do that first. Where everybody has things of their own, those that are sent are not theirs."""
    possible = {expected}
    if expected != Verdict.SIGN_IN:
        possible.add(Verdict.METHOD)
    if expected == Verdict.IN and method != "GET":
        possible.add(Verdict.HIDDEN)
    return possible


def describe(response: Any, what: str, expected: Verdict) -> str:
    return f"{what}: {judge(response)} ({response.status_code}), not {expected}"
