"""A backup is a directory: the database as a file of SQLite, whichever the site has, and its files.
What decrypts the keys of providers is not in it."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command

from agent.errors import AgentError
from chat.engine.providers import read_endpoint
from chat.models import Attachment, Provider
from chat.services.site.copying import CannotCopy, Report, connected, copy_database

DATABASE, FILES = "everlong.sqlite3", "media"
ATTACHMENT = ("name", "file", "size", "original", "original_size")


def make_backup(directory: Path, report: Report) -> dict[str, int]:
    """Write a backup into a new directory, while the site is used or not. Returns the number of
    rows by table, and of `files`. Raises CannotCopy."""
    if directory.exists() and any(directory.iterdir()):
        raise CannotCopy(f"{directory} is not empty. Name a new directory.")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Before: what is deleted meanwhile is still in the rows. After: what came meanwhile.
    _copy_files(settings.MEDIA_ROOT, directory / FILES)
    part = directory / f"{DATABASE}.part"
    rows = copy_database(settings.DATABASES["default"], _sqlite(part), report)
    _copy_files(settings.MEDIA_ROOT, directory / FILES)
    part.rename(directory / DATABASE)  # half a backup must not look like one
    return rows | {"files": sum(each.is_file() for each in (directory / FILES).rglob("*"))}


def restore_backup(directory: Path, report: Report) -> dict[str, int]:
    """Fill the site's own database and its directory of files, both empty until now, from a backup
    of this version or an earlier one. Returns the numbers of rows by table. Raises CannotCopy."""
    if not (directory / DATABASE).is_file():
        raise CannotCopy(f"{directory} is no backup: it has no {DATABASE}.")
    _copy_files(directory / FILES, settings.MEDIA_ROOT)
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR) as name:
        copied = _sqlite(Path(shutil.copy(directory / DATABASE, name)))
        with connected("restored", copied):
            call_command("migrate", database="restored", verbosity=0, interactive=False)
        return copy_database(copied, settings.DATABASES["default"], report)


def find_damage() -> list[str]:
    """What the site could not use of its own data, in words: files that are missing or cut, keys
    that no secret decrypts."""
    found = []
    for row in Attachment.objects.only(*ATTACHMENT).iterator():
        for file, size in ((row.file, row.size), (row.original, row.original_size)):
            path = Path(settings.MEDIA_ROOT, file.name or "")
            if file and not (path.is_file() and path.stat().st_size == size):
                found.append(f"The file of “{row.name}” is missing or not whole: {path}")
    for provider in Provider.objects.all():
        try:
            read_endpoint(provider)
        except AgentError:
            found.append(
                f"The key of the provider “{provider.name}” cannot be decrypted. Put back the "
                "SECRET_KEY (without one: the file secret_key in DATA_DIR) or the ENCRYPTION_KEYS "
                "with which it was stored."
            )
    return found


def name_secrets() -> list[str]:
    """Where the secrets are that a restored site needs: they belong apart from the backup."""
    file = settings.DATA_DIR / "secret_key"
    is_file = file.exists() and file.read_text() == settings.SECRET_KEY
    return [
        str(file) if is_file else "SECRET_KEY",
        *["ENCRYPTION_KEYS"] * bool(settings.ENCRYPTION_KEYS),
    ]


def _sqlite(path: Path) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}


def _copy_files(source: Path, target: Path) -> None:
    """All that is not there yet."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in sorted(Path(source).rglob("*")):
        copy = target / path.relative_to(source)
        if path.is_dir():
            copy.mkdir(mode=0o700, exist_ok=True)
        elif not copy.exists():
            part = copy.with_name(f"{copy.name}.part")
            with suppress(FileNotFoundError):  # deleted meanwhile
                shutil.copy2(path, part)
                part.rename(copy)
