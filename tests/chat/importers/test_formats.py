"""Which format a file is, told by what it holds, and what is said of one that is none."""

from pathlib import Path
from typing import Any

import pytest

from chat.importers.archive import Archive
from chat.importers.errors import BrokenArchive, UnknownFormat
from chat.importers.formats import FORMATS, find_format
from chat.models import Origin
from tests.chat.importers.exports import chain, say, talk, write_json, write_zip

CHATGPT = talk(chain(say("user", "a")))
SHAREGPT = {"id": "x", "conversations": [{"from": "human", "value": "a"}]}
PI = {"type": "session", "version": 3, "id": "s", "cwd": "/"}


def find(*paths: Path) -> str:
    with Archive([(path.name, path) for path in paths]) as archive:
        return find_format(archive).NAME


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([CHATGPT], "chatgpt"),
        ([None, 5, {"title": "no mapping"}, {}, CHATGPT], "chatgpt"),
        (CHATGPT, "chatgpt"),
        ([SHAREGPT], "sharegpt"),
        (SHAREGPT, "sharegpt"),
        (PI, "pi"),
    ],
)
def test_a_file_is_known_by_the_shape_of_its_elements(
    tmp_path: Path, content: Any, expected: str
) -> None:
    assert find(write_json(tmp_path / "whatever.bin", content)) == expected
    assert find(write_zip(tmp_path / "export.zip", {"deep/in/it.json": content})) == expected


def test_a_file_that_breaks_off_is_known_by_its_beginning(tmp_path: Path) -> None:
    path = write_json(tmp_path / "talks.json", [CHATGPT, CHATGPT])
    path.write_bytes(path.read_bytes()[:-40])
    assert find(path) == "chatgpt"


def test_files_of_two_programs_are_not_imported_together(tmp_path: Path) -> None:
    paths = [write_json(tmp_path / "a", [CHATGPT]), write_json(tmp_path / "b", [SHAREGPT])]
    with pytest.raises(UnknownFormat, match=r"different programs \(ChatGPT, ShareGPT\)"):
        find(*paths)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.json": [{"id": 1}], "b.txt": b"words"}, "no export that is known"),
        ({"user.json": {"id": "user-1"}}, "no export that is known"),
        ({"a.json": []}, "no export that is known"),
        ({"a/export.zip": b"PK", "b.zip": b"PK"}, "holds other zips"),
        ({"manifest-ab12-2026.json": {"urls": []}}, "is a list of links"),
        ({}, "no export that is known"),
    ],
)
def test_what_is_no_export_is_told_the_next_step(
    tmp_path: Path, files: dict[str, Any], words: str
) -> None:
    with pytest.raises(UnknownFormat, match=words):
        find(write_zip(tmp_path / "export.zip", files))


def test_a_file_of_which_nothing_can_be_read_is_told_why(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "export.zip", {"conversations.json": b"[NaN]"})
    with pytest.raises(BrokenArchive, match=r"conversations\.json is not valid JSON"):
        find(path)


def test_names_fit_where_they_are_stored_and_differ() -> None:
    names = [one.NAME for one in FORMATS]
    assert len(set(names)) == len(names)
    most = Origin._meta.get_field("format").max_length
    assert most
    assert all(0 < len(name) <= most for name in names)
