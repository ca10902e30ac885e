"""What the tests of accounts share."""

import pytest


@pytest.fixture(autouse=True)
def nothing_is_known() -> None:
    """What counts tries, and who has a second factor, is kept longer than a test takes."""
    from django.core.cache import cache

    from accounts import second_factor

    cache.clear()
    second_factor._has_factor.forget()
