"""A presentation as Markdown: each slide with its title, its texts and tables, and its notes."""

from dataclasses import dataclass, field

from chat.services.office.markdown import Writer
from chat.services.office.package import END, START, Package

TITLES = ("title", "ctrTitle")
ON_EVERY_SLIDE = ("sldNum", "dt", "ftr", "hdr", "sldImg")


@dataclass(slots=True)
class _Slide:
    title: str = ""
    hidden: bool = False
    blocks: list[str | list[dict[int, str]]] = field(default_factory=list)  # texts, and tables


def read_presentation(package: Package, part: str, out: Writer) -> None:
    links = package.read_links(part)
    order = [
        attributes.get("link", "")
        for kind, name, attributes, _ in package.read(part)
        if kind == START and name == "sldId"
    ]
    for number, key in enumerate(order, 1):
        target = links.get(key, ("", ""))[1]
        if target not in package:
            continue
        slide = _read_slide(package, target, out)
        title = f"## Slide {number}" + (f": {slide.title}" if slide.title else "")
        out.write(title + " (hidden)" * slide.hidden)
        _write_blocks(slide, out)
        for kind, notes in package.read_links(target).values():
            if kind == "notesSlide" and notes in package:
                said = _read_slide(package, notes, out)
                out.write("Notes:" if any(said.blocks) else "")
                _write_blocks(said, out)


def _write_blocks(slide: _Slide, out: Writer) -> None:
    for block in slide.blocks:
        if isinstance(block, str):
            out.write(block)
        else:
            out.write_table(block)


def _read_slide(package: Package, part: str, out: Writer) -> _Slide:
    slide = _Slide()
    place = ""  # of the shape: what the layout has there
    lines: list[str] = []
    words: list[str] = []
    table: list[dict[int, str]] | None = None
    depth = 0
    for kind, name, attributes, said in package.read(part):
        opens = kind == START
        match name:
            case "sld" if opens:
                slide.hidden = attributes.get("show") in ("0", "false")
            case "sp" | "graphicFrame" | "pic" if opens:
                place = ""
            case "cNvPr" if opens and attributes.get("descr"):
                slide.blocks.append(f"[{attributes['descr']}]")
            case "ph" if opens:
                place = attributes.get("type", "body")
            case "txBody" | "tc" if opens:
                lines = []
            case "p" if opens:
                words, depth = [], 0
            case "pPr" if opens:
                depth = min(int(attributes.get("lvl", 0)), 8)
            case "t":
                words.append(said)
            case "br" if opens:
                words.append("\n")
            case "p" if text := "".join(words).strip():
                lines.append("  " * depth + text)
            case "tbl" if opens:
                table = []
            case "tr" if opens and table is not None:
                table.append({})
            case "tc" if table:
                table[-1][len(table[-1])] = " ".join(map(str.strip, lines))
            case "tbl" if table is not None:
                slide.blocks.append(table)
                table = None
            case "txBody" if table is None and place in TITLES and not slide.title:
                slide.title = " ".join(" ".join(lines).split())
            case "txBody" if table is None and place not in ON_EVERY_SLIDE and kind == END:
                slide.blocks.append("\n".join(lines))
    return slide
