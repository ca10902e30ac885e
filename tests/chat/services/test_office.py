"""DOCX, XLSX and PPTX as text, and what of them is refused."""

import zipfile
from collections.abc import Callable

import pytest

from chat.errors import Refused
from chat.services.office import package
from chat.services.office.reader import read_office
from tests.support.office import document, link, pack, paragraph, presentation, shape, workbook

MOST = 400_000


def read(data: bytes) -> str:
    found = read_office("plan", data, MOST)
    assert found is not None
    return found[0]


def test_a_document_keeps_headings_lists_links_tables_and_notes() -> None:
    cell = "<w:tc><w:tcPr>{}</w:tcPr>{}</w:tc>".format
    rows = [
        cell("", paragraph("Item")) + cell("", paragraph("Cost | each")) + cell("", ""),
        cell('<w:gridSpan w:val="2"/>', paragraph("both") * 2) + cell("", paragraph("last")),
    ]
    note = '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    body = [
        paragraph("Plan", "berschrift1"),
        paragraph("one", numbering=1) + paragraph("two", numbering=1),
        paragraph("bullet", "Liste"),
        "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>",
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>"
        '<w:hyperlink r:id="r1"><w:r><w:t>see</w:t></w:r></w:hyperlink>'
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t></w:r>" + note,
    ]
    found = read(
        document(
            "".join(body),
            "hyperlink=https://example.org/a",
            styles="<w:styles>"
            '<w:style styleId="berschrift1"><w:name val="heading 2"/></w:style>'
            '<w:style styleId="Liste"><w:numId val="2"/></w:style></w:styles>',
            numbering='<w:numbering><w:abstractNum abstractNumId="7"><w:lvl ilvl="0">'
            '<w:numFmt val="decimal"/></w:lvl></w:abstractNum>'
            '<w:num numId="1"><w:abstractNumId val="7"/></w:num></w:numbering>',
            footnotes='<w:footnotes><w:footnote id="2"><w:t>As agreed.</w:t></w:footnote>'
            "</w:footnotes>",
        )
    )
    assert found.split("\n\n") == [
        "## Plan",
        "1. one\n2. two\n- bullet",
        "| Item | Cost \\| each |  |\n| --- | --- | --- |\n| both both |  | last |",
        "[see](https://example.org/a)\ta\nb[^2]",
        "[^2]: As agreed.",
    ]


def test_a_workbook_is_a_table_for_each_sheet_with_dates_and_shares() -> None:
    rows = (
        '<row><c r="B2" t="s"><v>0</v></c><c r="D2" t="inlineStr"><is><t>When</t></is></c></row>'
        '<row><c r="B9" s="2"><v>0.256</v></c><c r="D9" s="1"><v>46093.5</v></c></row>'
        '<row><c r="B10"><v>0.30000000000000004</v></c><c r="D10" t="b"><v>1</v></c></row>'
        '<row><c r="B11"><f>SUM(B9:B10)</f></c><c r="D11" t="e"><v>#REF!</v></c></row>'
    )
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d/m/yy;@"/></numFmts><cellXfs>'
        '<xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/></cellXfs>'
    )
    strings = "<si><r><t>Sh</t></r><r><t>are</t></r><rPh><t>kana</t></rPh></si>"
    found = read(workbook({"Costs": rows, "Empty": ""}, strings, styles))
    assert found == (
        "## Costs\n\n| Share | When |\n| --- | --- |\n| 25.6% | 2026-03-12 12:00:00 |\n"
        "| 0.3 | TRUE |\n| =SUM(B9:B10) | #REF! |\n\n## Empty"
    )


def test_a_presentation_has_slides_with_titles_texts_tables_and_notes() -> None:
    cell = "<a:tc><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>".format
    table = f"<p:graphicFrame><a:tbl><a:tr>{cell('x')}{cell('y')}</a:tr></a:tbl></p:graphicFrame>"
    slides = {"Why": shape("body", "Because") + shape("sldNum", "1"), "Table": table}
    assert read(presentation(slides, "Say it slowly.")).split("\n\n") == [
        "## Slide 1: Why",
        "Because",
        "Notes:",
        "Say it slowly.",
        "## Slide 2: Table",
        "| x | y |\n| --- | --- |",
    ]


def test_the_second_form_of_a_drawing_is_not_read_twice() -> None:
    box = "<w:drawing><w:txbxContent>{}</w:txbxContent></w:drawing>".format(paragraph("boxed"))
    twice = f"<w:p><w:r><Choice>{box}</Choice><Fallback>{box}</Fallback></w:r></w:p>"
    assert read(document(twice)) == "boxed"


def entities() -> bytes:
    lol = '<!DOCTYPE d [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>'
    data = {
        "_rels/.rels": link("officeDocument=d.xml"),
        "d.xml": f"{lol}<document><p><r><t>&b;</t></r></p></document>",
    }
    return pack(data)


def outside_entity() -> bytes:
    data = {
        "_rels/.rels": link("officeDocument=d.xml"),
        "d.xml": '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
        "<document><p><r><t>&x;</t></r></p></document>",
    }
    return pack(data)


def far_apart() -> bytes:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    cells = (
        f'<row><c r="{a}{b}{n}"><v>1</v></c></row>'
        for n, (a, b) in enumerate(((a, b) for a in letters for b in letters), 1)
    )
    return workbook({"Wide": "".join(cells)})


def repeated_string() -> bytes:
    cells = '<c t="s"><v>0</v></c>' * 1_000
    return workbook({"Long": f"<row>{cells}</row>"}, f"<si><t>{'long ' * 1_000}</t></si>")


def old(about: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + about.encode("utf-16-le")


def cut_off() -> bytes:
    whole = document(paragraph("word " * 1_000))
    end = whole.rindex(b"PK\x05\x06")
    return whole[:200] + whole[220:end] + whole[end:]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: document(f"<w:p>{' ' * 60_000_000}</w:p>"), "file_too_large"),
        (lambda: document("<w:p>" * 1_000 + "</w:p>" * 1_000), "file_too_large"),
        (lambda: document(paragraph("word " * 90_000)), "file_too_large"),
        (entities, "file_too_large"),
        (outside_entity, "file_too_large"),
        (far_apart, "file_too_large"),
        (repeated_string, "file_too_large"),
        (lambda: old("EncryptedPackage"), "file_encrypted"),
        (lambda: old("WordDocument"), "file_type"),
        (lambda: document(paragraph("  ")), "file_empty"),
        (cut_off, "file_damaged"),
        (lambda: document("<w:p></w:q>"), "file_damaged"),
        (lambda: document(paragraph("x"))[:300], "file_damaged"),
        (lambda: workbook({"A": '<row><c t="s"><v>7</v></c></row>'}), "file_damaged"),
    ],
)
def test_what_is_hostile_protected_or_damaged_is_refused(
    make: Callable[[], bytes], code: str
) -> None:
    with pytest.raises(Refused, match="plan") as refused:
        read_office("plan", make(), MOST)
    assert refused.value.code == code


def test_no_more_elements_are_read_than_a_second_or_two_suffices_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = document("<w:p/>" * 60_000 + paragraph("end"))
    assert read(many) == "end"
    monkeypatch.setattr(package, "MOST_ELEMENTS", 50_000)
    with pytest.raises(Refused, match="unpacks"):
        read(many)


def test_nothing_is_unpacked_by_a_method_that_takes_memory_of_its_own() -> None:
    parts = {"_rels/.rels": link("officeDocument=d.xml"), "d.xml": "<document/>"}
    with pytest.raises(Refused) as refused:
        read_office("plan", pack(parts, zipfile.ZIP_LZMA), MOST)
    assert refused.value.code == "file_damaged"


def test_a_list_of_very_many_entries_is_not_read() -> None:
    many = pack({f"{number:060}": "" for number in range(20_000)}, zipfile.ZIP_STORED)
    with pytest.raises(Refused) as refused:
        read_office("plan", many, MOST)
    assert refused.value.code == "file_too_large"


def test_other_archives_are_none_of_these() -> None:
    assert read_office("plan", pack({"notes.txt": "Hello"}), MOST) is None
    assert read_office("plan", b"PKZIP is a program", MOST) is None


def test_a_part_is_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "CHUNK", 7)
    assert read(document(paragraph("as before"))) == "as before"
