"""What a process keeps of the database for a moment."""

import pytest

from accounts import kept
from accounts.kept import KEPT_SECONDS, MOST_KEPT, Kept


def test_a_value_is_read_again_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT_SECONDS <= 2  # a right that was taken away has to hold everywhere in five
    now = 100.0
    monkeypatch.setattr(kept, "monotonic", lambda: now)
    values: Kept[str, str] = Kept()
    assert values.load("ada", lambda: "first") == "first"
    now += KEPT_SECONDS - 0.1
    assert values.load("ada", lambda: "second") == "first"
    now += 0.1
    assert values.load("ada", lambda: "second") == "second"


@pytest.mark.parametrize("value", [[], 0, False])
def test_what_is_empty_is_kept_too(value: object) -> None:
    values: Kept[str, object] = Kept()
    values.keep("ada", value)
    assert values.load("ada", lambda: "read again") == value


def test_one_is_forgotten_or_all() -> None:
    values: Kept[int, str] = Kept()
    for key in range(3):
        values.keep(key, "known")
    values.forget(0, 99)
    assert [values.find(key) for key in range(3)] == [None, "known", "known"]
    values.forget()
    assert [values.find(key) for key in range(3)] == [None] * 3


def test_it_does_not_grow_without_end() -> None:
    values: Kept[int, int] = Kept()
    for key in range(MOST_KEPT + 1):
        values.keep(key, key)
    assert values.find(0) is None
    assert values.find(MOST_KEPT) == MOST_KEPT
