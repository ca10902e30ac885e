"""The links, files, functions and tests that the documents name exist, and all of them in here. So
does the code that docstrings and comments name. Lines of the documents, and files of the product,
are not too long to read."""

import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = {".md", ".py", ".js", ".css", ".html", ".toml", ".yml", ".conf", ""}  # Makefile has none
DATA = {"var", "shots", "locale"}
COLUMNS = 100  # of prose
LINES = 400  # of a file
SOURCES = {".py", ".js", ".css", ".html"}
# Documents that only some of the authors can see.
FOREIGN = re.compile(
    r"\bDESIGN\b|\.\./shared|\breference/|\[M\]|\bissue #?\d|\(see #\d"
    r"|next_house|house_style|stack_facts|_survey\b|retrieval_and_cost|peers_performance"
)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
TEST = re.compile(r"(test_\w+\.py)?(?:::(test_\w+))?")
# `chat/tasks.py`, `chat/live/runner.py: Runner.start`, `static/js/main.js`, `chat/html/`
PATH = re.compile(r"((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|js|md|css|html|toml|txt))?)(?:: ([\w.]+))?")
DOTTED = re.compile(r"((?:accounts|agent|bench|chat|config|demo)(?:\.\w+)+)(?:\(.*\))?")


def texts() -> list[Path]:
    """What people write here: no caches, no data, nothing hidden."""
    rooms = [path for path in ROOT.iterdir() if path.name[0] != "." and path.name not in DATA]
    found = [file for room in rooms for file in (room, *room.rglob("*")) if file.is_file()]
    named = (file.relative_to(ROOT) for file in found if file.suffix in WRITTEN)
    return sorted(file for file in named if not re.search(r"(^|/)(\.|__pycache__)", str(file)))


@cache
def read(path: Path) -> str:
    return (ROOT / path).read_text("utf-8")


DOCUMENTS = [
    path for path in texts() if path.suffix == ".md" and path.parts[0] in ("docs", path.name)
]


def prose(document: Path) -> str:
    """All but the blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", read(document), flags=re.M | re.S)


def code(document: Path) -> list[str]:
    """What stands between backticks, outside of blocks of code."""
    return CODE.findall(prose(document))


def remarks(source: Path) -> list[str]:
    """Its docstrings and comments."""
    with (ROOT / source).open("rb") as file:
        return [
            token.string
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT or token.string.startswith('"""')
        ]


def anchors(document: Path) -> set[str]:
    """Of its headings, as they are shown on the web."""
    headings = re.findall(r"^#+ (.+)$", read(document), re.M)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def defines(path: Path, name: str) -> bool:
    """Whether the file has a function, class, constant or field of this (dotted) name."""
    source = read(path)
    return all(
        re.search(rf"(?:\b(?:def|class|function|const|let) |^ *){re.escape(part)}\b", source, re.M)
        for part in name.split(".")
    )


def module(dotted: str) -> tuple[Path, str] | None:
    """The file of a dotted name, and what is left of the name."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        for path in (Path(*parts[:end]).with_suffix(".py"), Path(*parts[:end], "__init__.py")):
            if (ROOT / path).is_file():
                return path, ".".join(parts[end:])
    return None


@cache
def sources_by_name() -> dict[str, str]:
    """The source of all test files of a name."""
    found: dict[str, str] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        found[path.name] = found.get(path.name, "") + path.read_text("utf-8")
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_its_links_lead_somewhere(document: Path) -> None:
    for link in LINK.findall(read(document)):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / document.parent / name).resolve() if name else ROOT / document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.relative_to(ROOT)), link


def exists(text: str) -> bool:
    """Whether the path or dotted name is there; other code is left alone."""
    if match := PATH.fullmatch(text):
        path = Path(match[1])
        if not (ROOT / path.parts[0]).exists() or path.parts[0] in DATA:
            return True
        return (ROOT / path).exists() and (not match[2] or defines(path, match[2]))
    if match := DOTTED.fullmatch(text):
        found = module(match[1])
        return found is not None and (not found[1] or defines(*found))
    return True


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_the_code_that_it_names_exists(document: Path) -> None:
    assert [text for text in code(document) if not exists(text)] == []


def test_the_code_that_docstrings_and_comments_name_exists() -> None:
    missing = [
        (str(path), text)
        for path in texts()
        if path.suffix == ".py" and path.parent.name != "migrations"
        for said in remarks(path)
        for text in CODE.findall(said)
        if not exists(text)
    ]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_the_tests_that_it_names_exist(document: Path) -> None:
    """A test without a file is in the file named before it."""
    file = ""
    for text in code(document):
        match = TEST.fullmatch(text.rpartition("/")[2])
        if match and any(match.groups()):
            file = match[1] or file
            assert file in sources_by_name(), text
            assert not match[2] or f"def {match[2]}(" in sources_by_name()[file], text


def test_nothing_names_a_document_that_readers_do_not_have() -> None:
    named = {str(path): found[0] for path in texts() if (found := FOREIGN.search(read(path)))}
    named.pop(str(Path(__file__).relative_to(ROOT)))  # where they are listed
    assert named == {}


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_its_lines_are_short(document: Path) -> None:
    """Those of tables are not, and no link can be broken."""
    lines = LINK.sub("]()", prose(document)).splitlines()
    assert [line for line in lines if len(line) > COLUMNS and line.lstrip()[0] != "|"] == []


def test_no_source_file_is_too_long() -> None:
    """Of the product and the benchmarks. A migration is as long as what it does."""
    sources = [
        path
        for path in texts()
        if path.suffix in SOURCES and path.parts[0] != "tests" and path.parent.name != "migrations"
    ]
    sizes = {str(path): read(path).count("\n") for path in sources}
    assert {path: size for path, size in sizes.items() if size > LINES} == {}
