"""What pages may load, and where they may send: nothing inline, and nothing from elsewhere."""

from collections.abc import Iterable
from typing import Any

from csp.constants import NONE, SELF


def make_policy(form_origins: Iterable[str]) -> dict[str, Any]:
    """The site's Content Security Policy, as django-csp takes it. `form_origins`: those that the
    answer to a form may lead on to, which Chromium asks `form-action` about too."""
    return {
        "DIRECTIVES": {
            "default-src": [NONE],
            "script-src": [SELF],
            "style-src": [SELF],
            "img-src": [SELF, "data:"],
            "font-src": [SELF],
            "connect-src": [SELF],
            "form-action": [SELF, *form_origins],
            "base-uri": [NONE],
            "frame-ancestors": [NONE],
            "manifest-src": [SELF],
        },
    }
