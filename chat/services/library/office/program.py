"""Run as a program of its own, within limits: an Office file on the standard input becomes JSON on
the output, with its `kind` and its `text` as Markdown, or why it is `refused`. Nothing of Everlong
is imported, so that it starts in a moment."""

import json
import os
import posixpath
import re
import resource
import sys
import zipfile
from io import BytesIO
from itertools import count
from typing import Any, Literal
from xml.etree import ElementTree
from xml.parsers import expat

Cells = dict[int, dict[int, str]]  # by row and column
OfficeKind = Literal["docx", "xlsx", "pptx"]
FOLDERS: dict[str, OfficeKind] = {"word": "docx", "xl": "xlsx", "ppt": "pptx"}
LIMITS = {
    resource.RLIMIT_CPU: 10,  # seconds
    resource.RLIMIT_FSIZE: 8_000_000,  # bytes
    resource.RLIMIT_CORE: 0,  # which would leave the file's content behind
}
if sys.platform == "linux":  # macOS does not keep to it
    LIMITS[resource.RLIMIT_AS] = 512_000_000  # bytes
MOST_UNPACKED = 200_000_000  # bytes in all
READ = (".xml", ".rels")  # other parts are pictures and what is embedded
SLIDE = re.compile(r"(?<!---\n\n)^## (Slide \d+$)?", re.MULTILINE)
ENCRYPTED = 1  # flag of an entry


class FileRefused(Exception):
    """Why, in one word."""


def limit_itself() -> None:
    for kind, most in LIMITS.items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    os.nice(10)


def convert(data: bytes, most: int) -> dict[str, str]:
    """The kind of file and its text of at most so many characters, or the reason to refuse it."""
    try:
        kind = inspect(data)
        text = read_workbook(data, most) if kind == "xlsx" else read_pages(data, kind)
        if not text.strip():
            raise FileRefused("empty")
        if len(text) > most:
            raise FileRefused("long")
    except MemoryError:
        return {"refused": "large"}
    except FileRefused as reason:
        return {"refused": str(reason)}
    return {"kind": kind, "text": text}


def inspect(data: bytes) -> OfficeKind:
    """The kind of a file that is whole, open to read, and not too large when it is unpacked."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        entries = file.infolist()
        folders = {entry.filename.partition("/")[0] for entry in entries}
        kinds = [FOLDERS[each] for each in FOLDERS if each in folders]
        if "[Content_Types].xml" not in folders or not kinds:
            raise FileRefused("other")
        if any(entry.flag_bits & ENCRYPTED for entry in entries):
            raise FileRefused("encrypted")
        if sum(entry.file_size for entry in entries) > MOST_UNPACKED:
            raise FileRefused("large")
        if file.testzip():
            raise FileRefused("damaged")
    return kinds[0]


def drop_pictures(data: bytes) -> bytes:
    """The file without its pictures: the library would put them into the text, where nothing tells
    them from words of the author's."""
    out = BytesIO(data)
    with zipfile.ZipFile(out, "a") as file:
        entries = file.infolist()
        entries[:] = [each for each in entries if each.filename.lower().endswith(READ)]
        file.comment = b"read"  # a change: the directory is written anew
    return out.getvalue()


def read_pages(data: bytes, kind: OfficeKind) -> str:
    from office_oxide import Document

    document = Document.from_bytes(drop_pictures(data), kind)
    if kind == "pptx":  # with the numbers by which people know the slides
        numbers = count(1)
        return SLIDE.sub(
            lambda title: f"## Slide {next(numbers)}{'' if title[1] else ': '}",
            document.to_markdown(),
        )
    # Only so is each cell of a table in its column where others are joined; no picture is left.
    return document.to_markdown_with_images()


def read_workbook(data: bytes, most: int) -> str:
    """Each sheet as a table of its values as they were last calculated."""
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    blocks = []
    with (
        CalamineWorkbook.from_filelike(BytesIO(data)) as book,
        zipfile.ZipFile(BytesIO(data)) as file,
    ):
        parts, doubtful = find_sheets(file)
        for sheet in book.sheets_metadata:
            hidden = "" if sheet.visible == SheetVisibleEnum.Visible else " (hidden)"
            cells = read_cells(book.get_sheet_by_name(sheet.name))
            refuse_large(cells, most)  # before its XML is read once more
            if sheet.name in parts:
                for row, column, text in Uncalculated(doubtful).read(file, parts[sheet.name]):
                    cells.setdefault(row, {})[column] = show(text)
            table = draw_table(cells, most)
            blocks.append(f"## {sheet.name}{hidden}\n\n{table}".rstrip())
    return "\n\n".join(blocks)


def read_cells(sheet: Any) -> Cells:
    first = sheet.start[1] if sheet.start else 0  # rows are counted from 1, columns from here
    cells = {
        row: {column: show(value) for column, value in enumerate(values, first) if value != ""}
        for row, values in enumerate(sheet.iter_rows(), 1)
    }
    return {row: values for row, values in cells.items() if values}


def find_sheets(file: zipfile.ZipFile) -> tuple[dict[str, str], bool]:
    """The part of each sheet, and whether the program that wrote the workbook left it to others to
    calculate."""
    if "xl/workbook.xml" not in file.namelist():
        return {}, False  # XLSB
    book = ElementTree.fromstring(file.read("xl/workbook.xml"))
    links = ElementTree.fromstring(file.read("xl/_rels/workbook.xml.rels"))
    targets = {each.get("Id"): each.get("Target", "") for each in links}
    parts = {
        each.get("name", ""): posixpath.normpath(posixpath.join("/xl", targets.get(link, ""))[1:])
        for each in book.iterfind(".//{*}sheet")
        for name, link in each.items()
        if name.endswith("}id")
    }
    known = set(file.namelist())
    sheets = {name: part for name, part in parts.items() if part in known}
    return sheets, any(
        each.get("fullCalcOnLoad") in ("1", "true") for each in book.iterfind("{*}calcPr")
    )


class Uncalculated:
    """Finds what the library gives as empty cells: errors, and formulas whose value was never
    stored. `doubtful`: nor is a 0, which is what some programs store."""

    def __init__(self, doubtful: bool) -> None:
        self.unset = ("", "0") if doubtful else ("",)
        self.row = self.column = 0
        self.kind = ""
        self.cell: dict[str, str] = {}  # `f` and `v`, as far as they are there
        self.pieces: list[str] = []  # of the one that is open
        self.shared: dict[str, str] = {}  # formulas that other cells refer to
        self.index = ""  # of the shared formula of this cell
        self.found: list[tuple[int, int, str]] = []

    def read(self, file: zipfile.ZipFile, part: str) -> list[tuple[int, int, str]]:
        """Row, column and text of each."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        with file.open(part) as source:
            parser.ParseFile(source)
        return self.found

    def _start(self, name: str, about: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "row":
            self.row = int(about.get("r", self.row + 1))
            self.column = -1
        elif tag == "c":
            letters = about.get("r", "").rstrip("0123456789")
            self.column = count_column(letters) if letters else self.column + 1
            self.kind, self.cell, self.index = about.get("t", "n"), {}, ""
        elif tag in ("f", "v"):
            self.pieces = []
            self.index = about.get("si", self.index)

    def _text(self, text: str) -> None:
        self.pieces.append(text)

    def _end(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        if tag in ("f", "v"):
            self.cell[tag] = "".join(self.pieces)
        elif tag == "c" and self.cell:
            formula, value = self.cell.get("f"), self.cell.get("v")
            if formula and self.index:
                self.shared.setdefault(self.index, f"{formula} (as in row {self.row})")
            if self.kind == "e" and value:
                self._find(value)
            elif formula is not None and (
                value is None or (self.kind != "str" and value.strip() in self.unset)
            ):
                self._find(f"={formula or self.shared.get(self.index, '')}")

    def _find(self, text: str) -> None:
        self.found.append((self.row, self.column, text))


def count_column(letters: str) -> int:
    """`A` is 0."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def refuse_large(cells: Cells, most: int) -> None:
    """Few cells, far apart, make a large table."""
    if 3 * len(cells) * len(set().union(*cells.values())) > most:
        raise FileRefused("long")


def draw_table(cells: Cells, most: int) -> str:
    """Without the rows and columns that are empty throughout; the first row is the head."""
    refuse_large(cells, most)
    columns = sorted(set().union(*cells.values()))
    lines = [
        "| " + " | ".join(cells[row].get(at, "") for at in columns) + " |" for row in sorted(cells)
    ]
    lines.insert(1, "|" + " --- |" * len(columns))
    return "\n".join(lines) if columns else ""


def show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"  # as exact as a workbook is
    return " ".join(str(value).split()).replace("|", "\\|")


if __name__ == "__main__":
    limit_itself()
    answer = convert(sys.stdin.buffer.read(), int(sys.argv[1]))
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode())
