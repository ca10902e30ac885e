"""Office files for tests, as small as their readers take them."""

import zipfile
from io import BytesIO

TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pack(parts: dict[str, str]) -> bytes:
    """A ZIP of such parts."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return out.getvalue()


def link(*targets: str) -> str:
    """The links of a part: `kind=target`, with the ids `r1`, `r2`, …; an address lies outside."""
    rows = []
    for number, each in enumerate(targets, 1):
        kind, _, target = each.partition("=")
        mode = ' TargetMode="External"' if ":" in target else ""
        rows.append(f'<Relationship Id="r{number}" Type="{R}/{kind}" Target="{target}"{mode}/>')
    return f'<Relationships xmlns="{LINKS}">{"".join(rows)}</Relationships>'


def document(body: str, *links: str, **parts: str) -> bytes:
    """A DOCX; `styles` and others are what parts beside the main one hold."""
    beside = {
        f"word/{name}.xml": f'<w:{name} xmlns:w="{W}">{text}</w:{name}>'
        for name, text in parts.items()
    }
    return pack(
        {
            "[Content_Types].xml": TYPES,
            "_rels/.rels": link("officeDocument=word/document.xml"),
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}">'
            f"<w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": link(*links, *(f"{name}={name}.xml" for name in parts)),
            **beside,
        }
    )


def paragraph(text: str, style: str = "", numbering: int = 0) -> str:
    about = f'<w:pStyle w:val="{style}"/>' if style else ""
    if numbering:
        about += f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{numbering}"/></w:numPr>'
    return f"<w:p><w:pPr>{about}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def workbook(sheets: dict[str, str], strings: str = "", styles: str = "") -> bytes:
    """An XLSX of sheets, each given as its rows."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    links = [f"worksheet=sheet{number}.xml" for number in range(1, len(sheets) + 1)]
    return pack(
        {
            "[Content_Types].xml": TYPES,
            "_rels/.rels": link("officeDocument=xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{listed}</sheets>'
            "</workbook>",
            "xl/_rels/workbook.xml.rels": link(
                *links, "sharedStrings=sharedStrings.xml", "styles=styles.xml"
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{S}">{strings}</sst>',
            "xl/styles.xml": f'<styleSheet xmlns="{S}">{styles}</styleSheet>',
            **{
                f"xl/sheet{number}.xml": f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData>'
                "</worksheet>"
                for number, rows in enumerate(sheets.values(), 1)
            },
        }
    )


def presentation(slides: dict[str, str], notes: str = "") -> bytes:
    """A PPTX of slides, each given by its title and what stands below it; the first one may have
    notes."""
    listed = "".join(f'<p:sldId id="{n}" r:id="r{n}"/>' for n in range(1, len(slides) + 1))
    links = [f"slide=slides/slide{number}.xml" for number in range(1, len(slides) + 1)]
    return pack(
        {
            "[Content_Types].xml": TYPES,
            "_rels/.rels": link("officeDocument=ppt/presentation.xml"),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}">'
            f"<p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": link(*links),
            "ppt/slides/_rels/slide1.xml.rels": link("notesSlide=../notes.xml"),
            "ppt/notes.xml": _slide("notes", shape("body", notes)),
            **{
                f"ppt/slides/slide{number}.xml": _slide("sld", shape("title", title) + below)
                for number, (title, below) in enumerate(slides.items(), 1)
            },
        }
    )


def shape(place: str, text: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{place}"/></p:nvPr></p:nvSpPr><p:txBody>'
        f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def _slide(root: str, shapes: str) -> str:
    tree = f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>"
    return f'<p:{root} xmlns:p="{P}" xmlns:a="{A}">{tree}</p:{root}>'
