"""Where somebody's browser is: each page of the chat sets a cookie, which all of its requests and
sockets bring. See `static/js/base/moments.js`."""

from collections.abc import Mapping
from urllib.parse import unquote

from agent.clock import find_zone

COOKIE = "everlong_zone"


def read_zone(cookies: Mapping[str, str]) -> str:
    """The time zone's name; "" where the browser did not say it, or nobody knows such a zone."""
    name = unquote(cookies.get(COOKIE, ""))
    return name if find_zone(name) else ""
