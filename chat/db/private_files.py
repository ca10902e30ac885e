"""What the site keeps (conversations, attachments, keys) is for its own user of the machine."""

import os
import stat
from pathlib import Path

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

UMASK = 0o077  # other users cannot read what this process creates
OTHERS = 0o077


def keep_private() -> None:
    """Called when a process that writes starts. Its new files are private, and so are those
    in DATA_DIR that others could read until now. The log names what could not be changed."""
    os.umask(UMASK)
    for path in close_to_others(settings.DATA_DIR):
        log.warning(
            "others can read files of the site",
            path=str(path),
            next_step="Run all its processes as the user who owns them, then: chmod -R go= PATH",
        )
    if settings.ENV_FILE.is_file() and _is_open(settings.ENV_FILE):
        log.warning(
            "others can read the file with the keys",
            path=str(settings.ENV_FILE),
            next_step=f"chmod 600 {settings.ENV_FILE}",
        )


def close_to_others(directory: Path) -> list[Path]:
    """Take the rights of others from a directory and what is in it; returns what belongs to another
    user. Inside, directories that nobody else can enter are not searched."""
    found = [directory]
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink() and _is_open(entry):
            # From the bottom: where this is cut short, the next start goes on.
            for root, _, names in os.walk(entry, topdown=False):
                found += [*(Path(root, name) for name in names), Path(root)]
        else:
            found.append(entry)
    return [path for path in found if not _close(path)]


def _close(path: Path) -> bool:
    """Take the rights of others from one file or directory; False where that is not allowed."""
    try:
        if not path.is_symlink() and _is_open(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
    except PermissionError:
        return False
    except FileNotFoundError:
        pass  # gone meanwhile, as SQLite's log files may be
    return True


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & OTHERS)
