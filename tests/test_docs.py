"""The tests that docs/compaction.md names as evidence are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"`(test_\w+\.py)?(?:::(test_\w+))?`")


def evidence() -> list[tuple[str, str]]:
    """File and test, for each name in the tables; a test without a file is in the one before."""
    found, file = [], ""
    for name, test in NAMED.findall((ROOT / "docs" / "compaction.md").read_text("utf-8")):
        file = name or file
        if name or test:
            found.append((file, test))
    return found


@pytest.mark.parametrize(("file", "test"), evidence())
def test_a_test_that_the_documentation_names_exists(file: str, test: str) -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob(file)]
    assert texts
    assert not test or any(f"def {test}(" in text for text in texts)
