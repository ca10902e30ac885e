"""An Office file: a ZIP of XML parts that name each other. Foreign and perhaps hostile: read piece
by piece, and within bounds that do not rely on what it says of itself."""

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import IO
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

MOST_UNPACKED = 60_000_000  # bytes of XML in all: a few bytes can unpack to a thousand times more
MOST_ELEMENTS = 1_000_000  # in all
MOST_DEPTH = 500  # elements within each other
MOST_DIRECTORY = 2_000_000  # bytes: the list of the ZIP's entries, some 100 bytes each
CHUNK = 1 << 12  # bytes parsed at a time: with more, the garbage collector takes most of the time
PROLOGUE = 1 << 10
END_OF_ZIP = b"PK\x05\x06"
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
ENCRYPTED = 1  # flag of an entry
# What says nothing new: the second form of a drawing, moved text in its old place, how to
# pronounce.
SKIPPED = {"Fallback", "moveFrom", "rPh"}
LINK = "/relationships}id"  # how the name ends of the attribute that refers to another part

START, END = "start", "end"
# Which of them, the element's name; at its start its attributes; at its end the text before the
# first element within.
Event = tuple[str, str, Mapping[str, str], str]
NOTHING: Mapping[str, str] = {}

# What reading may raise where a file is damaged.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
    expat.ExpatError,
    struct.error,
    EOFError,
    KeyError,
    IndexError,
    ValueError,
    OverflowError,
    NotImplementedError,
)


class TooMuch(Exception):
    """It unpacks to more than can be read here."""


class Protected(Exception):
    """It can be read with a password only."""


class Package:
    """The parts of a file, by name."""

    def __init__(self, data: bytes) -> None:
        end = data.rfind(END_OF_ZIP)
        if end < 0:
            raise zipfile.BadZipFile
        if struct.unpack_from("<I", data, end + 12)[0] > MOST_DIRECTORY:
            raise TooMuch
        self._zip = zipfile.ZipFile(BytesIO(data))
        self._names = set(self._zip.namelist())
        self._unpacked = self._elements = 0

    def __contains__(self, part: str) -> bool:
        return part in self._names

    def read(self, part: str) -> Iterator[Event]:
        """Where the elements of a part begin and end, in order. Names are without namespaces; the
        attribute that has the id of another part is `link`. KeyError where there is no such
        part."""
        names = _Names()
        skipping = 0
        for kind, element in self._parse(part):
            if skipping:
                skipping += 1 if kind == START else -1
                continue
            name = names[element.tag]
            if kind == END:
                yield END, name, NOTHING, element.text or ""
            elif name in SKIPPED:
                skipping = 1
            else:
                yield START, name, _name_attributes(element.attrib), ""

    def _parse(self, part: str) -> Iterator[tuple[str, Element]]:
        entry = self._zip.getinfo(part)
        if entry.flag_bits & ENCRYPTED:
            raise Protected
        if entry.compress_type not in METHODS:
            raise NotImplementedError(entry.compress_type)
        with self._zip.open(entry) as file:
            _refuse_declarations(file)
            file.seek(0)
            parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
            root, size = None, CHUNK
            while chunk := file.read(size):
                self._unpacked += len(chunk)
                if self._unpacked > MOST_UNPACKED:
                    raise TooMuch
                parser.feed(chunk)
                events: list[tuple[str, Element]] = list(parser.read_events())  # type: ignore[arg-type]
                self._elements += len(events) // 2
                if self._elements > MOST_ELEMENTS:
                    raise TooMuch
                yield from events
                root = root if root is not None or not events else events[0][1]
                _forget(root)
                # The parser begins a long tag again with each piece of it.
                size = CHUNK if events else 2 * size
        parser.close()

    def read_if_there(self, part: str) -> Iterator[Event]:
        return self.read(part) if part in self else iter(())

    def read_links(self, part: str) -> dict[str, tuple[str, str]]:
        """What a part refers to, by id: the last word of its kind, and the other part's name, or
        the address of what lies outside."""
        folder, name = posixpath.split(part)
        links = {}
        for kind, element, each, _ in self.read_if_there(f"{folder}/_rels/{name}.rels".lstrip("/")):
            if kind == START and element == "Relationship":
                target = each.get("Target", "")
                if each.get("TargetMode") != "External":
                    target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                links[each.get("Id", "")] = each.get("Type", "").rpartition("/")[2], target
        return links


class _Names(dict[str, str]):
    """Names of elements by those with namespaces."""

    def __missing__(self, tag: str) -> str:
        name = self[tag] = tag.rpartition("}")[2]
        return name


def _forget(element: Element | None) -> None:
    """Of what has been read keep only the elements that may not have ended: the last ones."""
    depth = 0
    while element is not None and len(element):
        del element[:-1]
        element = element[-1]
        depth += 1
        if depth > MOST_DEPTH:
            raise TooMuch


def _name_attributes(attributes: Mapping[str, str]) -> Mapping[str, str]:
    if not attributes:
        return NOTHING
    return {
        "link" if key.endswith(LINK) else key.rpartition("}")[2]: value
        for key, value in attributes.items()
    }


def _refuse_declarations(file: IO[bytes]) -> None:
    """TooMuch where entities may be declared, which is before the first element: Office declares
    none, and who does wants them to unpack, or to be read from elsewhere."""
    parser = expat.ParserCreate()
    begun = False

    def refuse(*_: object) -> None:
        raise TooMuch

    def begin(*_: object) -> None:
        nonlocal begun
        begun = True

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = begin
    while not begun and (chunk := file.read(PROLOGUE)):
        parser.Parse(chunk, False)
