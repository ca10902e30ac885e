"""The page's ES modules in one file: forty requests on a slow line are forty waits.

It knows just the forms that `static/js` uses: named imports of neighbours, and exports of
functions, classes and constants where they are declared. Anything else is an error, so it cannot go
wrong in silence. Comments on lines of their own are left out: a fifth of the bytes.
"""

import re
from collections.abc import Callable

IMPORT = re.compile(r'^import \{([^}]+)\} from "\./([\w-]+)\.js";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) ([\w$]+))", re.M)
COMMENT = re.compile(r"^ *(?://.*|/\*\*(?:.|\n)*?\*/)\n", re.M)  # on lines of its own
LEFT = re.compile(r"^(?:import|export)\b.*$", re.M)


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """One script for a module and all it imports; `read(name)` gives a module's source. Raises
    ValueError for a form that is not known here, and where modules import each other."""
    parts: dict[str, str] = {}
    _add(entry, read, parts, ())
    return "".join(parts.values())


def _add(
    name: str, read: Callable[[str], str], parts: dict[str, str], path: tuple[str, ...]
) -> None:
    if name in path:
        raise ValueError(f"Modules import each other: {' → '.join((*path, name))}")
    if name in parts:
        return
    source = COMMENT.sub("", read(name))
    for match in IMPORT.finditer(source):
        _add(match[2], read, parts, (*path, name))
    exports = ", ".join(EXPORT.findall(source))
    body = IMPORT.sub(lambda match: f"const {{{match[1]}}} = {_scope(match[2])};\n", source)
    body = EXPORT.sub("", body)
    if unknown := LEFT.search(body):
        raise ValueError(f"{name}.js: the bundle does not know “{unknown[0]}”.")
    parts[name] = f"const {_scope(name)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"


def _scope(name: str) -> str:
    return f"${name.replace('-', '_')}"
