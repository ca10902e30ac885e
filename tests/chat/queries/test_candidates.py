"""Searching all conversations of somebody with more messages than are looked through."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from agent.search.lexical import parse_query
from chat.models import Message
from chat.queries import candidates
from chat.queries.search import find_messages
from tests.chat.factories import make_conversation

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As 10,000, 100 and 200 are to 200,000 messages."""
    monkeypatch.setattr(candidates, "RECENT", 20)
    monkeypatch.setattr(candidates, "FREQUENT", 3)
    monkeypatch.setattr(candidates, "RANKED", 5)


def fill(user: User, *texts: str, conversations: int = 10) -> None:
    """Newer conversations with these texts, again and again."""
    for _ in range(conversations):
        make_conversation(owner=user, messages=list(texts))


def found(user: User, text: str, *, typing: bool = False, limit: int = 10) -> list[str]:
    hits = find_messages(user.pk, parse_query(text, typing=typing), limit=limit)
    return [hit.text for hit in hits]


def test_a_rare_word_is_found_in_the_oldest_message(user: User) -> None:
    make_conversation(owner=user, messages=["The kalimba is out of tune", "Tune it"])
    fill(user, "The harbour is closed", "Then wait", "Until when?", "Until nine")
    assert found(user, "kalimba")[0] == "The kalimba is out of tune"
    assert found(user, "kali", typing=True)[0] == "The kalimba is out of tune"


@pytest.mark.parametrize("typing", [False, True])
def test_two_frequent_words_are_found_together_in_the_oldest_message(
    user: User, typing: bool
) -> None:
    make_conversation(owner=user, messages=["The ferry leaves the harbour", "Good"])
    fill(user, "The harbour is closed", "Then wait", "The ferry is late", "Again")
    assert found(user, "harbour ferry", typing=typing)[0] == "The ferry leaves the harbour"


def test_a_phrase_of_frequent_words_is_found_in_the_oldest_message(user: User) -> None:
    make_conversation(owner=user, messages=["The harbour ferry leaves", "Good"])
    fill(user, "The harbour is closed", "Then wait", "The ferry is late", "Again")
    assert found(user, '"harbour ferry"')[0] == "The harbour ferry leaves"


def test_of_messages_with_a_frequent_word_the_newest_are_found(user: User) -> None:
    make_conversation(owner=user, messages=["The harbour was open once", "Yes"])
    fill(user, "The harbour is closed", "Then wait", "Until when?", "Until nine")
    newest = make_conversation(owner=user, messages=["The harbour is open again", "Good"])
    texts = found(user, "harbour")
    assert newest.messages.get(number=1).text in texts
    assert "The harbour was open once" not in texts


def test_what_an_old_message_holds_besides_the_rare_word_counts(user: User) -> None:
    make_conversation(owner=user, messages=["The kalimba in the harbour", "Nice"])
    make_conversation(owner=user, messages=["The kalimba in the kitchen", "Nice"])
    fill(user, "The harbour is closed", "Then wait", "The harbour again", "Until nine")
    assert found(user, "kalimba harbour")[0] == "The kalimba in the harbour"


def test_hidden_messages_take_nobodys_place(user: User) -> None:
    shown = make_conversation(owner=user, messages=["The harbour is closed", "Then wait"])
    branch = make_conversation(owner=user, messages=["The harbour"] * 8)
    Message.objects.filter(conversation=branch).update(active=False)
    make_conversation(owner=user, messages=["The harbour"] * 8, temporary=True)
    hits = find_messages(user.pk, parse_query("harbour"))
    assert {hit.conversation_id for hit in hits} == {shown.pk}


def test_others_find_nothing_of_it(user: User) -> None:
    fill(user, "The harbour is closed", "Then wait", "The kalimba", "Until nine")
    other = make_conversation(messages=["The harbour is mine", "Yes"]).owner
    assert set(found(other, "harbour kalimba")) == {"The harbour is mine", "Yes"}


def test_signs_are_looked_for_in_the_newest_first(user: User) -> None:
    make_conversation(owner=user, messages=["old => new", "Yes"])
    fill(user, "The harbour is closed", "Then wait", "Until when?", "Until nine")
    make_conversation(owner=user, messages=["here => there", "Yes"])
    assert found(user, "=>") == ["here => there", "old => new"]
    assert found(user, "=>", limit=1) == ["here => there"]


def test_signs_are_read_where_the_index_has_them(user: User) -> None:
    make_conversation(owner=user, messages=["old -> new", "?!"])
    fill(user, "One > two", "Two - one", "Until when?", "Until nine!")
    with CaptureQueriesContext(connection) as queries:
        assert found(user, "->") == ["old -> new"]
        assert found(user, "?!") == ["?!"]
    read = [each["sql"] for each in queries if "LIKE" in each["sql"]]
    assert read
    assert all('"chat_message"."id" IN (' in sql for sql in read)


def test_of_messages_with_signs_that_stand_apart_the_newest_are_read(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_conversation(owner=user, messages=["This ? -", "Yes"])
    fill(user, "Is it - this?", "No", conversations=4)
    assert found(user, "? -") == ["This ? -"]
    monkeypatch.setattr(candidates, "READ", 4)
    assert found(user, "? -") == []


def test_a_message_without_words_is_found_by_its_signs_alone(user: User) -> None:
    make_conversation(owner=user, messages=["The harbour", "…", "is closed"])
    assert found(user, "…") == ["…"]
    assert set(found(user, "harbour")) == {"The harbour", "is closed"}
    assert found(user, f"{timezone.now().year}", limit=3) == ["The harbour", "is closed"]


# --- Plans ----------------------------------------------------------------------------------------

EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN (COSTS OFF) "}


@contextmanager
def plans() -> Iterator[list[str]]:
    """The plan of each query in the block, as text. PostgreSQL is told that a walk through a whole
    table is dear, as it is in a large one."""
    seen: list[str] = []

    def explain(
        execute: Callable[..., Any], sql: str, values: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        if sql.startswith("SELECT"):
            execute(EXPLAIN[connection.vendor] + sql, values, many, context)
            rows = context["cursor"].fetchall()
            seen.append("\n".join(str(row[-1]) for row in rows))
        return execute(sql, values, many, context)

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET enable_seqscan = off")
    with connection.execute_wrapper(explain):
        yield seen
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("RESET enable_seqscan")


@pytest.mark.parametrize("text", ["harbour", "harbour ferry", '"harbour ferry"', "kalimba"])
def test_no_query_reads_all_messages(user: User, text: str) -> None:
    fill(user, "The harbour is closed", "Then wait", "The ferry is late", "Again")
    with plans() as seen:
        assert find_messages(user.pk, parse_query(text, typing=True)) or text == "kalimba"
    assert len(seen) > 5
    for plan in seen:
        for table in ("chat_message", "chat_searchentry"):
            assert f"Seq Scan on {table}" not in plan
            assert f"SCAN {table}" not in plan, plan
