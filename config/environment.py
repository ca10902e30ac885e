"""The environment, and `.env` below it. `config/settings.py` and the Makefile both ask here.

Only the standard library, and annotations that old interpreters skip: make asks before there is a
`.venv`, by `python config/environment.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from pathlib import Path

# The checkout. In a wheel, the directory in which a process is started takes its place, and
# templates and static files lie beside this file.
ROOM = Path(__file__).resolve().parent
INSTALLED = (ROOM / "templates").is_dir()
BASE_DIR = Path.cwd() if INSTALLED else ROOM.parent
FILES_DIR = ROOM if INSTALLED else BASE_DIR

# The form that python-dotenv and Docker Compose read too.
LINE = re.compile(
    r"""[^\S\n]*(?:export[^\S\n]+)?(?P<name>[A-Za-z_][\w.-]*)[^\S\n]*
    (?:=(?P<gap>[^\S\n]*)(?:
        '(?P<single>(?:\\.|[^'\\])*)'
        | "(?P<double>(?:\\.|[^"\\])*)"
        | (?P<plain>(?!['"])[^\n]*)
    ))?[^\S\n]*(?:\#[^\n]*)?(?:\n|$)""",
    re.X | re.S,
)
NOTHING = re.compile(r"[^\S\n]*(?:\#[^\n]*)?(?:\n|$)")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
REFERENCE = re.compile(r"\$\{(?P<name>[^}:]*)(?::-(?P<default>[^}]*))?\}")
# In which make and the shell see no more than a name.
PLAIN_PATH = re.compile(r"[\w./][\w./+@-]*", re.A)
LINKS = BASE_DIR / ".venv"


class WrongSetting(ValueError):
    """A setting that cannot be used. The message names it, and says what is possible."""


def find_env_file() -> Path:
    """`ENV_FILE`, or `.env` in the checkout. It need not exist."""
    return BASE_DIR / (os.environ.get("ENV_FILE") or ".env")


def load_env_file() -> None:
    """Put what `.env` says into `os.environ`, where that has no such variable. Raises
    WrongSetting."""
    path = find_env_file()
    if path.is_dir():
        raise WrongSetting(f"{path} is a directory; it can be a file of lines NAME=value.")
    if not path.exists():
        return
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSetting(f"{path} cannot be read ({error}).") from None
    for name, value in parse_env(text, str(path)).items():
        os.environ.setdefault(name, value)


def parse_env(text: str, origin: str = ".env") -> dict[str, str]:
    """The variables of a text of lines `NAME=value`, in which `${NAME}` stands for those above and
    for those of the environment. Raises WrongSetting, with the number of the line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        if nothing := NOTHING.match(text, at):
            at = nothing.end()
            continue
        line = LINE.match(text, at)
        if line is None:
            number = text.count("\n", 0, at) + 1
            raise WrongSetting(
                f"Line {number} of {origin} cannot be read; it can be NAME=value. A value with "
                "quotes or # in it stands in quotes."
            )
        at = line.end()
        value = _read_value(line)
        if value is not None:
            found[line["name"]] = REFERENCE.sub(
                lambda match: {**found, **os.environ}.get(match["name"], match["default"] or ""),
                value,
            )
    return found


def _read_value(line: re.Match[str]) -> str | None:
    if line["single"] is not None:
        return re.sub(r"\\([\\'])", r"\1", line["single"])
    if line["double"] is not None:
        return re.sub(
            r"\\([\\'\"abfnrtv])", lambda match: ESCAPES.get(match[1], match[1]), line["double"]
        )
    if line["plain"] is not None:
        return re.sub(r"\s+#.*", "", line["gap"] + line["plain"]).strip()
    return None


def find_data_dir() -> Path:
    """`DATA_DIR`, or `var`; a relative one counts from the checkout, and no shell has expanded the
    "~" of one in `.env`. Raises WrongSetting."""
    given = os.environ.get("DATA_DIR", "var")
    if not given.strip():
        raise WrongSetting(
            "DATA_DIR is empty; it can be a directory, such as var or /srv/everlong. Set it, or "
            "remove it."
        )
    path = Path(os.path.abspath(BASE_DIR / os.path.expanduser(given)))
    if path == BASE_DIR and not INSTALLED:
        raise WrongSetting(
            f"DATA_DIR is “{given}”, the checkout; it can be a directory of its own, such as var."
        )
    return path


def make_data_dir() -> Path:
    """The data directory, which is made if it is missing. Raises WrongSetting."""
    path = find_data_dir()
    reason = ""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = f" ({error.strerror})"
    if reason or not os.access(path, os.W_OK | os.X_OK):
        raise WrongSetting(
            f"DATA_DIR is “{path}”; it can be a directory in which this user may write{reason}."
        )
    return path.resolve()


def name_for_make(path: Path) -> str:
    """A name of a data directory that make can use: its own, or that of a link to it, as a name in
    a Makefile holds no blanks."""
    shown = os.path.relpath(path, BASE_DIR) if BASE_DIR in path.parents else str(path)
    if PLAIN_PATH.fullmatch(shown):
        return shown
    make_data_dir()
    LINKS.mkdir(exist_ok=True)
    link = LINKS / (".data-" + hashlib.sha256(os.fsencode(path)).hexdigest()[:12])
    with contextlib.suppress(FileExistsError):
        link.symlink_to(path)
    return os.path.relpath(link, BASE_DIR)


def main() -> None:
    """For make: the name of the data directory, and that of the database if it is a file in there
    that exists. In words on stderr, and with `wrong` for make, what cannot be used."""
    try:
        load_env_file()
        name = name_for_make(find_data_dir())
    except WrongSetting as error:
        sys.stderr.write(f"{error}\n")
        sys.stdout.write("wrong")
        return
    database = os.path.join(name, "everlong.sqlite3")
    has_file = "DATABASE_URL" not in os.environ and (BASE_DIR / database).exists()
    sys.stdout.write(f"{name} {database if has_file else ''}")


if __name__ == "__main__":
    main()
