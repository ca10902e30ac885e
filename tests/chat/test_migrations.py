"""Migrations stand alone: no later change of the code changes them."""

import ast
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

APPS = ("accounts", "chat")
# What a migration may import: nothing of this project.
FOREIGN = {*sys.stdlib_module_names, "django"}


def migrations(app: str) -> list[Path]:
    return sorted((settings.BASE_DIR / app / "migrations").glob("[!_]*.py"))


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else str(node.module).split(".")[0])
    return found


@pytest.mark.parametrize("app", APPS)
def test_an_app_begins_with_its_first_migration(app: str) -> None:
    assert migrations(app)[0].name == "0001_initial.py"


@pytest.mark.parametrize("app", APPS)
def test_migrations_import_no_code_of_ours(app: str) -> None:
    for path in migrations(app):
        assert imported(path) <= FOREIGN, path


@pytest.mark.django_db
def test_the_migrations_make_what_the_models_say() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
