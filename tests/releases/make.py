"""`python -m tests.releases.make`: what is kept of a release, in tests/releases/VERSION/.

The sums of all migrations, and a small database of each engine with data of every kind, with its
files. Run it once, when a release is made: 10 seconds. The tests bring these databases to the
tables of their time.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from io import StringIO
from pathlib import Path

from config.version import VERSION
from tests.releases.dumps import dump_postgres, dump_sqlite, start_postgres_to_dump
from tests.support.server import ROOT, sqlite_url
from tests.support.services import free_port

RELEASES = Path(__file__).parent
MIGRATIONS, FILES = "migrations.json", "media.zip"
SQLITE, POSTGRES = "sqlite.sql", "postgresql.sql"
SECRET_KEY = "of-the-databases-that-releases-left"  # decrypts the keys in them


def sum_migrations() -> dict[str, str]:
    """The SHA-256 of each migration of ours, by its path in the checkout."""
    found = sorted(ROOT.glob("*/migrations/[0-9]*.py"))
    return {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found
    }


def main() -> None:
    directory = RELEASES / VERSION
    if directory.exists():
        raise SystemExit(f"{directory} is there. Delete it, if {VERSION} is not released yet.")
    with tempfile.TemporaryDirectory(prefix="everlong-release-") as name:
        data, port = Path(name), free_port()
        prepare_settings(data, port)
        made = make_databases(data, port)
        directory.mkdir()
        shutil.make_archive(str(directory / "media"), "zip", data / "media")
    for file, text in made.items():
        (directory / file).write_text(text)
    sums = json.dumps(sum_migrations(), indent=2) + "\n"
    (directory / MIGRATIONS).write_text(sums)
    kept = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    sys.stdout.write(f"{directory.relative_to(ROOT)}: {kept / 1000:.0f} kB. Commit it.\n")


def prepare_settings(data: Path, port: int) -> None:
    """Load Django on an empty directory."""
    (data / "static").mkdir()  # WhiteNoise warns where there is none
    os.environ |= {
        "ENV_FILE": os.devnull,
        "DATA_DIR": str(data),
        "DATABASE_URL": sqlite_url(data),
        "REDIS_URL": "",
        "SECRET_KEY": SECRET_KEY,
        "ALLOWED_HOSTS": "testserver",
        "ANTHROPIC_API_KEY": "test-key",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "MODEL_RETRIES": "0",
        "LOG_LEVEL": "ERROR",
        "NO_PROXY": "127.0.0.1",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    import django

    django.setup()


def make_databases(data: Path, port: int) -> dict[str, str]:
    """Both databases as SQL, by file name; the files are left in `data`."""
    from django.core.management import call_command

    from demo.api.server import DemoServer
    from tests.chat.sockets import MODELS
    from tests.releases import fill, talk

    call_command("migrate", verbosity=0)
    ada = fill.fill()
    with DemoServer(models=MODELS, port=port) as model:
        talk.talk(ada, model)
    fill.give_fixed_values()
    fill.check_is_complete()
    server, programs = start_postgres_to_dump()
    try:
        url = server.fresh_database()
        call_command("copy_database", url, stdout=StringIO())
        return {
            SQLITE: dump_sqlite(data / "everlong.sqlite3"),
            POSTGRES: dump_postgres(url, programs),
        }
    finally:
        server.stop()


if __name__ == "__main__":
    main()
