"""Caches that forget by the start of a key."""

import pytest
from django.core.cache import cache

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]


def test_only_keys_that_begin_so_are_forgotten() -> None:
    cache.clear()
    for key in ("html:1:a", "html:1:b", "html:12:a", "other"):
        cache.set(key, "kept")
    cache.delete_prefixed({"html:1:", "html:3:"})  # type: ignore[attr-defined]
    assert [cache.get(key) for key in ("html:1:a", "html:1:b")] == [None, None]
    assert [cache.get(key) for key in ("html:12:a", "other")] == ["kept", "kept"]
    cache.clear()
