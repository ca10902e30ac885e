"""Numbers that no database takes, in every place where a request or a text can name one: an answer
in words, never a failure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import Resolver404, resolve

from accounts.models import User
from agent.audit.audit import audit
from agent.audit.evidence import Source, find_citations
from agent.messages import AgentMessage
from chat.admin.base import render_summary_html
from chat.models import Attachment, Compaction, Conversation, Memory, Message, Turn
from chat.services.summary import summaries
from tests.chat.addresses import templates
from tests.chat.factories import make_compaction, make_conversation, make_turn, make_user
from tests.chat.sockets import Chat

pytestmark = pytest.mark.on_both

HUGE = "9" * 30  # more than 64 bits
ENDLESS = "9" * 4_400  # more than Python reads
ODD = [HUGE, f"-{HUGE}", ENDLESS, str(2**31), str(2**63), "-1", "1.5", "1e400", "٣", "²", "\0", ""]
# What Django and Python make of these is the same whatever the database is.
READ_BEFORE = [f"-{HUGE}", "1.5", "1e400", "٣", "²", ""]
MESSAGES = ["before", "after", "around", "number"]
LISTS = ["p", "id", "id__exact", "pk__in", "_to_field", "no_such_field"]
IN_A_LIST = [HUGE, ENDLESS, f"-{HUGE}", str(2**31), "1.5", "\0"]
# None of them keeps a list from looking at the others.
TOGETHER = ["o", "q", "e", "all"]
# Of those that have such a field; to the others it is one more that does not exist.
FIELDS = ["number", "position__gt", "turn", "conversation", "owner", "status"]
FIELDS += ["created_at__gte", "created_at__year"]
CITING = f"## Overview\n\n- Photos go to disk A [#1 #{HUGE}] [#{ENDLESS}]\n- Again [#2–{HUGE}]"


@pytest.fixture
def admin_user(transactional_db: None) -> User:
    return make_user("root", admin=True)


@pytest.fixture
def browser(admin_user: User, settings: Any) -> Client:
    """Its owner is also an administrator, who sees every page."""
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"  # thousands of requests
    settings.MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
    client = Client(raise_request_exception=False)
    client.force_login(admin_user)
    return client


@pytest.fixture
def talk(admin_user: User) -> Conversation:
    talk = make_conversation(owner=admin_user, messages=6)
    make_compaction(talk)
    make_turn(talk, status=Turn.Status.COMPLETED)
    return talk


def of_this_database(values: Sequence[str]) -> list[str]:
    """All on SQLite; on PostgreSQL those that it may refuse itself."""
    return [each for each in values if connection.vendor == "sqlite" or each not in READ_BEFORE]


def leads_to_a_view(address: str) -> bool:
    try:
        return bool(resolve(address))
    except Resolver404:
        return False


def failures(responses: Iterator[tuple[str, Any]]) -> list[str]:
    return [
        f"{response.status_code} {what[:70]}"
        for what, response in responses
        if response.status_code >= 500
    ]


def test_no_number_in_an_address_fails(browser: Client, talk: Conversation) -> None:
    routes = [route for _, route in templates() if re.search("<(?!uuid:)", route)]
    assert len(routes) > 20, routes

    def ask() -> Iterator[tuple[str, Any]]:
        for odd in of_this_database(ODD):
            nowhere = False
            for route in routes:
                address = re.sub("<uuid:.+?>", str(talk.pk), route)
                address = re.sub("<.+?>", odd, address)
                if not leads_to_a_view(address):
                    if nowhere:
                        continue  # one address that is not found is like another
                    nowhere = True
                for method in ("get", "post"):
                    yield f"{method} {address}", getattr(browser, method)(address)

    assert failures(ask()) == []
    assert Conversation.objects.filter(pk=talk.pk).exists()


def test_no_number_in_a_query_of_the_chat_fails(browser: Client, talk: Conversation) -> None:
    page = f"/c/{talk.pk}/"

    def ask() -> Iterator[tuple[str, Any]]:
        for odd in of_this_database(ODD):
            for name in MESSAGES:
                yield f"{name}={odd}", browser.get(f"{page}messages/", {name: odd})
            both = {"after": odd, "number": odd}
            yield f"after={odd}&number=…", browser.get(f"{page}messages/", both)
            for address in ("/", "/sidebar/", page):
                query = {"count": odd, "q": odd, "current": odd, "archived": "1"}
                yield f"{address} {odd}", browser.get(address, query)

    assert failures(ask()) == []


def test_no_number_in_a_form_of_the_chat_fails(browser: Client, talk: Conversation) -> None:
    page = f"/c/{talk.pk}/"
    names = ("context_budget", "threshold", "keep_recent_messages", "summary_max_tokens")

    def ask() -> Iterator[tuple[str, Any]]:
        for odd in of_this_database(ODD):
            form = dict.fromkeys(names, odd) | {"system_prompt": "", "mcp": odd}
            yield f"settings {odd}", browser.post(f"{page}settings/", form)
            yield f"usage {odd}", browser.post(f"{page}usage/", {"budget": odd})
            files = {"text": "Hello", "attachments": [odd]}
            yield f"new chat {odd}", browser.post("/c/", files)

    assert failures(ask()) == []
    assert not Attachment.objects.exists()


@pytest.mark.parametrize("model", [m for m in admin.site._registry if m._meta.app_label != "auth"])
def test_no_number_in_a_query_of_the_admin_fails(
    browser: Client, talk: Conversation, model: Any
) -> None:
    address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    has = {field.name for field in model._meta.get_fields()}
    names = [*LISTS, *(each for each in FIELDS if each.partition("__")[0] in has)]
    actions = ["delete_selected", *admin.site._registry[model].actions]

    def ask() -> Iterator[tuple[str, Any]]:
        for odd in of_this_database(IN_A_LIST):
            for name in names:
                yield f"{address}?{name}={odd}", browser.get(address, {name: odd})
            yield f"{address}?…={odd}", browser.get(address, dict.fromkeys(TOGETHER, odd))
            for action in actions:
                chosen = {"action": action, "_selected_action": [odd], "index": odd}
                yield f"{address} {action} {odd}", browser.post(address, chosen)

    assert failures(ask()) == []


def test_a_summary_may_cite_any_number(browser: Client, talk: Conversation) -> None:
    current = Compaction.objects.get()
    response = browser.post(f"/c/{talk.pk}/summary/{current.pk}/edit/", {"text": CITING})
    assert response.status_code in (200, 204), response.content
    edited = Compaction.objects.latest("pk")
    assert edited.pk != current.pk
    for address in (f"/admin/chat/compaction/{edited.pk}/change/", f"/c/{talk.pk}/"):
        assert browser.get(address).status_code == 200
    html = render_summary_html(talk.pk, CITING)
    first = Message.objects.get(conversation=talk, number=1)
    assert f'<a href="/admin/chat/message/{first.pk}/change/">#1</a>' in html
    assert f"#{HUGE}" in html
    assert summaries.editable_text(edited)


def test_a_number_that_no_message_can_have_cites_none() -> None:
    assert find_citations(f"- Disk A [#1 #{HUGE}] [#{ENDLESS}]") == [1]
    source = Source([AgentMessage(1, "user", [{"type": "text", "text": "Photos: disk A"}], 5)])
    text, _ = audit(f"## Overview\n\n- Photos: disk A [#1 #{ENDLESS}]", source)
    assert "[#1]" in text


def test_memory_ids_of_any_size_are_not_found(browser: Client, admin_user: User) -> None:
    for odd in (HUGE, str(2**63), "0"):
        assert browser.post(f"/memories/{odd}/", {"text": "x"}).status_code == 404
    assert not Memory.objects.filter(owner=admin_user).exists()


@pytest.mark.parametrize("branch", [False, True])
async def test_no_number_in_a_frame_fails(chat: Chat, branch: bool) -> None:
    tab = await chat.open()
    for head in (10**30, 2**31, 2**63):
        tab.say("Hello", expected_head=head, as_branch=branch)
        assert (await tab.next("error"))["code"] == "head_changed"
    tab.send_raw(f'{{"type": "sync", "more": {ENDLESS}}}')
    assert (await tab.next("error"))["code"] == "bad_frame"
