"""Stored files that belong to nothing."""

import os
import time
from pathlib import Path

import pytest
from pytest_django import Settings

from chat.services.library import attachments
from tests.chat.factories import make_user

DAY = 24 * 3600


@pytest.mark.django_db
def test_a_file_that_no_row_has_had_for_a_day_is_deleted(
    settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    kept = attachments.store_unsent(make_user(), "kept.txt", b"kept")
    folder = Path(kept.file.path).parent
    orphan, new = folder / "orphan", folder / "new"
    for path in (orphan, new):
        path.write_bytes(b"left behind")
    long_ago = time.time() - DAY - 60
    for path in (orphan, Path(kept.file.path)):
        os.utime(path, (long_ago, long_ago))
    assert attachments.delete_orphans() == 1
    assert {path.name for path in folder.iterdir()} == {new.name, Path(kept.file.path).name}
