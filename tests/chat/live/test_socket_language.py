"""What arrives over the socket is in the language of its page, whoever makes it."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from chat.db.threads import in_db
from chat.protocol.language import choose_language
from demo.api.script import is_chat
from tests.chat.pseudo import LANGUAGE, pseudo_language
from tests.chat.sockets import SUMMARY, Chat, long_text


@pytest.fixture(autouse=True)
def two_languages(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    settings.LANGUAGES = [("en", "en"), (LANGUAGE, LANGUAGE)]
    with pseudo_language(monkeypatch):
        yield


async def choose(chat: Chat) -> None:
    await in_db(User.objects.filter(pk=chat.user.pk).update, language=LANGUAGE)


async def test_an_answer_and_a_refusal_are_in_the_accounts_language(chat: Chat) -> None:
    await choose(chat)
    chat.script.reply("The Mur.", when=is_chat)
    tab = await chat.open()
    tab.say("Which river?")
    created = await tab.next("message.created")
    assert "⟦" in created["html"]
    finished = await tab.next("turn.finished")
    assert "⟦" in finished["html"]
    tab.send("compact.cancel")
    assert (await tab.next("error"))["message"].startswith("⟦")


async def test_without_a_choice_the_socket_speaks_the_sites_language(chat: Chat) -> None:
    chat.script.reply("The Mur.", when=is_chat)
    tab = await chat.open()
    tab.say("Which river?")
    assert "⟦" not in (await tab.next("turn.finished"))["html"]


@pytest.mark.usefixtures("worker")
async def test_a_divider_that_a_worker_draws_is_in_the_accounts_language(chat: Chat) -> None:
    await choose(chat)
    await chat.start([long_text(number) for number in range(1, 7)])
    chat.script.reply(SUMMARY)
    tab = await chat.open()
    tab.send("compact")
    completed = await tab.next("CompressionCompleted")
    assert completed["success"]
    assert "⟦" in completed["html"]


@pytest.mark.parametrize(
    ("chosen", "accepted", "spoken"),
    [
        ("", "", "en"),
        ("", LANGUAGE, LANGUAGE),
        ("", f"fr, {LANGUAGE};q=0.5", LANGUAGE),
        ("en", LANGUAGE, "en"),
        (LANGUAGE, "en", LANGUAGE),
        ("xx", LANGUAGE, LANGUAGE),
    ],
)
def test_the_account_comes_before_the_browser(chosen: str, accepted: str, spoken: str) -> None:
    headers = [(b"host", b"testserver"), (b"accept-language", accepted.encode())]
    scope = {"user": User(language=chosen), "cookies": {}, "headers": headers}
    assert choose_language(scope) == spoken


def test_a_browser_that_names_no_language_gets_the_sites() -> None:
    assert choose_language({"user": User(), "cookies": {}, "headers": []}) == "en"
