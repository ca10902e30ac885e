"""A document as Markdown: headings, lists with their numbers, tables, links and notes."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from chat.services.office.markdown import Writer
from chat.services.office.package import END, START, Event, Package

HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)  # as all languages of Word store it
NOTES = ("footnotes", "endnotes")
Formats = dict[str, dict[int, str]]  # how lists are numbered: by their ids, and how deep


@dataclass(slots=True)
class _Style:
    heading: int = 0
    numbering: str = ""


@dataclass(slots=True)
class _Paragraph:
    style: str = ""
    numbering: str | None = None  # None: as the style has it; "0": none
    depth: int = 0
    words: list[str] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)  # at which word; where to


@dataclass(slots=True)
class _Table:
    rows: list[dict[int, str]] = field(default_factory=list)
    column: int = 0
    span: int = 1
    cell: list[str] = field(default_factory=list)


def read_document(package: Package, part: str, out: Writer) -> None:
    links = package.read_links(part)
    by_kind = dict(links.values())
    styles = _read_styles(package.read_if_there(by_kind.get("styles", "")))
    formats = _read_formats(package.read_if_there(by_kind.get("numbering", "")))
    addresses = {key: target for key, (kind, target) in links.items() if kind == "hyperlink"}
    body = _Body(out, styles, formats, addresses)
    for event in package.read(part):
        body.take(event)
    for kind in NOTES:
        _write_notes(package.read_if_there(by_kind.get(kind, "")), kind[:-1], out)


def _read_styles(events: Iterator[Event]) -> dict[str, _Style]:
    styles: dict[str, _Style] = defaultdict(_Style)
    style = _Style()
    for kind, name, attributes, _ in events:
        if kind != START:
            continue
        value = attributes.get("val", "")
        if name == "style":
            style = styles[attributes.get("styleId", "")]
        elif name == "name" and (found := HEADING.fullmatch(value)):
            style.heading = int(found[1])
        elif name == "name" and value.lower() == "title":
            style.heading = 1
        elif name == "numId":
            style.numbering = value
    return styles


def _read_formats(events: Iterator[Event]) -> Formats:
    abstract: Formats = defaultdict(dict)
    lists: dict[str, str] = {}
    group = number = ""
    depth = 0
    for kind, name, attributes, _ in events:
        if kind != START:
            continue
        if name == "abstractNum":
            group = attributes.get("abstractNumId", "")
        elif name == "lvl":
            depth = int(attributes.get("ilvl", 0))
        elif name == "numFmt":
            abstract[group][depth] = attributes.get("val", "")
        elif name == "num":
            number = attributes.get("numId", "")
        elif name == "abstractNumId":
            lists[number] = attributes.get("val", "")
    return {number: abstract.get(group, {}) for number, group in lists.items()}


class _Body:
    """Takes the events of a document and writes its blocks."""

    def __init__(
        self,
        out: Writer,
        styles: dict[str, _Style],
        formats: Formats,
        addresses: dict[str, str],
    ) -> None:
        self._out = out
        self._styles = styles
        self._formats = formats
        self._addresses = addresses
        self._paragraphs: list[_Paragraph] = []  # a text box lies within a paragraph
        self._tables: list[_Table] = []
        self._counts: dict[str, list[int]] = defaultdict(list)
        self._list: list[str] = []  # items that belong together
        self._runs = 0  # only there a tab is one, and not where one could stop

    def take(self, event: Event) -> None:
        kind, name, attributes, text = event
        if kind == START:
            self._open(name, attributes)
        elif name == "t":
            self._say(text)
        else:
            self._close(name)

    def _say(self, words: str) -> None:
        if self._paragraphs:
            self._paragraphs[-1].words.append(words)

    def _open(self, name: str, attributes: Mapping[str, str]) -> None:
        match name:
            case "r":
                self._runs += 1
            case "p":
                self._paragraphs.append(_Paragraph())
            case "tab" if self._runs:
                self._say("\t")
            case "br" | "cr" if self._runs:
                self._say("\n")
            case "noBreakHyphen":
                self._say("-")
            case "docPr" if attributes.get("descr"):
                self._say(f"[{attributes['descr']}]")
            case "footnoteReference" | "endnoteReference":
                self._say(_note_mark(name.removesuffix("Reference"), attributes.get("id", "")))
            case "tbl":
                self._end_list()
                self._tables.append(_Table())
            case _:
                self._open_part(name, attributes)

    def _open_part(self, name: str, attributes: Mapping[str, str]) -> None:
        """What is part of a paragraph or of a table."""
        value = attributes.get("val", "")
        if self._paragraphs:
            paragraph = self._paragraphs[-1]
            if name == "pStyle":
                paragraph.style = value
            elif name == "numId":
                paragraph.numbering = value
            elif name == "ilvl":
                paragraph.depth = min(int(value), 8)
            elif name == "hyperlink":
                address = self._addresses.get(attributes.get("link", ""), "")
                paragraph.links.append((len(paragraph.words), address))
        elif self._tables:
            table = self._tables[-1]
            if name == "tr":
                table.rows.append({})
                table.column = 0
            elif name == "tc":
                table.cell, table.span = [], 1
            elif name == "gridSpan":
                table.span = int(value)

    def _close(self, name: str) -> None:
        match name:
            case "r":
                self._runs -= 1
            case "p":
                self._end_paragraph(self._paragraphs.pop())
            case "hyperlink" if self._paragraphs and self._paragraphs[-1].links:
                paragraph = self._paragraphs[-1]
                at, address = paragraph.links.pop()
                words = "".join(paragraph.words[at:])
                if words.strip() and address.startswith(("https:", "http:", "mailto:")):
                    paragraph.words[at:] = [f"[{words}]({address})"]
            case "tc" if self._tables and self._tables[-1].rows:
                table = self._tables[-1]
                table.rows[-1][table.column] = " ".join(table.cell)
                table.column += table.span
            case "tbl":
                self._end_table(self._tables.pop())
            case "body":
                self._end_list()

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.words).strip()
        if self._tables:
            if text:
                self._tables[-1].cell.append(text)
            return
        style = self._styles.get(paragraph.style, _Style())
        numbering = style.numbering if paragraph.numbering is None else paragraph.numbering
        if not text:
            return
        if not style.heading and numbering not in ("", "0"):
            mark = "  " * paragraph.depth + self._mark(numbering, paragraph.depth)
            self._list.append(mark + text)
            return
        self._end_list()
        self._out.write(f"{'#' * min(style.heading, 6)} {text}" if style.heading else text)

    def _mark(self, numbering: str, depth: int) -> str:
        if self._formats.get(numbering, {}).get(depth, "bullet") in ("bullet", "none"):
            return "- "
        counts = self._counts[numbering]
        counts[depth + 1 :] = []
        counts.extend([0] * (depth + 1 - len(counts)))
        counts[depth] += 1
        return f"{counts[depth]}. "

    def _end_list(self) -> None:
        self._out.write("\n".join(self._list))
        self._list = []

    def _end_table(self, table: _Table) -> None:
        if self._tables:  # one within another is told in its cell
            words = (cell for row in table.rows for cell in row.values() if cell)
            self._tables[-1].cell.append(" · ".join(words))
        else:
            self._out.write_table(table.rows)


def _note_mark(kind: str, number: str) -> str:
    return f"[^{'e' if kind == 'endnote' else ''}{number}]"


def _write_notes(events: Iterator[Event], kind: str, out: Writer) -> None:
    mark, words = "", []
    for event, name, attributes, text in events:
        if name == "t":
            words.append(text)
        elif name == kind and event == START:
            mark, words = _note_mark(kind, attributes.get("id", "")), []
        elif name == kind and event == END and any(map(str.strip, words)):
            out.write(f"{mark}: {''.join(words).strip()}")
