"""The page's ES modules as one script: sixty requests on a slow line are sixty waits.

The modules stand one after the other in one scope, each after those that it imports. It knows just
the forms that `static/js` uses: named imports by a relative path, and exports of functions, classes
and constants where they are declared. Anything else is an error, and so is a name that two modules
declare. Comments are left out, and white space but what keeps words apart: the formatter has put
a semicolon after each statement.
"""

import posixpath
import re
from collections.abc import Callable

NAMES = r"\s*[\w$]+(?:,\s*[\w$]+)*,?\s*"
IMPORT = re.compile(rf'^import {{{NAMES}}} from "(\.{{1,2}}/[\w./]+)\.js";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) )", re.M)
UNKNOWN = re.compile(r"^(?:import|export)\b.*$|\bimport\(.*$", re.M)
DECLARED = re.compile(r"^(?:async function|function|class|const|let) ([\w$]+)", re.M)
# A pattern stands where a value begins; elsewhere a slash divides. The comma before a bracket that
# ends a list goes with the space.
TEXT_PATTERN_OR_SPACE = re.compile(
    r"""
      (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|\$\{(?:[^{}`]|`[^`]*`)*\}|[^`\\])*`)
    | (?P<before>[(,=:[!&|?{};>])\s*(?P<pattern>/(?![/*])(?:\\.|\[(?:\\.|[^]\\])*\]|[^/\\[\n])+/)
    | (?P<space>(?:\s|//[^\n]*|/\*.*?\*/|,(?=\s*[])}]))+)
    """,
    re.X | re.S,
)
WOULD_JOIN = re.compile(r"[\w$]{2}|\+\+|--")


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """The script of a module with all it imports; `read(name)` gives the source of a module by its
    path without ".js", such as "composer/draft".

    Raises ValueError for an unknown form, where modules import each other, and for a name that is
    declared twice.
    """
    parts: dict[str, str] = {}
    _collect(entry, read, parts, ())
    declared: dict[str, str] = {}
    for module, part in parts.items():
        for name in DECLARED.findall(part):
            if name in declared:
                raise ValueError(f"“{name}” is declared in {declared[name]}.js and {module}.js.")
            declared[name] = module
    return _shrink("".join(parts.values()))


def _collect(
    name: str, read: Callable[[str], str], parts: dict[str, str], path: tuple[str, ...]
) -> None:
    """Add a module, after those that it imports; `path`: which modules led to it."""
    if name in path:
        raise ValueError(f"Modules import each other: {' → '.join((*path, name))}")
    if name in parts:
        return
    source = read(name)
    for imported in IMPORT.findall(source):
        _collect(
            posixpath.normpath(f"{posixpath.dirname(name)}/{imported}".lstrip("/")),
            read,
            parts,
            (*path, name),
        )
    parts[name] = EXPORT.sub("", IMPORT.sub("", source))
    if unknown := UNKNOWN.search(parts[name]):
        raise ValueError(f"{name}.js: the bundle does not know “{unknown[0]}”.")


def _shrink(script: str) -> str:
    """Without comments and white space that are not parts of texts."""

    def replace(found: re.Match[str]) -> str:
        if not found["space"]:
            return found["text"] or found["before"] + found["pattern"]
        around = script[found.start() - 1 : found.start()] + script[found.end() : found.end() + 1]
        return " " if WOULD_JOIN.fullmatch(around) else ""

    return TEXT_PATTERN_OR_SPACE.sub(replace, script)
