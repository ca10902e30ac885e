"""The one HTML sanitiser: what our renderers can produce passes, and nothing else."""

import re
from html import escape
from typing import Any

import nh3
from pygments.token import STANDARD_TYPES

from chat.html.directions import BLOCKS
from chat.html.formulas import ATTRIBUTE_VALUES, ATTRIBUTES, TAGS

LINK_SCHEMES = {"http", "https", "mailto"}
MAX_PART = 8_000  # characters

_UNSAFE_CHARACTERS = re.compile("[\0\ud800-\udfff]")
_TAGS = """
    a blockquote br code del div em h3 h4 h5 h6 hr input label li ol p pre s span
    section strong sup table tbody td th thead tr ul
"""
_cleaner = nh3.Cleaner(
    tags=set(_TAGS.split()) | TAGS,
    attributes={
        "*": set(),
        "a": {"href", "data-label"},
        "ol": {"start"},
        "input": {"checked", "disabled"},
        **ATTRIBUTES,
    },
    tag_attribute_values={
        # Content that is wider than the page can be scrolled by keyboard too.
        "div": {"tabindex": {"0"}},
        "pre": {"tabindex": {"0"}},
        "span": {"tabindex": {"0"}},
        "input": {"type": {"checkbox"}},
        **dict.fromkeys(BLOCKS, {"dir": {"auto"}}),
        **ATTRIBUTE_VALUES,
    },
    set_tag_attribute_values={
        "a": {"target": "_blank"},
        "code": {"dir": "ltr"},
        "input": {"disabled": ""},
        "pre": {"dir": "ltr"},
    },
    allowed_classes={
        "a": {"image-link"},
        "code": {"math-source"},
        "div": {"code-block", "code-header", "table-block", "table-scroll"},
        "input": {"task-list-item-checkbox"},
        "li": {"footnote", "task-list-item"},
        "ol": {"contains-task-list"},
        "p": {"plain"},
        "section": {"footnotes"},
        "span": {
            "code-language",
            "date",
            "footnote-back",
            "math-block",
            *filter(None, STANDARD_TYPES.values()),
        },
        "sup": {"footnote-ref"},
        "td": {"align-left", "align-center", "align-right"},
        "th": {"align-left", "align-center", "align-right"},
        "ul": {"contains-task-list"},
    },
    link_rel="noopener noreferrer nofollow",
    url_schemes=LINK_SCHEMES,
    url_relative="deny",
)


def sanitise_html(html: str) -> str:
    """HTML without any element, attribute, class or address that is not in the lists above."""
    return _cleaner.clean(html)


def takes_address(url: str) -> bool:
    """Whether a link to an address passes: its scheme is allowed, and a browser could open it. Of
    any other link the sanitiser would leave the words without the address."""
    return "href=" in _cleaner.clean(f'<a href="{escape(url)}">')


def as_string(value: Any) -> str:
    """What stands where a text belongs, as one: servers and imports may send anything."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def clean_text(text: str) -> str:
    """Without NUL and lone surrogates, which neither nh3 nor a socket frame can carry.

    Each becomes U+FFFD, one UTF-16 unit like the original, so offsets stay true.
    """
    return _UNSAFE_CHARACTERS.sub("\ufffd", text)


def escape_in_parts(text: str) -> str:
    """A text escaped: a long one in elements of its own, as the sanitiser takes quadratic time for
    one that is full of "&" or of spaces that do not break."""
    if len(text) <= MAX_PART:
        return escape(text)
    parts = (text[at : at + MAX_PART] for at in range(0, len(text), MAX_PART))
    return "".join(f"<span>{escape(part)}</span>" for part in parts)
