"""Names of an MCP server's tools as the API takes them, and back.

The API takes letters, digits, `_` and `-`; servers also use `.`, `/` and others. Each other
character becomes `_x2e_`, its code point in hexadecimal, so that two names never become one, a name
does not depend on which others are listed, and the page can show the server's own name.
"""

import re
from hashlib import sha256

# With the server's name, 30 characters, and what joins them within the API's 128.
MOST = 96
# What no name of the API may hold, and an underscore that would read as the beginning of an escape.
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]|_(?=x[0-9a-f]*(?:_|[^a-zA-Z0-9_-]))")
_ESCAPED = re.compile(r"_x([0-9a-f]{1,6})_")
_SHORTENED = re.compile(r"_x_[0-9a-f]{8}$")


def declare_name(name: str) -> str:
    """The name that a request declares, the same every time. A name that is too long is cut, and
    ends in a hash of the whole."""
    declared = _STRANGE.sub(lambda match: f"_x{ord(match[0]):x}_", name)
    if len(declared) <= MOST:
        return declared
    end = f"_x_{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return declared[: MOST - len(end)] + end


def read_own_name(declared: str) -> str:
    """The server's own name of a tool, to be shown; of a shortened one the beginning."""
    return _SHORTENED.sub("…", _ESCAPED.sub(_unescaped, declared))


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    character = chr(code) if code < 0x110000 else ""
    return character if character.isprintable() and character else match[0]
