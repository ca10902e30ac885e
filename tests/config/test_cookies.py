"""Another site on the same host has cookies of its own."""

from chat.protocol.zone import COOKIE
from config import settings


def test_each_cookie_has_a_name_of_this_sites_own() -> None:
    names = {value for name, value in vars(settings).items() if name.endswith("COOKIE_NAME")}
    assert len(names) >= 5  # session, forms, messages, language, trusted browsers
    assert all(name.startswith("everlong_") for name in names | {COOKIE}), names
