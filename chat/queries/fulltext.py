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

Condition = Sequence[Sequence[Term]]  # of each inner sequence one term has to be there

SQLITE = "SELECT %s, group_concat(rowid) FROM chat_fulltext WHERE chat_fulltext MATCH %s"
# With the plus FTS5 walks once through a term's messages, without it once for each id.
SQLITE_AMONG = " AND +rowid IN (SELECT value FROM json_each(%s))"
# A condition at a time: for a union of as many selects PostgreSQL starts other processes, which
# takes several times as long as the answer.
POSTGRESQL = """SELECT number, ids FROM
    unnest(%s::int[], %s::tsquery[]) AS asked(number, condition),
    LATERAL (SELECT string_agg(message_id::text, ',') AS ids FROM chat_searchentry
        WHERE vector @@ condition{}) AS found"""


def mark_with_owner(owner_id: int, tokens: Iterable[str]) -> list[str]:
    """Tokens as they stand in the index."""
    return [f"u{owner_id}x{token}" for token in tokens]


def find_holders(
    owner_id: int, terms: Sequence[Term], low: int, high: int
) -> dict[Term, list[int]]:
    """For each term the ids of the owner's messages that hold it: all from `low` to `high`, and
    perhaps others."""
    if _is_postgresql():  # it would walk through the range, and unpack every vector there
        return _find_terms(owner_id, terms)
    return _find_terms(owner_id, terms, " AND rowid BETWEEN %s AND %s", low, high)


def find_holders_among(
    owner_id: int, terms: Sequence[Term], ids: Sequence[int]
) -> dict[Term, list[int]]:
    """For each term those of the owner's messages that hold it."""
    if _is_postgresql():
        return _find_terms(owner_id, terms, " AND message_id = ANY(%s)", list(ids))
    return _find_terms(owner_id, terms, SQLITE_AMONG, json.dumps(ids))


def find_matches(owner_id: int, conditions: Sequence[Condition], since: int = 0) -> list[list[int]]:
    """For each condition the ids, `since` or higher, of the owner's messages that meet it."""
    if not since:
        return _find(owner_id, conditions)
    if _is_postgresql():
        return _find(
            owner_id, conditions, " AND owner_id = %s AND message_id >= %s", owner_id, since
        )
    return _find(owner_id, conditions, " AND rowid >= %s", since)


def _find_terms(
    owner_id: int, terms: Sequence[Term], narrowed: str = "", *values: Any
) -> dict[Term, list[int]]:
    found = _find(owner_id, [[[term]] for term in terms], narrowed, *values)
    return dict(zip(terms, found, strict=True))


def _find(
    owner_id: int, conditions: Sequence[Condition], narrowed: str = "", *values: Any
) -> list[list[int]]:
    """The messages that meet each condition, of those that `narrowed` with its values lets pass."""
    if not conditions:
        return []
    written = [_write(owner_id, condition) for condition in conditions]
    asked: list[Any]
    if _is_postgresql():
        sql, asked = POSTGRESQL.format(narrowed), [list(range(len(written))), written, *values]
    else:
        sql = " UNION ALL ".join([SQLITE + narrowed] * len(written))
        asked = [each for pair in enumerate(written) for each in (*pair, *values)]
    with connection.cursor() as cursor:
        cursor.execute(sql, asked)
        rows = dict(cursor.fetchall())
    return [_list(rows[index]) for index in range(len(conditions))]


def _write(owner_id: int, condition: Condition) -> str:
    """A condition in the database's own language."""
    either, both = (" | ", " & ") if _is_postgresql() else (" OR ", " AND ")
    return both.join(
        f"({either.join(_write_term(owner_id, term) for term in terms)})" for terms in condition
    )


def _write_term(owner_id: int, term: Term) -> str:
    begun = term[-1].endswith(BEGUN)
    tokens = mark_with_owner(owner_id, (token.removesuffix(BEGUN) for token in term))
    if _is_postgresql():
        return " <-> ".join(tokens) + ":*" * begun
    return f'"{" ".join(tokens)}"' + "*" * begun


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"


def load_columns(entries: QuerySet[SearchEntry], *fields: str) -> list[list[Any]]:
    """A list for each field of ordered entries. Each comes as one text: ten thousand rows take
    three times as long, and their tuples set off garbage collections."""
    sql, values = entries.values_list(*fields).query.sql_with_params()
    with connection.cursor() as cursor:
        each = ", ".join(map(_joined, fields))
        cursor.execute(f"SELECT {each} FROM ({sql}) AS ordered", values)
        return [_list(column) for column in cursor.fetchone()]


def _joined(column: str) -> str:
    return f"string_agg({column}::text, ',')" if _is_postgresql() else f"group_concat({column})"


def _list(joined: str | None) -> list[Any]:
    """The values of a joined column, None for none; as JSON, which is the quickest to read."""
    found: list[Any] = json.loads(f"[{joined or ''}]")
    return found
