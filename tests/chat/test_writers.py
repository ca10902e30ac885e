"""Services are the only writers: everywhere else rows are read, or a service is asked."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

WRITES = {
    *("save", "create", "update", "delete", "bulk_create", "bulk_update"),
    *("get_or_create", "update_or_create"),
}
WRITES |= {f"a{name}" for name in WRITES}
ROOM = settings.BASE_DIR / "chat"


def sources() -> list[Path]:
    """The chat's modules but those of the services, and the migrations."""
    return [
        path
        for path in sorted(ROOM.rglob("*.py"))
        if path.relative_to(ROOM).parts[0] not in ("services", "migrations")
    ]


def services(tree: ast.AST) -> set[str]:
    """The names that a module has for services."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chat.services.")
        for alias in node.names
    }


def writes(source: str) -> Iterator[str]:
    """The calls of a module that write rows. A dictionary's `update` takes a dictionary, a
    queryset's only names; what decorates a function is an address of the API."""
    tree = ast.parse(source)
    asked = services(tree)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    decorating = [
        each
        for node in ast.walk(tree)
        if isinstance(node, functions)
        for each in node.decorator_list
    ]
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node in decorating:
            continue
        owner, name = node.func.value, node.func.attr
        if name not in WRITES or (isinstance(owner, ast.Name) and owner.id in asked):
            continue
        if name != "update" or not node.args:
            yield f"{node.lineno}: {ast.unparse(node.func)}"


def test_only_services_write() -> None:
    found = [
        f"{path.relative_to(ROOM)}:{call}"
        for path in sources()
        for call in writes(path.read_text())
    ]
    assert not found


@pytest.mark.parametrize(
    ("source", "writing"),
    [
        ("Turn.objects.filter(pk=1).update(status='x')", True),
        ("await row.asave(update_fields=['title'])", True),
        ("conversation.messages.bulk_create(rows)", True),
        ("from chat.services.turns import branches\nbranches.delete(user, pk)", False),
        ("from chat.queries import branches\nbranches.delete(user, pk)", True),
        ("shown.update({'web': True})", False),
        ("row.refresh_from_db()", False),
        ("@router.delete('/files')\ndef delete_file(): ...", False),
    ],
)
def test_a_write_is_told_from_what_only_looks_like_one(source: str, writing: bool) -> None:
    assert bool(list(writes(source))) == writing
