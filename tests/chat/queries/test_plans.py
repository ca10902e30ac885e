"""What PostgreSQL's planner makes of everyday statements where tables are large: none of them reads
a whole table."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from chat.engine.state import load_state
from chat.models import Compaction, Conversation, Message, Turn
from chat.services.turns import requests, sweep
from chat.services.turns.turns import NewMessage
from tests.chat.factories import (
    HOLDER,
    make_compaction,
    make_conversation,
    make_turn,
    make_user,
)
from tests.spending.factories import make_call

pytestmark = [pytest.mark.services, pytest.mark.django_db]

LARGE = (
    *("chat_conversation", "chat_message", "chat_turn", "chat_compaction", "chat_searchentry"),
    "spending_modelcall",
)
PEOPLE, CONVERSATIONS, TURNS = 50, 1_500, 8  # of others; turns in each of their conversations
LONG = 1_000  # turns of ada's conversation
EXPLAINED = ("SELECT", "UPDATE", "DELETE", "WITH")
# `count` copies of a row with values of their own: SQL expressions in which `n` counts from 0.
COPY = """
INSERT INTO {table} ({columns}) SELECT {columns_of_copy}
FROM {table} AS pattern, generate_series(0, {count} - 1) AS n,
LATERAL jsonb_populate_record(pattern, jsonb_build_object({values})) AS copy
WHERE pattern.{key} = %s
"""
COLUMNS = """
SELECT quote_ident(column_name) FROM information_schema.columns
WHERE table_name = %s AND is_generated = 'NEVER'
"""
# Spread over years.
PAST = "now() - interval '5 hours' * n"


def copy(table: str, count: int, pattern: object, *, key: str = "id", **values: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS, [table])
        columns = [name for (name,) in cursor.fetchall()]
        sql = COPY.format(
            table=table,
            columns=", ".join(columns),
            columns_of_copy=", ".join(f"copy.{name}" for name in columns),
            count=count,
            values=", ".join(f"'{name}', {value}" for name, value in values.items()),
            key=key,
        )
        cursor.execute(sql, [str(pattern)])


def fill(ada: User) -> Conversation:
    """Tables of many people; and a long conversation of ada's, which is returned."""
    somebody = make_user("somebody")
    pattern = make_conversation(somebody, messages=["Hello", "Hi"])
    turn = make_turn(pattern, status=Turn.Status.COMPLETED)
    compaction = make_compaction(pattern, through=2)
    copy("accounts_user", PEOPLE, somebody.pk, id="1000 + n", username="'person' || n")
    copy(
        "chat_conversation",
        CONVERSATIONS,
        pattern.pk,
        id=uuid_of("n"),
        owner_id=f"1000 + mod(n, {PEOPLE})",
        updated_at=PAST,
        compaction_id="null",
        compressed_through_id="null",
    )
    of_others = CONVERSATIONS * TURNS
    conversation = uuid_of(f"n / {TURNS}")
    owner = f"1000 + mod(n / {TURNS}, {PEOPLE})"
    copy_turns(pattern, turn, of_others, 100_000, conversation, owner)
    long = make_conversation(ada)
    copy_turns(pattern, turn, LONG, 1_000_000, f"'{long.pk}'", str(ada.pk))
    Conversation.objects.filter(pk=long.pk).update(next_number=2 * LONG)
    copy(
        "chat_compaction",
        of_others,
        compaction.pk,
        id="100000 + n",
        conversation_id=conversation,
        created_at=PAST,
    )
    call = make_call(user=somebody)
    copy(
        "spending_modelcall",
        of_others,
        call.pk,
        id="1000000 + n",
        opened_at=PAST,
        user_id=f"1000 + mod(n, {PEOPLE})",
        conversation=conversation,
    )
    make_call(user=ada)
    with connection.cursor() as cursor:
        for table in LARGE:
            cursor.execute(f"ANALYZE {table}")
    return long


def copy_turns(
    pattern: Conversation, turn: Turn, count: int, start: int, conversation: str, owner: str
) -> None:
    """Copies of a turn, of its two messages and of what the search has of them, from the id on."""
    of = {"conversation_id": conversation}
    copy("chat_turn", count, turn.pk, id=f"{start} + n", created_at=PAST, **of)
    for nth, message in enumerate(Message.objects.filter(conversation=pattern).order_by("number")):
        pk, number = f"{10 * start} + 2 * n + {nth}", f"2 * n + {nth}"
        values = {"number": number, "position": number, "parent_id": "null", "created_at": PAST}
        turn_id = f"{start} + n"
        copy("chat_message", count, message.pk, id=pk, turn_id=turn_id, **values, **of)
        entry = {"message_id": pk, "position": number, "owner_id": owner}
        copy("chat_searchentry", count, message.pk, key="message_id", **entry, **of)


def uuid_of(number: str) -> str:
    return f"lpad(to_hex({number}), 32, '0')::uuid"


def whole_tables_read(statement: str) -> list[str]:
    """The large tables that a statement reads from end to end. The first rows of a table, in
    whatever order, are not the whole."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}")
        (plan,) = cursor.fetchone()
    plan = plan if isinstance(plan, list) else json.loads(plan)
    return [
        node["Relation Name"]
        for node, above in nodes(plan[0]["Plan"])
        if "Seq Scan" in node["Node Type"]
        and node["Relation Name"] in LARGE
        and not (above == "Limit" and "Filter" not in node)
    ]


def nodes(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[Mapping[str, Any], str]]:
    yield node, above
    for below in node.get("Plans", []):
        yield from nodes(below, node["Node Type"])


def send(user: User, conversation: Conversation) -> None:
    """As somebody who writes, in a process that has nothing of it at hand."""
    requests.send_message(
        user, conversation.pk, NewMessage("And now?"), expected_head=None, holder=HOLDER
    )


def test_no_everyday_statement_reads_a_whole_table(client: Client) -> None:
    assert connection.vendor == "postgresql", "run with --services"
    ada = make_user("ada", admin=True)
    long = fill(ada)
    client.force_login(ada)
    short = make_conversation(ada, messages=2)
    one = Compaction.objects.filter(pk__gte=100_000).order_by("pk")[0]
    visits: dict[str, Callable[[], object]] = {
        "recent messages": lambda: load_state(long.pk),
        "sweep": sweep.sweep,
        "next sweep": sweep.seconds_to_next,
        "send": lambda: send(ada, short),
        "send into a long conversation": lambda: send(ada, long),
    } | {
        address: lambda address=address: client.get(address)
        for address in (
            "/",
            long.get_absolute_url(),
            *(
                reverse(name, args=[long.pk])
                for name in ("outline", "summary", "compact_preview", "usage", "export_json")
            ),
            reverse("messages", args=[long.pk]) + "?before=900",
            reverse("sidebar"),
            reverse("sidebar") + "?q=hello",
            reverse("palette") + "?q=hello",
            reverse("usage_page"),
            reverse("usage_calls"),
            "/metrics",
            "/admin/",
            reverse("admin:spending_charts"),
            reverse("admin:spending_modelcall_changelist"),
            reverse("admin:spending_modelcall_changelist") + "?person=ada&state__exact=lost",
            reverse("admin:spending_modelcall_changelist") + "?kind__exact=probe&o=8",
            *(f"/admin/chat/{name}/" for name in ("conversation", "message", "turn", "compaction")),
            "/admin/chat/project/",
            "/admin/accounts/user/",
            f"/admin/chat/conversation/{long.pk}/change/",
            f"/admin/chat/compaction/{one.pk}/change/",
        )
    }
    read = {}
    for name, visit in visits.items():
        with CaptureQueriesContext(connection) as captured:
            visit()
        statements = [query["sql"] for query in captured if query["sql"].startswith(EXPLAINED)]
        assert statements, name
        read |= {
            f"{name}: {statement}": tables
            for statement in statements
            if (tables := whole_tables_read(statement))
        }
    assert read == {}
