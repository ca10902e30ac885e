"""docs/operations.md names every variable that the settings read, with its default, and no other.

The settings say what they read: environs remembers each variable that it was asked for, and the
others are found in the source of `config/`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agent.wire.proxies import Proxies

ROOT = Path(__file__).resolve().parents[2]
ASKED = """
import json
from config.settings import env
print(json.dumps(env._env.dump(), default=str))
"""
# A default can depend on the profile, and on a secret that is there.
EMBEDDED = {"MCP_SECRET_…": ""}
SCALED = {
    "DATABASE_URL": "postgres://user:password@host/name",
    "REDIS_URL": "redis://host/0",
    "SECRET_KEY": "a long random text",
    "ANTHROPIC_API_KEY": "test-key",
}
DIRECT = re.compile(r'os\.environ(?:\.get)?[(\[]"([A-Z_]+)"(?:(?:, |\)? or )"([^"]+)")?')
ROW = re.compile(r"\| (`[^|]*) \| ([^|]*) \|")


class Asked(Mapping[str, str]):
    """An empty environment that remembers what was looked up in it."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name.upper())
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def read_settings(directory: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """What environs was asked for where only these are set, with the values."""
    nothing = {"ENV_FILE": str(directory / "none"), "DATA_DIR": str(directory)}
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        env={"PATH": os.environ["PATH"], **nothing, **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def spell(default: Any, directory: Path) -> str:
    """A default as the document writes it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int | float):
        return f"{default:.12g}"
    if isinstance(default, dict) and "ENGINE" in default:
        return f"sqlite:///{default['NAME']}".replace(str(directory), "DATA_DIR")
    if isinstance(default, list):
        return ",".join(default) or "–"
    return default or "–"


@pytest.fixture(scope="module")
def defaults(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The possible defaults of every variable; a set is empty where the code's is not a word."""
    directory = tmp_path_factory.mktemp("data")
    proxies = Asked()
    Proxies.read(proxies)
    found: dict[str, set[str]] = {name: set() for name in proxies.names}
    for given in (EMBEDDED, SCALED):
        for name, value in read_settings(directory, given).items():
            found.setdefault(name, set())
            if not given.get(name):
                found[name].add(spell(value, directory))
    for source in (ROOT / "config").rglob("*.py"):
        for name, default in DIRECT.findall(source.read_text("utf-8")):
            found.setdefault(name, set()).update({default} - {""})
    return found


@cache
def read_tables() -> dict[str, str]:
    """The default of each variable in the tables under "Settings", as it is written."""
    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    section = text.split("\n## Settings\n")[1].split("\n## ")[0]
    rows = ROW.findall(section)
    named = [
        (name, cell.strip()) for names, cell in rows for name in re.findall("`([^`]+)`", names)
    ]
    assert len(dict(named)) == len(named), "a variable has two rows"
    return dict(named)


def test_the_tables_name_every_variable_that_is_read_and_no_other(
    defaults: dict[str, set[str]],
) -> None:
    assert set(read_tables()) == set(defaults)


def test_the_tables_have_the_defaults_of_the_settings(defaults: dict[str, set[str]]) -> None:
    written = {name: cell.strip("`") for name, cell in read_tables().items()}
    wrong = {
        name: f"{written[name]}, not {' or '.join(possible)}"
        for name, possible in defaults.items()
        if possible and name in written and written[name] not in possible
    }
    assert wrong == {}
