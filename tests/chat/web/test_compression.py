"""Compressed pages: which, and what must never be in one."""

import gzip
import re
from collections.abc import Callable

import brotli
import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from chat.models import Conversation
from chat.web.compression import compress
from tests.chat.factories import add_messages

WORDS = [f"The words of message {number}." for number in range(30)]
PAGES = 5
encodings = pytest.mark.parametrize(
    ("accepted", "encoding", "decompress"),
    [("gzip, deflate, br", "br", brotli.decompress), ("gzip, deflate", "gzip", gzip.decompress)],
)


@pytest.fixture
def client(user: User) -> Client:
    made = Client(headers={"Accept-Encoding": "gzip, deflate, br"})
    made.force_login(user)
    return made


@encodings
def test_a_conversation_is_sent_in_a_fraction_of_its_size(
    client: Client,
    conversation: Conversation,
    accepted: str,
    encoding: str,
    decompress: Callable[[bytes], bytes],
) -> None:
    add_messages(conversation, WORDS)
    page = client.get(conversation.get_absolute_url(), headers={"Accept-Encoding": accepted})
    assert page["Content-Encoding"] == encoding
    assert page["Vary"].count("Accept-Encoding") == 1
    assert len(page.content) == int(page["Content-Length"])
    html = decompress(page.content)
    assert html.count(b"<article") == 20
    assert len(page.content) < len(html) / 5


@pytest.mark.parametrize("query", ["", "?before=20"])
def test_a_part_of_the_transcript_is_compressed(
    client: Client, conversation: Conversation, query: str
) -> None:
    add_messages(conversation, WORDS)
    part = client.get(reverse("messages", args=[conversation.pk]) + query)
    assert b"<article" in brotli.decompress(part.content)


@pytest.mark.parametrize("accepted", ["br", "gzip"])
def test_the_size_of_a_compressed_page_says_little_of_what_is_in_it(
    client: Client, conversation: Conversation, accepted: str
) -> None:
    """Twenty times the same words: but for what is random there would be one size."""
    url = reverse("messages", args=[conversation.pk])
    add_messages(conversation, WORDS)
    sizes = {len(client.get(url, headers={"Accept-Encoding": accepted}).content) for _ in range(20)}
    assert len(sizes) > 4


def test_who_reads_neither_gets_plain_html(user: User, conversation: Conversation) -> None:
    plain = Client()
    plain.force_login(user)
    page = plain.get(conversation.get_absolute_url())
    assert "Content-Encoding" not in page
    assert b"</html>" in page.content


@pytest.mark.parametrize("query", ["q=secret", "count=7", "anything=else"])
def test_a_page_with_words_of_a_link_is_not_compressed(
    client: Client, conversation: Conversation, query: str
) -> None:
    for path in ("/", conversation.get_absolute_url(), "/sidebar/"):
        page = client.get(f"{path}?{query}")
        assert page.status_code == 200
        assert "Content-Encoding" not in page


def test_a_page_that_repeats_what_was_posted_is_not_compressed(client: Client) -> None:
    page = client.post("/c/", {"text": "", "model": "no such model"})
    assert page.status_code == 422
    assert "Content-Encoding" not in page


def test_the_words_of_a_refusal_stay_words(rf: RequestFactory) -> None:
    """A script shows them as they are; in Russian they are soon as long as a page."""
    words = "Дождитесь ответа. " * 20
    refuse = compress(lambda request: HttpResponse(words, status=409, content_type="text/plain"))
    refused = refuse(rf.post("/", headers={"Accept-Encoding": "gzip, deflate, br"}))
    assert refused.content.decode() == words
    assert "Content-Encoding" not in refused


def test_forms_and_files_are_not_compressed(client: Client, conversation: Conversation) -> None:
    add_messages(conversation, WORDS)
    for name in ("conversation_settings", "export_markdown", "export_json"):
        answer = client.get(reverse(name, args=[conversation.pk]))
        assert answer.status_code == 200
        assert "Content-Encoding" not in answer
    assert "Content-Encoding" not in client.get(reverse("memories"))


def test_the_csrf_token_of_a_compressed_page_never_comes_twice(
    client: Client, conversation: Conversation
) -> None:
    """It is masked anew for each page, and the secret itself is not there."""
    pages = [
        brotli.decompress(client.get(conversation.get_absolute_url()).content).decode()
        for _ in range(PAGES)
    ]
    tokens = [
        set(re.findall(r'(?:csrf-token" content|csrfmiddlewaretoken" value)="(\w+)"', page))
        for page in pages
    ]
    assert [len(of_page) for of_page in tokens] == [1] * PAGES
    assert len(set.union(*tokens)) == PAGES
    secrets = [each.value for each in client.cookies.values()]
    assert [secret for secret in secrets for page in pages if secret in page] == []
