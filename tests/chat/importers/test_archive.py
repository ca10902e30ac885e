"""Files from strangers: what can be read is read, and what is wrong with the rest is said."""

import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat.importers.archive import Archive
from chat.importers.elements import read_elements
from chat.importers.errors import BrokenArchive, HostileArchive, Unimportable
from chat.importers.json_bounds import Unreadable
from chat.importers.records import Skipped
from chat.importers.zips import Limits
from tests.chat.importers.exports import write_json, write_zip


def read_all(path: Path, limits: Limits | None = None) -> list[Any]:
    """The elements of all files, and what is said of the end of those that break off."""
    with Archive([(path.name, path)], limits=limits) as archive:
        found: list[Any] = []
        for member in archive.members:
            try:
                found += archive.elements(member)
            except BrokenArchive as broken:
                found.append(str(broken))
        return found


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'[{"a": 1}, {"a": 2.5}]', [{"a": 1}, {"a": 2.5}]),
        (b'\xef\xbb\xbf [{"a": "\xc3\xa9"}]', [{"a": "é"}]),
        (b'{"a": 1}', [{"a": 1}]),
        (b'{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        (b'[{"a": 1, "a": 2}]', [{"a": 2}]),
        (b'["a\\u0000b"]', ["a\ufffdb"]),
        (b"[]", []),
    ],
)
def test_json_is_read_an_element_at_a_time(tmp_path: Path, data: bytes, expected: Any) -> None:
    assert read_all(write(tmp_path / "talks.json", data)) == expected


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        (b"", "breaks off in the middle"),
        (b"{", "breaks off in the middle"),
        (b"NaN]", "not valid JSON from one place on"),
        (b"Infinity]", "not valid JSON from one place on"),
        (b"1e999]", "not valid JSON from one place on"),
        (b"9" * 40 + b"]", "not valid JSON from one place on"),
        (b'{"a" 1}]', "not valid JSON from one place on"),
        (b'"\xff\xfe"]', "not in UTF-8"),
        (b"3] and more", "not valid JSON from one place on"),
    ],
)
def test_what_stands_before_a_fault_is_read(tmp_path: Path, rest: bytes, words: str) -> None:
    found = read_all(write(tmp_path / "talks.json", b'[{"a": 1}, {"a": 2}, ' + rest))
    assert found[:2] == [{"a": 1}, {"a": 2}]
    assert words in found[-1]
    assert "talks.json" in found[-1]


def test_names_that_repeat_are_in_memory_once(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"some_name": n, f"{n}" * 40: 0} for n in range(3)] * 2000))
    with Archive([(path.name, path)]) as archive:
        found = list(archive.elements(archive.members[0]))
    assert {tuple(element)[0] for element in found} == {"some_name"}
    assert len({id(name) for element in found for name in element if name == "some_name"}) == 1
    assert sorted(found[2].values()) == [0, 2]


def test_half_a_character_does_not_reach_the_database(tmp_path: Path) -> None:
    (text,) = read_all(write(tmp_path / "talks.json", b'["a \\ud83d b"]'))
    assert text.encode()
    (pair,) = read_all(write(tmp_path / "pair.json", b'["\\ud83d\\ude00"]'))
    assert pair == "\N{GRINNING FACE}"


def nest(times: int) -> bytes:
    """Arrays in each other, with words in between that look like the ends of others."""
    return b'["]]}}\\\\\\"", ' * times + b"1" + b"]" * times


def test_only_the_element_that_is_nested_too_deeply_is_lost(tmp_path: Path) -> None:
    found = read_all(
        write(tmp_path / "talks.json", b"[1, " + nest(199) + b"," + nest(201) + b",2]")
    )
    assert (found[0], found[3]) == (1, 2)
    assert isinstance(found[1], list)
    assert isinstance(found[2], Unreadable)


def test_nesting_beyond_all_trees_of_messages_ends_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "deep.json", b"[1, " + b" " * 100_000 + nest(300_000) + b", 2]")
    found = read_all(path)
    assert found[0] == 1
    assert "nested too deeply" in found[-1]


def test_a_tree_of_messages_may_be_nested_by_the_thousand(tmp_path: Path) -> None:
    path = write(tmp_path / "talks.json", b"[" + nest(5_000) + b"]")
    with Archive([("talks.json", path)]) as archive:
        (deep,) = archive.elements(archive.members[0], depth=archive.limits.depth)
    for _ in range(4_999):
        deep = deep[1]
    assert deep == [']]}}\\"', 1]


@pytest.mark.parametrize(
    ("element", "limits"),
    [("x" * 2_000, Limits(element=1_000)), ([[]] * 300, Limits(values=200))],
)
def test_an_element_is_bounded_in_bytes_and_in_parts(
    tmp_path: Path, element: Any, limits: Limits
) -> None:
    path = write_json(tmp_path / "talks.json", [element])
    (said,) = read_all(path, limits)
    assert "larger than" in said
    assert read_all(path) == [element]


def test_the_files_after_a_broken_one_are_read(tmp_path: Path) -> None:
    files = {"a.json": b'[{"a": 1}, 5, {"a"', "b.json": [{"b": 1}]}
    path = write_zip(tmp_path / "export.zip", files)
    with Archive([("export.zip", path)]) as archive:
        found = list(read_elements(archive, archive.members))
    assert [each for each in found if not isinstance(each, Skipped)] == [
        ("export.zip: a.json, 1", {"a": 1}),
        ("export.zip: b.json, 1", {"b": 1}),
    ]
    skipped = [each for each in found if isinstance(each, Skipped)]
    assert [each.name for each in skipped] == ["export.zip: a.json, 2", "export.zip: a.json, 3"]
    assert "breaks off" in skipped[1].reason


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"<!DOCTYPE html><title>Sign in</title>", "is a web page"),
        (b"\xff\xfe[\x00", "not in UTF-8"),
        (b"Rar!\x1a\x07", "neither a zip nor JSON"),
        (b"\x1f\x8b\x08", "neither a zip nor JSON"),
    ],
)
def test_a_file_of_another_kind_is_told_what_it_is(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(BrokenArchive, match=words):
        read_all(write(tmp_path / "export", data))


def test_a_folder_and_a_file_that_is_gone_are_told(tmp_path: Path) -> None:
    with pytest.raises(BrokenArchive, match="is a folder"):
        read_all(tmp_path)
    with pytest.raises(BrokenArchive, match="cannot be opened"):
        read_all(tmp_path / "gone.json")


# --- Zips -----------------------------------------------------------------------------------------


def test_files_of_several_zips_are_found_by_name_in_whatever_folder(tmp_path: Path) -> None:
    one = write_zip(tmp_path / "one.zip", {"export/inner/user.json": [1], "user.json": [2]})
    two = write_zip(tmp_path / "two.zip", {"a/b/names.json": [3], "__MACOSX/._names.json": [4]})
    alone = write_json(tmp_path / "alone.json", [5])
    with Archive([(path.name, path) for path in (one, two, alone)]) as archive:
        assert len(archive.members) == 4
        assert {member.label for member in archive.members} == {
            "one.zip: export/inner/user.json",
            "one.zip: user.json",
            "two.zip: a/b/names.json",
            "alone.json",
        }
        for name, expected in (("user.json", 2), ("names.json", 3), ("alone.json", 5)):
            member = archive.find(name)
            assert member
            assert list(archive.items(member)) == [expected]
        assert archive.find("other.json") is None


def test_two_members_of_one_name_are_two(tmp_path: Path) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("talks.json", "[1]")
        with pytest.warns(UserWarning, match="Duplicate name"):
            opened.writestr("talks.json", "[2]")
    assert read_all(path) == [1, 2]


def test_progress_is_told_in_bytes_of_the_files_as_they_were_given(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "export.zip", {"a.json": [["word"] * 50_000, 1], "b.json": [2]})
    with Archive([("export.zip", path)]) as archive:
        assert (archive.size, archive.bytes_read) == (path.stat().st_size, 0)
        first, second = archive.members
        list(archive.items(first))
        after_one = archive.bytes_read
        list(archive.items(first))  # again: it is no further
        assert archive.bytes_read == after_one > 0
        list(archive.items(second))
        assert after_one < archive.bytes_read <= archive.size


def entry_of(name: str, *, mode: int = 0, method: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    entry.compress_type = method
    return entry


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (entry_of("/etc/talks.json"), "leads out of the folder"),
        (entry_of("C:/talks.json"), "leads out of the folder"),
        (entry_of("a/../../talks.json"), "leads out of the folder"),
        (entry_of("..\\talks.json"), "leads out of the folder"),
        (entry_of("a\nb.json"), "leads out of the folder"),
        (entry_of("talks.json", mode=stat.S_IFLNK | 0o777), "is a link"),
        (entry_of("talks.json", mode=stat.S_IFIFO), "is a link"),
        (entry_of("talks.json", method=zipfile.ZIP_BZIP2), "compressed in a way"),
        (entry_of("talks.json", method=zipfile.ZIP_LZMA), "compressed in a way"),
    ],
)
def test_a_zip_with_an_entry_that_is_no_plain_file_is_refused(
    tmp_path: Path, entry: zipfile.ZipInfo, words: str
) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("fine.json", "[1]")
        opened.writestr(entry, "[2]")
    with pytest.raises(HostileArchive, match=words):
        read_all(path)


def change_directory(data: bytes, change: Callable[[bytearray, int], None]) -> bytes:
    """A zip with another table of contents: `change` gets it with the place of an entry."""
    changed = bytearray(data)
    place = changed.find(b"PK\x01\x02")
    while place != -1:
        change(changed, place)
        place = changed.find(b"PK\x01\x02", place + 4)
    return bytes(changed)


def one_file(text: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("talks.json", text)
    return target.getvalue()


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    def encrypt(data: bytearray, place: int) -> None:
        data[place + 8] |= 1

    path = write(tmp_path / "export.zip", change_directory(one_file(b"[1]"), encrypt))
    with pytest.raises(HostileArchive, match="is encrypted"):
        read_all(path)


def test_what_would_grow_beyond_measure_is_refused(tmp_path: Path) -> None:
    bomb = write(tmp_path / "export.zip", one_file(b"[" + b" " * 12_000_000 + b"]"))
    assert bomb.stat().st_size < 100_000
    with pytest.raises(HostileArchive, match="times as large"):
        read_all(bomb)
    fine = write(tmp_path / "fine.zip", one_file(b"[" + b" " * 1_000_000 + b"1]"))
    assert read_all(fine) == [1]


def test_a_table_of_contents_that_lies_of_a_size_inflates_no_more(tmp_path: Path) -> None:
    def lie(data: bytearray, place: int) -> None:
        data[place + 24 : place + 28] = struct.pack("<I", 10)

    bomb = one_file(b"[" + b" " * 12_000_000 + b"]")
    path = write(tmp_path / "export.zip", change_directory(bomb, lie))
    with Archive([("export.zip", path)]) as archive:
        (member,) = archive.members
        with member.open() as stream, pytest.raises(BrokenArchive, match="is damaged"):
            stream.read()


def test_files_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as opened:
        opened.writestr("a.json", "[1]")
        opened.writestr("b.json", "[2]")

    def share(data: bytearray, place: int) -> None:
        data[place + 42 : place + 46] = struct.pack("<I", 0)

    path = write(tmp_path / "export.zip", change_directory(target.getvalue(), share))
    with pytest.raises(HostileArchive, match="share their bytes"):
        read_all(path)


def test_too_many_files_and_too_much_in_total_are_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "export.zip", {f"{i}.json": [i] for i in range(30)})
    for most, words in ((29, "more than 29 files"), (1, "more than 1 files")):
        with pytest.raises(HostileArchive, match=words):
            read_all(path, Limits(members=most))
    with pytest.raises(HostileArchive, match="Unpacked, these are more than"):
        read_all(path, Limits(total=50))
    assert len(read_all(path, Limits(members=30))) == 30


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.95, 0.999])
def test_a_zip_whose_download_broke_off_is_told(tmp_path: Path, kept: float) -> None:
    whole = write_zip(tmp_path / "whole.zip", {f"{i}.json": [i] * 100 for i in range(30)})
    data = whole.read_bytes()
    path = write(tmp_path / "export.zip", data[: int(len(data) * kept)])
    with pytest.raises(BrokenArchive, match="broke off"):
        read_all(path)


def test_bytes_that_are_not_what_the_zip_says_are_told(tmp_path: Path) -> None:
    data = bytearray(one_file(json.dumps(list(range(5_000))).encode()))
    data[2_000] ^= 0xFF
    found = read_all(write(tmp_path / "export.zip", bytes(data)))
    assert "is damaged" in found[-1] or "not valid JSON" in found[-1]


@pytest.mark.parametrize("place", range(0, 160, 7))
def test_a_byte_that_flipped_anywhere_gives_words_or_the_file(tmp_path: Path, place: int) -> None:
    data = bytearray(one_file(b'[{"a": "some words"}]'))
    data[place % len(data)] ^= 0x55
    path = write(tmp_path / "export.zip", bytes(data))
    try:
        said = read_all(path)[:1]
    except Unimportable as problem:
        said = [str(problem)]
    assert said in ([], [{"a": "some words"}]) or "export" in said[0]
