"""A workbook as Markdown: each sheet a table, with values as they were last calculated."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from chat.services.office.markdown import TooLong, Writer
from chat.services.office.package import END, START, Event, Package

DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built-in formats
PERCENT = {9, 10}
LITERAL = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|_.|\*.', re.IGNORECASE)
CELL = re.compile(r"([A-Z]{1,3})[0-9]+")
EPOCHS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # noqa: DTZ001 - of no zone
MOST_FORMAT = 255  # characters, as in Excel
LAST_DAY = 2_958_466  # the first day of the year 10000


def read_workbook(package: Package, part: str, out: Writer) -> None:
    links = package.read_links(part)
    by_kind = dict(links.values())
    strings = _read_strings(package.read_if_there(by_kind.get("sharedStrings", "")))
    formats = _read_formats(package.read_if_there(by_kind.get("styles", "")))
    sheets, epoch = [], EPOCHS[False]
    for kind, name, attributes, _ in package.read(part):
        if kind == START and name == "workbookPr":
            epoch = EPOCHS[attributes.get("date1904") in ("1", "true")]
        elif kind == START and name == "sheet":
            sheets.append(attributes)
    cells = _Cells(strings, formats, epoch)
    for sheet in sheets:
        kind, target = links.get(sheet.get("link", ""), ("", ""))
        if kind != "worksheet":
            continue  # a sheet that is one chart
        hidden = " (hidden)" if sheet.get("state", "visible") != "visible" else ""
        rows = cells.read(package.read(target), out)
        out.write(f"## {sheet.get('name', '')}{hidden}")
        out.write_table(rows)


def _read_strings(events: Iterator[Event]) -> list[str]:
    strings: list[str] = []
    words: list[str] = []
    for kind, name, _, text in events:
        if name == "t":
            words.append(text)
        elif name == "si" and kind == END:
            strings.append("".join(words))
            words = []
    return strings


def _read_formats(events: Iterator[Event]) -> list[str]:
    """Of each style of cells whether its numbers are a "date", a "percent" or plain: ""."""
    custom: dict[int, str] = {}
    found: list[str] = []
    within = ""
    for kind, name, attributes, _ in events:
        if kind != START:
            continue
        if name in ("cellXfs", "cellStyleXfs"):
            within = name
        elif name == "numFmt":
            code = attributes.get("formatCode", "")
            custom[int(attributes.get("numFmtId", 0))] = _judge_format(code)
        elif name == "xf" and within == "cellXfs":
            number = int(attributes.get("numFmtId", 0))
            built_in = "date" if number in DATES else "percent" if number in PERCENT else ""
            found.append(custom.get(number, built_in))
    return found


def _judge_format(code: str) -> str:
    code = LITERAL.sub("", code[:MOST_FORMAT].partition(";")[0])
    if re.search("[dmyhs]", code, re.IGNORECASE):
        return "date"
    return "percent" if "%" in code else ""


class _Cells:
    """Reads the cells of sheets."""

    def __init__(self, strings: list[str], formats: list[str], epoch: datetime) -> None:
        self._strings = strings
        self._formats = formats
        self._epoch = epoch

    def read(self, events: Iterator[Event], out: Writer) -> list[dict[int, str]]:
        """The rows that have something: their cells by columns."""
        rows: list[dict[int, str]] = []
        cell: Mapping[str, str] = {}
        said: dict[str, str] = {}  # what stands in which element of the cell
        column = -1
        room = out.room
        for kind, name, attributes, text in events:
            if name == "row" and kind == START:
                rows.append({})
                column = -1
            elif name == "c" and kind == START:
                cell, said = attributes, {}
                column = _column(attributes.get("r", ""), column + 1)
            elif name == "c" and rows:
                words = self._word(said, cell)
                if words.strip():
                    room -= len(words)
                    if room < 0:
                        raise TooLong
                    rows[-1][column] = words
            elif kind == END and name in ("v", "t", "f"):
                said[name] = said.get(name, "") + text
        return [row for row in rows if row]

    def _word(self, said: Mapping[str, str], cell: Mapping[str, str]) -> str:
        value, kind = said.get("v", ""), cell.get("t", "n")
        if kind == "inlineStr":
            return said.get("t", "")
        if not value:
            return f"={said['f']}" if said.get("f") else ""
        if kind == "s":
            return self._strings[int(value)]
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        return self._number(value, int(cell.get("s", 0))) if kind == "n" else value

    def _number(self, value: str, style: int) -> str:
        number = float(value)
        form = self._formats[style] if style < len(self._formats) else ""
        if form == "date" and 0 <= number < LAST_DAY:
            time = self._epoch + timedelta(seconds=round(number * 86_400))
            if number < 1:
                return f"{time:%H:%M:%S}"
            return f"{time:%Y-%m-%d}" if number == int(number) else f"{time:%Y-%m-%d %H:%M:%S}"
        if form == "percent":
            return f"{number * 100:.13g}%"
        return f"{number:.15g}"


def _column(reference: str, following: int) -> int:
    """0 for `A1`; a cell without a reference follows the one before it."""
    found = CELL.fullmatch(reference)
    if found is None:
        return following
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - 64
    return column - 1
