"""Exports of Claude.ai, as others keep them for their own importers: nothing in them is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from chat.importers.archive import Archive
from chat.importers.formats import find_format
from chat.importers.records import ImportedConversation, Skipped
from tests.chat.importers.rival_exports import check
from tests.data.conftest import part

FOLDER = "chat_exports"


@pytest.fixture(scope="module")
def listed(data_directory: Path) -> list[dict[str, Any]]:
    index = part(data_directory, FOLDER) / FOLDER / "index.json"
    return [each for each in json.loads(index.read_text()) if each["kind"] == "claude"]


def test_each_conversation_is_there_or_told(
    data_directory: Path, listed: list[dict[str, Any]]
) -> None:
    assert listed
    for each in listed:
        path = data_directory / FOLDER / each["file"]
        elements = json.loads(path.read_text())
        with Archive([(path.name, path)]) as archive:
            form = find_format(archive)
            found = list(form.read(archive))
        assert form.NAME == "claude_ai"
        conversations = [one for one in found if isinstance(one, ImportedConversation)]
        skipped = [one for one in found if isinstance(one, Skipped)]
        assert len(conversations) + len(skipped) == each["conversations"], each["file"]
        for one in conversations:
            check(one)
            (own,) = (e for e in elements if e["uuid"] == one.origin)
            assert one.tally.kept + one.tally.dropped.total() == len(own["chat_messages"])
        # Nothing but what holds no message is left out.
        left = [e for e in elements if e.get("chat_messages")]
        assert len(conversations) == len(left), each["file"]
