"""The page's ES modules in one file, and one for each that is loaded on demand: forty requests on a
slow line are forty waits.

It knows just the forms that `static/js` uses: named imports of neighbours, `import("./name.js")` of
those that are loaded on demand, and exports of functions, classes and constants where they are
declared. Anything else is an error, so nothing goes wrong silently. Left out are indentation,
comments on lines of their own, and comments after code without quotes and slashes, which surely are
none of a text's words (of texts over several lines too): a quarter of the bytes.
"""

import re
from collections.abc import Callable, Iterable

IMPORT = re.compile(r'^import \{([^}]+)\} from "\./([\w-]+)\.js";\n', re.M)
ON_DEMAND = re.compile(r'\bimport\("\./([\w-]+)\.js"\)')
EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) ([\w$]+))", re.M)
COMMENT = re.compile(r"^ *(?://.*|/\*\*(?:.|\n)*?\*/)\n", re.M)  # on lines of its own
COMMENT_AFTER_CODE = re.compile(r"^([^\"'`/\n]*\S) +// .*$", re.M)
INDENT = re.compile(r"^ +", re.M)
LEFT = re.compile(r"^(?:import|export)\b.*$|\bimport\(.*$", re.M)


def bundle(entry: str, read: Callable[[str], str]) -> dict[str, str]:
    """Scripts by name: of a module with all it imports, and of each that it loads on demand;
    `read(name)` gives a module's source.

    All share one object with what each module exports. A script that comes later is called with it:
    it brings only modules that `entry` has not, and no module runs twice. Raises ValueError for an
    unknown form, where modules import each other, and for a module that is loaded on demand though
    it is there from the start.
    """
    parts = _collect(entry, read)
    scripts = {entry: f"const $modules = {{}};\n{''.join(parts.values())}"}
    waiting = _find_on_demand(parts.values())
    while waiting:
        name = waiting.pop()
        if name in parts:
            raise ValueError(f"{name}.js is loaded on demand, and imported from the start too.")
        if name in scripts:
            continue
        own = {each: part for each, part in _collect(name, read).items() if each not in parts}
        scripts[name] = (
            f"export default ($modules) => {{\n{''.join(own.values())}return {_scope(name)};\n}};\n"
        )
        waiting |= _find_on_demand(own.values())
    return scripts


def _collect(entry: str, read: Callable[[str], str]) -> dict[str, str]:
    """The modules that one needs, by name, each after those that it imports."""
    parts: dict[str, str] = {}
    _add(entry, read, parts, ())
    return parts


def _add(
    name: str, read: Callable[[str], str], parts: dict[str, str], path: tuple[str, ...]
) -> None:
    if name in path:
        raise ValueError(f"Modules import each other: {' → '.join((*path, name))}")
    if name in parts:
        return
    source = COMMENT_AFTER_CODE.sub(r"\1", COMMENT.sub("", read(name)))
    for match in IMPORT.finditer(source):
        _add(match[2], read, parts, (*path, name))
    exports = ", ".join(EXPORT.findall(source))
    body = IMPORT.sub(lambda match: f"const {{{match[1]}}} = {_scope(match[2])};\n", source)
    body = EXPORT.sub("", body)
    if unknown := LEFT.search(ON_DEMAND.sub("", body)):
        raise ValueError(f"{name}.js: the bundle does not know “{unknown[0]}”.")
    body = ON_DEMAND.sub(r"\g<0>.then((script) => script.default($modules))", body)
    body = INDENT.sub("", body)
    parts[name] = f"{_scope(name)} ??= (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"


def _find_on_demand(parts: Iterable[str]) -> set[str]:
    return {name for part in parts for name in ON_DEMAND.findall(part)}


def _scope(name: str) -> str:
    return f"$modules.{name.replace('-', '_')}"
