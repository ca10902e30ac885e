"""Zip files from strangers: their table of contents is checked before a byte is inflated.

What the table says is binding afterwards. `zipfile` inflates no more of a member than its stated
size, and a member whose bytes do not agree with it ends with an error; entries that share bytes are
refused here, so the compressed sizes add up to no more than the file. So the limits on stated sizes
hold for what is inflated, too.
"""

import io
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext

from chat.importers.errors import BrokenArchive, HostileArchive

BEGINNING = b"PK"
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
LOCAL_HEADER = 30  # bytes before the name: APPNOTE.TXT 4.3.7
ENCRYPTED = 0x1 | 0x40  # flag bits: APPNOTE.TXT 4.4.4
ENTRY_BYTES = 240  # of the table of contents: 46, a name, and what programs add


@dataclass(frozen=True, slots=True)
class Limits:
    """`members`, and `total` bytes once inflated: of all files that are given together. `ratio`:
    how much larger than its zip a member of more than `ratio_from` bytes may be; text is 4 to 20
    times larger, deflate ends at 1,032. `element`: bytes of one conversation's JSON, `values` in it
    at most, nested `depth` times at most."""

    members: int = 50_000
    total: int = 20_000_000_000
    ratio: int = 400
    ratio_from: int = 10_000_000
    element: int = 64_000_000
    values: int = 4_000_000
    depth: int = 10_000


class _Contents(io.BufferedReader):
    """A zip whose table of contents `zipfile` reads at once: one that is too large is refused
    before that. `most`: bytes of a single read, None: any."""

    most: int | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if self.most is not None and size is not None and size > self.most:
            raise _TooLong
        return super().read(size)


class _TooLong(Exception):
    pass


def open_zip(name: str, path: Path, limits: Limits) -> zipfile.ZipFile:
    """A zip that may be read; raises BrokenArchive and HostileArchive."""
    stream = _Contents(io.FileIO(path))
    stream.most = limits.members * ENTRY_BYTES
    try:
        opened = zipfile.ZipFile(stream)
        stream.most = None
        _check(name, opened, limits)
    except _TooLong:
        stream.close()
        raise _too_many(name, limits) from None
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        stream.close()
        raise BrokenArchive(
            gettext(
                "{name} is not a whole zip: its end is missing or damaged, as after a download "
                "that broke off. Download it again and compare the size."
            ).format(name=name)
        ) from error
    except HostileArchive:
        stream.close()
        raise
    return opened


def list_files(opened: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Its files with their names; without folders, and without what macOS puts beside each file."""
    for entry in opened.infolist():
        name = _clean(entry)
        if not entry.is_dir() and not name.startswith("__MACOSX/"):
            yield name, entry


def _clean(entry: zipfile.ZipInfo) -> str:
    """Its name with slashes: some programs on Windows write the other ones."""
    return entry.filename.replace("\\", "/").removeprefix("./")


def _check(name: str, opened: zipfile.ZipFile, limits: Limits) -> None:
    entries = opened.infolist()
    if len(entries) > limits.members:
        raise _too_many(name, limits)
    for entry in entries:
        if reason := _find_fault(entry, limits):
            raise HostileArchive(
                gettext("{name} is not imported: “{member}” in it {reason}").format(
                    name=name, member=_clean(entry)[:100], reason=reason
                )
            )
    _check_overlaps(name, entries, opened.start_dir)


def _find_fault(entry: zipfile.ZipInfo, limits: Limits) -> str:
    """What is wrong with one entry, the end of a sentence; "" for nothing."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if _escapes(_clean(entry)):
        return gettext("has a name that leads out of the folder in which it is unpacked.")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return gettext("is a link or a device, not a file. Unpack it and give the files in it.")
    if entry.flag_bits & ENCRYPTED:
        return gettext("is encrypted. Unpack it with its password and give the files in it.")
    if entry.compress_type not in READABLE:
        return gettext(
            "is compressed in a way that is not read here. Unpack it and give the files in it."
        )
    if entry.file_size > max(limits.ratio_from, limits.ratio * entry.compress_size):
        return gettext("would be more than {ratio} times as large when it is unpacked.").format(
            ratio=limits.ratio
        )
    return ""


def _escapes(name: str) -> bool:
    return (
        name.startswith("/")
        or name[1:2] == ":"
        or ".." in name.split("/")
        or any(character < " " for character in name)
    )


def _check_overlaps(name: str, entries: Sequence[zipfile.ZipInfo], end: int) -> None:
    """Entries of a bomb share their bytes; those of a zip stand one after the other."""
    for entry in sorted(entries, key=lambda each: each.header_offset, reverse=True):
        if entry.header_offset + LOCAL_HEADER + entry.compress_size > end:
            raise HostileArchive(
                gettext(
                    "{name} is not imported: files in it share their bytes, as in archives that "
                    "are made to fill a disk."
                ).format(name=name)
            )
        end = entry.header_offset


def _too_many(name: str, limits: Limits) -> HostileArchive:
    return HostileArchive(
        gettext(
            "{name} is not imported: it holds more than {most} files. Unpack it and give the JSON "
            "files in it."
        ).format(name=name, most=limits.members)
    )
