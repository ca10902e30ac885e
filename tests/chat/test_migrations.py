"""Data migrations, on rows as earlier versions left them."""

from importlib import import_module

import pytest
from django.apps import apps

from agent.search.lexical import parse
from chat.models import Message, SearchEntry
from chat.queries.search import find
from tests.chat.factories import make_conversation

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]


def test_old_rows_get_the_words_of_the_web_and_lose_the_agents_searches() -> None:
    page = {"type": "web_search_result", "title": "Ferries", "url": "https://capri.example"}
    conversation = make_conversation(
        messages=[
            "When does it leave?",
            [
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]},
                {"type": "tool_use", "id": "t1", "name": "search_history", "input": {"query": "x"}},
            ],
            [{"type": "tool_result", "tool_use_id": "t1", "content": "[#1] harbour"}],
        ]
    )
    _, searched, result = Message.objects.order_by("number")
    Message.objects.filter(pk=searched.pk).update(text="[web_search {}]")
    SearchEntry.objects.filter(pk=searched.pk).delete()
    migration = import_module("chat.migrations.0006_what_is_found")
    migration.retell(apps, None)
    hits = find(conversation.owner_id, parse("ferries capri.example"))
    assert hits[0].message_id == searched.pk
    assert "Ferries https://capri.example" in hits[0].text
    assert not SearchEntry.objects.filter(pk=result.pk).exists()
