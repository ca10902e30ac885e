"""Run as a program of its own, within limits: an Office file on the standard input becomes JSON on
the output, with its `kind` and its `text` as Markdown, or why it is `refused`. Nothing of Everlong
is imported, so that it starts in a moment."""

import json
import os
import re
import resource
import sys
import zipfile
from collections.abc import Iterable
from io import BytesIO
from itertools import count
from typing import Any, Literal

Kind = Literal["docx", "xlsx", "pptx"]
FOLDERS: dict[str, Kind] = {"word": "docx", "xl": "xlsx", "ppt": "pptx"}
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


class Refused(Exception):
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
            raise Refused("empty")
        if len(text) > most:
            raise Refused("long")
    except MemoryError:
        return {"refused": "large"}
    except Refused as reason:
        return {"refused": str(reason)}
    return {"kind": kind, "text": text}


def inspect(data: bytes) -> Kind:
    """The kind of a file that is whole, open to read, and not too large when it is unpacked."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        entries = file.infolist()
        folders = {entry.filename.partition("/")[0] for entry in entries}
        kinds = [FOLDERS[each] for each in FOLDERS if each in folders]
        if "[Content_Types].xml" not in folders or not kinds:
            raise Refused("other")
        if any(entry.flag_bits & ENCRYPTED for entry in entries):
            raise Refused("encrypted")
        if sum(entry.file_size for entry in entries) > MOST_UNPACKED:
            raise Refused("large")
        if file.testzip():
            raise Refused("damaged")
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


def read_pages(data: bytes, kind: Kind) -> str:
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
    with CalamineWorkbook.from_filelike(BytesIO(data)) as book:
        for sheet in book.sheets_metadata:
            hidden = "" if sheet.visible == SheetVisibleEnum.Visible else " (hidden)"
            rows = book.get_sheet_by_name(sheet.name).iter_rows()
            table = draw_table(rows, most)
            blocks.append(f"## {sheet.name}{hidden}\n\n{table}".rstrip())
    return "\n\n".join(blocks)


def draw_table(rows: Iterable[list[Any]], most: int) -> str:
    """Without the rows and columns that are empty throughout; the first row is the head."""
    cells = [{at: show(value) for at, value in enumerate(row) if value != ""} for row in rows]
    cells = [row for row in cells if row]
    columns = sorted(set().union(*cells))
    # Before it is drawn: few cells, far apart, make a large table.
    if 3 * len(cells) * len(columns) > most:
        raise Refused("long")
    lines = ["| " + " | ".join(row.get(at, "") for at in columns) + " |" for row in cells]
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
