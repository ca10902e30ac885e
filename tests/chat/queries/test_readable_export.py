"""A conversation as Markdown and as a saved page: what people read, and nothing that runs."""

import re
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync
from django.urls import reverse

from accounts.models import User
from chat.html.saved_page import export_html
from chat.models import Conversation
from chat.queries.archive_export import export_conversation
from chat.queries.readable_export import export_markdown
from tests.chat.factories import make_conversation
from tests.chat.services.library.lives import answer, attach, compact, edit, live, stop, use_tools

pytestmark = pytest.mark.usefixtures("endless_minute")


def read(chunks: AsyncIterator[str]) -> str:
    async def collect() -> str:
        return "".join([chunk async for chunk in chunks])

    return async_to_sync(collect)()


@pytest.fixture
def talk(user: User) -> Conversation:
    """With tools, files, a summary, an answer that was stopped, and a branch that is not shown."""
    made = make_conversation(owner=user, title='Sea "maps" <b>', messages=4)
    live(made, [(use_tools, 1), (attach, 2), (compact, 3), (answer, 4), (stop, 5), (edit, 99)])
    return made


def test_markdown_names_title_dates_models_and_branches(talk: Conversation) -> None:
    text = read(export_markdown(talk, lambda pk, name: f"https://site/{name}"))
    head, _, rest = text.partition("\n---\n")
    assert head.startswith('---\ntitle: "Sea \\"maps\\" <b>"\n')
    assert re.search(r"^created: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", head, re.M)
    assert 'models: ["test-model"]' in head
    assert '\n# Sea "maps" <b>\n' in rest
    numbers = {int(number) for number in re.findall(r"^##+ #(\d+) ", text, re.M)}
    assert numbers == set(talk.messages.values_list("number", flat=True))
    if talk.messages.filter(active=False).exists():
        assert re.search(r"^## Branch (after #\d+|from the beginning)$", rest, re.M)


def test_markdown_folds_calls_and_links_files(user: User) -> None:
    talk = make_conversation(owner=user, messages=4)
    live(talk, [(use_tools, 1), (attach, 2), (compact, 3), (stop, 5)])
    text = read(export_markdown(talk, lambda pk, name: f"https://site/{name}"))
    assert "<summary>Tool call: search_history</summary>" in text
    assert "[map.txt](<https://site/map.txt>)" in text
    assert "![sea.jpg](<https://site/sea.jpg>)" in text
    assert re.search(r"^## Summary of #1 to #\d+$", text, re.M)
    assert "interrupted" in text
    assert "[Attached image: sea.jpg]" in read(export_markdown(talk))


def test_a_saved_page_needs_nothing_else_and_runs_nothing(user: User) -> None:
    talk = make_conversation(owner=user, title="<script>alert(1)</script>", messages=4)
    live(talk, [(use_tools, 1), (attach, 2), (compact, 3), (answer, 4), (stop, 5)])
    html = read(export_html(talk))
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert html.count("<article") == talk.messages.filter(active=True).count()
    assert 'src="data:image/jpeg;base64,' in html
    addresses = re.findall(r'(?:href|src)="([^"]*)"|url\(([^)]*)\)', html)
    assert all(
        address.startswith(("#", "data:")) for pair in addresses for address in pair if address
    )
    assert "Summary of #1" in html


def test_an_archive_links_the_files_in_it(user: User) -> None:
    talk = make_conversation(owner=user, title="Maps", messages=2)
    live(talk, [(attach, 2)])

    async def collect() -> bytes:
        return b"".join([chunk async for chunk in export_conversation(talk)])

    archive = ZipFile(BytesIO(async_to_sync(collect)()))
    text = archive.read("conversations/0001 maps.md").decode()
    linked = re.findall(r"\]\(<\.\./([^>]*)>\)", text)
    assert len(linked) == 2
    assert set(linked) <= set(archive.namelist())


def test_saving_offers_each_form_with_what_it_is_for(client: Any, user: User) -> None:
    talk = make_conversation(owner=user, messages=2)
    client.force_login(user)
    html = client.get(reverse("conversation_saving", args=[talk.pk])).content.decode()
    for form in ("html", "md", "zip", "json"):
        assert f'href="/c/{talk.pk}/export.{form}"' in html
    assert "import" in html
