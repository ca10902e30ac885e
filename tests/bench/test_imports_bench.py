"""The export that the benchmark makes is one that can be read to its end."""

from pathlib import Path

from bench.imports import read_export, write_export
from chat.importers.archive import Archive
from chat.importers.chatgpt import read
from chat.importers.records import ImportedConversation


def test_what_is_made_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    write_export(path, json_bytes=300_000, file_bytes=800_000)
    with Archive([("export.zip", path)]) as archive:
        found = list(read(archive))
    talks = [each for each in found if isinstance(each, ImportedConversation)]
    assert len(talks) == len(found) > 1
    assert sum(len(message.files) for talk in talks for message in talk.messages) > 0
    assert all(talk.leaf == talk.messages[-1].origin for talk in talks)
    assert "0 missing" in read_export(path)
