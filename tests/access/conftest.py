"""The count of what the walks have asked for, which is told in the end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chat.conftest import (  # noqa: F401 - fixtures
    chat,
    model_port,
    model_server,
    signed_in,
    user,
    worker_done,
)

if TYPE_CHECKING:
    from tests.access.people import Cast

counts = pytest.StashKey[dict[str, int]]()


@pytest.fixture
def cast(transactional_db: None, settings: Any, tmp_path: Path) -> "Cast":
    from tests.access.people import Cast

    settings.MEDIA_ROOT = tmp_path / "media"
    settings.ACCOUNT_RATE_LIMITS = False
    settings.TURNS_AT_ONCE = 0  # whoever is let in gets no model's answer
    return Cast()


@pytest.fixture
def count(request: pytest.FixtureRequest) -> dict[str, int]:
    """By what was asked, how often."""
    return request.config.stash.setdefault(counts, {})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for what, number in config.stash.get(counts, {}).items():
        terminalreporter.write_line(f"access walk: {number:,} {what}")
