"""The full-text index of SQLite (FTS5) or PostgreSQL (tsvector): which messages hold a term.

Every token carries its owner. So a search reads nobody else's text or statistics, and
costs only what its owner's messages cost. Tokens are ASCII letters and digits
(`agent.search.lexical.tokenise`): a query has no syntax that a text could abuse.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from agent.search.lexical import BEGUN, Term
from chat.models import SearchEntry

SQLITE = """SELECT %s, {joined} FROM chat_fulltext
    WHERE chat_fulltext MATCH %s AND rowid BETWEEN %s AND %s"""
# No range: PostgreSQL would walk through it, and unpack every vector there.
POSTGRESQL = "SELECT %s, {joined} FROM chat_searchentry WHERE vector @@ %s::tsquery"


def mark_with_owner(owner_id: int, tokens: Iterable[str]) -> list[str]:
    """Tokens as they stand in the index."""
    return [f"u{owner_id}x{token}" for token in tokens]


def find_holders(
    owner_id: int, terms: Sequence[Term], low: int, high: int
) -> dict[Term, list[int]]:
    """For each term the ids of the owner's messages that hold it: all from `low` to `high`, and
    perhaps others."""
    if not terms:
        return {}
    postgresql = connection.vendor == "postgresql"
    values: list[int | str] = []
    for index, term in enumerate(terms):
        begun = term[-1].endswith(BEGUN)
        tokens = mark_with_owner(owner_id, (token.removesuffix(BEGUN) for token in term))
        if postgresql:
            values += [index, " <-> ".join(tokens) + ":*" * begun]
        else:
            values += [index, f'"{" ".join(tokens)}"' + "*" * begun, low, high]
    one = POSTGRESQL if postgresql else SQLITE
    one = one.format(joined=_joined("message_id" if postgresql else "rowid"))
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join([one] * len(terms)), values)
        rows = dict(cursor.fetchall())
    return {term: _list(rows[index]) for index, term in enumerate(terms)}


def load_columns(entries: QuerySet[SearchEntry], *fields: str) -> list[list[Any]]:
    """A list for each field of ordered entries. Each comes as one text: ten thousand rows take
    three times as long, and their tuples set off garbage collections."""
    sql, values = entries.values_list(*fields).query.sql_with_params()
    with connection.cursor() as cursor:
        each = ", ".join(map(_joined, fields))
        cursor.execute(f"SELECT {each} FROM ({sql}) AS ordered", values)
        return [_list(column) for column in cursor.fetchone()]


def _joined(column: str) -> str:
    postgresql = connection.vendor == "postgresql"
    return f"string_agg({column}::text, ',')" if postgresql else f"group_concat({column})"


def _list(joined: str | None) -> list[Any]:
    """The values of a joined column, None for none; as JSON, which is the quickest to read."""
    found: list[Any] = json.loads(f"[{joined or ''}]")
    return found
