"""What somebody gives to be imported: zips and JSON files, read a piece at a time.

Nothing is unpacked to the disk, and of a file of any size one element is in memory. Everything that
is read here was written by strangers: what is wrong with it becomes a sentence for its owner.
"""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self, cast

import ijson  # type: ignore[import-untyped]
from django.utils.translation import gettext

from chat.importers.errors import BrokenArchive, HostileArchive
from chat.importers.json_bounds import BOM, DEPTH, Bounded, clean_json, make_object_type
from chat.importers.zips import BEGINNING, Limits, list_files, open_zip

OTHER_UNICODE = (b"\xff\xfe", b"\xfe\xff")  # the marks of UTF-16 and UTF-32
SPACE = b" \t\r\n"
LOOKED_AT = 4096  # bytes, to see what a file is
BUFFER = 64 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Member:
    """One file. `size` is in bytes, and `source` the file that it came in, as its user calls it.
    What `open` returns raises BrokenArchive where the bytes cannot be read."""

    name: str
    size: int
    open: Callable[[], BinaryIO] = field(repr=False, compare=False)
    source: str = ""

    @property
    def label(self) -> str:
        """How it is called in a report."""
        return f"{self.source}: {self.name}" if self.source != self.name else self.name

    @property
    def base_name(self) -> str:
        return self.name.rpartition("/")[2]


class Archive:
    """All files of one import. `size` and `bytes_read` are in bytes of the files as they were
    given; what is never opened, such as a picture that no message has, is never read."""

    def __init__(self, paths: Sequence[tuple[str, Path]], *, limits: Limits | None = None) -> None:
        """Each file with its name as its user called it. Raises HostileArchive or BrokenArchive."""
        self.limits = limits or Limits()
        self.members: list[Member] = []
        self.size = 0
        self._zips: list[zipfile.ZipFile] = []
        self._read: dict[tuple[str, int], int] = {}  # of each member, from its beginning
        try:
            for name, path in paths:
                self._add(name, path)
            self._check_total()
        except BaseException:
            self.close()
            raise
        self._by_name: dict[str, Member] = {}
        for member in sorted(self.members, key=lambda each: each.name.count("/")):
            self._by_name.setdefault(member.name, member)
            self._by_name.setdefault(member.base_name, member)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        for opened in self._zips:
            stream = opened.fp
            opened.close()
            if stream:
                stream.close()  # it was given to the zip, which leaves it open

    @property
    def bytes_read(self) -> int:
        return sum(self._read.values())

    def find(self, name: str) -> Member | None:
        """By its whole name, or by its name in whatever folder; the one nearest to the top."""
        return self._by_name.get(name)

    def items(
        self, member: Member, prefix: str = "item", *, several: bool = False, depth: int = DEPTH
    ) -> Iterator[Any]:
        """The values at `prefix` (as ijson writes it) of a JSON file, one by one; `several`: of a
        file with one value after the other. One that is nested more than `depth` times comes as
        Unreadable. Raises BrokenArchive where the file is no JSON from there on, or an element is
        beyond the limits."""
        with member.open() as stream:
            source = Bounded(stream, self.limits, member.label)
            found = ijson.items(
                source, prefix, use_float=True, multiple_values=several, map_type=make_object_type()
            )
            while True:
                try:
                    element = next(found)
                except StopIteration:
                    return
                except (ijson.JSONError, UnicodeError) as error:
                    raise BrokenArchive(_explain_json(member.label, error)) from error
                source.begin_element()
                yield clean_json(element, depth)

    def elements(self, member: Member, *, depth: int = DEPTH) -> Iterator[Any]:
        """What a JSON file holds: the elements of its array, or else each value in it."""
        with member.open() as stream:
            begins = _strip(stream.read(LOOKED_AT))[:1]
        if begins == b"[":
            return self.items(member, depth=depth)
        return self.items(member, "", several=True, depth=depth)

    # --- What was given ---------------------------------------------------------------------------

    def _add(self, name: str, path: Path) -> None:
        try:
            with path.open("rb") as stream:
                begins = stream.read(LOOKED_AT)
            size = path.stat().st_size
        except IsADirectoryError:
            raise BrokenArchive(
                gettext("{name} is a folder. Give the zip, or the files in it.").format(name=name)
            ) from None
        except OSError as error:
            raise BrokenArchive(
                gettext("{name} cannot be opened: {reason}.").format(
                    name=name, reason=error.strerror
                )
            ) from error
        self.size += size
        if begins.startswith(BEGINNING):
            self._add_zip(name, path)
            return
        if problem := _find_problem(name, begins):
            raise BrokenArchive(problem)
        self._add_member(name, name, size, size, lambda: path.open("rb"))

    def _add_zip(self, name: str, path: Path) -> None:
        opened = open_zip(name, path, self.limits)
        self._zips.append(opened)
        for inner, entry in list_files(opened):
            self._add_member(
                name, inner, entry.file_size, entry.compress_size, _opener(opened, entry)
            )

    def _add_member(
        self, source: str, name: str, size: int, stored: int, opener: Callable[[], IO[bytes]]
    ) -> None:
        key = (name, len(self.members))  # names may repeat
        share = stored / size if size else 0.0

        def progress(position: int) -> None:
            self._read[key] = max(self._read.get(key, 0), int(position * share))

        def open_member() -> BinaryIO:
            try:
                raw = _Reader(opener(), label, progress)
            except READING_ERRORS as error:
                raise _broken(label) from error
            return cast(BinaryIO, io.BufferedReader(raw, BUFFER))

        member = Member(name, size, open_member, source)
        label = member.label
        self.members.append(member)

    def _check_total(self) -> None:
        if len(self.members) > self.limits.members:
            raise HostileArchive(
                gettext("There are more than {most} files. Import a part of them first.").format(
                    most=self.limits.members
                )
            )
        if sum(member.size for member in self.members) > self.limits.total:
            raise HostileArchive(
                gettext(
                    "Unpacked, these are more than {most} GB. Unpack them yourself and give the "
                    "JSON files without the pictures."
                ).format(most=self.limits.total // 10**9)
            )


# --- Bytes ----------------------------------------------------------------------------------------

READING_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


def _opener(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    """By its entry: names may repeat."""
    return lambda: opened.open(entry)


class _Reader(io.RawIOBase):
    """The bytes of a member; tells how far it is."""

    def __init__(self, stream: IO[bytes], label: str, progress: Callable[[int], None]) -> None:
        self._stream = stream
        self._label = label
        self._progress = progress
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            data = self._stream.read(len(buffer))
        except READING_ERRORS as error:
            raise _broken(self._label) from error
        buffer[: len(data)] = data
        self._position += len(data)
        self._progress(self._position)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _broken(label: str) -> BrokenArchive:
    return BrokenArchive(
        gettext(
            "{name} is damaged: its bytes are not what the zip says of them. Download it again."
        ).format(name=label)
    )


def _strip(begins: bytes) -> bytes:
    return begins.removeprefix(BOM).lstrip(SPACE)


def _find_problem(name: str, begins: bytes) -> str:
    """Why a file whose first bytes these are is no JSON; "" where it may be."""
    if begins.startswith(OTHER_UNICODE):
        return _not_utf8(name)
    first = _strip(begins)[:1]
    if not first and len(begins) < LOOKED_AT:
        return gettext("{name} is empty. Download it again.").format(name=name)
    if first == b"<":
        return gettext(
            "{name} is a web page, not an export: such a file comes of a link that has expired or "
            "of a sign-in page. Sign in there and download the export again."
        ).format(name=name)
    if first in (b"[", b"{"):
        return ""
    return gettext("{name} is neither a zip nor JSON. Give the zip that you got, as it is.").format(
        name=name
    )


def _explain_json(name: str, error: Exception) -> str:
    words = str(error)
    if isinstance(error, UnicodeError) or "UTF8" in words:
        return _not_utf8(name)
    if "premature EOF" in words:
        return gettext(
            "{name} breaks off in the middle. What came before is read; download it again for the "
            "rest."
        ).format(name=name)
    return gettext(
        "{name} is not valid JSON from one place on ({reason}). What came before is read."
    ).format(name=name, reason=words.partition("\n")[0].removeprefix("b'").strip())


def _not_utf8(name: str) -> str:
    return gettext(
        "{name} is not in UTF-8, as JSON must be. Give the file as it was downloaded."
    ).format(name=name)
