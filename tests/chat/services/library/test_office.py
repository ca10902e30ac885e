"""DOCX, XLSX and PPTX as text, and what of them is refused."""

import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from office_oxide import Document

from chat.errors import Refused
from chat.services.library.office import reader
from chat.services.library.office.reader import read_office
from tests.support.office import A, document, pack, paragraph, presentation, shape, workbook
from tests.support.pictures import picture

MOST = 400_000


def read(data: bytes) -> str:
    found = read_office("plan", data, MOST, owner_id=1)
    assert found is not None
    return found[0]


def test_a_document_keeps_headings_lists_links_tables_and_notes() -> None:
    cell = "<w:tc><w:tcPr>{}</w:tcPr>{}</w:tc>".format
    rows = [
        cell("", paragraph("Item")) + cell("", paragraph("Cost | each")) + cell("", ""),
        cell('<w:gridSpan w:val="2"/>', paragraph("both") * 2) + cell("", paragraph("last")),
    ]
    body = [
        paragraph("Plan", "berschrift2"),
        paragraph("one", numbering=1) + paragraph("two", numbering=1),
        "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>",
        '<w:p><w:hyperlink r:id="r1"><w:r><w:t>see</w:t></w:r></w:hyperlink>'
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p>",
    ]
    found = read(
        document(
            "".join(body),
            "hyperlink=https://example.org/a",
            styles='<w:style w:type="paragraph" w:styleId="berschrift2">'
            '<w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>',
            numbering='<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0">'
            '<w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>',
            footnotes=f'<w:footnote w:id="2">{paragraph("As agreed.")}</w:footnote>',
        )
    )
    assert found.split("\n\n") == [
        "## Plan",
        "1. one\n2. two",
        "| Item | Cost \\| each |  |\n| --- | --- | --- |\n| both both |  | last |",
        "[see](https://example.org/a)\ta  \nb",
        "As agreed.",
    ]


def test_a_workbook_is_a_table_for_each_sheet_with_dates_and_times() -> None:
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="D2" t="inlineStr"><is><t>When</t></is></c>'
        '</row><row r="9"><c r="B9" s="2"><v>0.5625</v></c><c r="D9" s="1"><v>46093.5</v></c></row>'
        '<row r="10"><c r="B10"><v>0.30000000000000004</v></c><c r="D10" t="b"><v>1</v></c></row>'
        '<row r="11"><c r="B11"><f>SUM(B9:B10)</f><v>2026</v></c></row>'
    )
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d/m/yy;@"/></numFmts><cellXfs>'
        '<xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="20"/></cellXfs>'
    )
    strings = "<si><r><t>Sh</t></r><r><t>are | a\nday</t></r><rPh><t>kana</t></rPh></si>"
    hidden = 'Old" state="hidden'
    sheets = {"Costs": rows, "Empty": "", hidden: '<row><c t="b"><v>0</v></c></row>'}
    assert read(workbook(sheets, strings, styles)).split("\n\n") == [
        "## Costs",
        "| Share \\| a day | When |\n| --- | --- |\n| 13:30:00 | 2026-03-12 12:00:00 |\n"
        "| 0.3 | TRUE |\n| 2026 |  |",
        "## Empty",
        "## Old (hidden)",
        "| FALSE |\n| --- |",
    ]


UNCALCULATED = (
    '<row><c t="inlineStr"><is><t>What</t></is></c><c t="inlineStr"><is><t>Value</t></is></c></row>'
    '<row r="4"><c r="A4"><v>3</v></c><c r="B4"><f>A4*2</f></c></row>'
    '<row><c><v>5</v></c><c><f>A4&amp;"|"</f><v/></c></row>'
    '<row><c t="e"><v>#N/A</v></c><c t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
    '<row><c t="str"><f>""</f><v></v></c><c><f t="shared" ref="B7:B8" si="0">A7+1</f></c></row>'
    '<row><c><f>A4*4</f><v>12</v></c><c><f t="shared" si="0"/></c></row>'
    '<row r="90"><c r="B90"><f>A4-3</f><v>0</v></c></row>'
)


def test_a_formula_without_a_value_is_shown_itself_and_an_error_by_its_name() -> None:
    assert read(workbook({"Plan": UNCALCULATED})).split("\n")[4:] == [
        "| 3 | =A4*2 |",
        '| 5 | =A4&"\\|" |',
        "| #N/A | #DIV/0! |",
        "|  | =A7+1 |",
        "| 12 | =A7+1 (as in row 7) |",
        "|  | 0 |",
    ]


def test_a_0_of_a_workbook_that_others_are_to_calculate_is_no_value() -> None:
    with zipfile.ZipFile(BytesIO(workbook({"Plan": UNCALCULATED}))) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    book = parts["xl/workbook.xml"]
    told = '<calcPr fullCalcOnLoad="1"/></workbook>'
    parts["xl/workbook.xml"] = book.replace("</workbook>", told)
    assert read(pack(parts)).split("\n")[8:] == ["| 12 | =A7+1 (as in row 7) |", "|  | =A4-3 |"]


def test_a_presentation_has_slides_with_titles_texts_tables_and_notes() -> None:
    cell = "<a:tc><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>".format
    table = (
        f'<p:graphicFrame><a:graphic><a:graphicData uri="{A[:-5]}/table"><a:tbl>'
        f"<a:tr>{cell('x')}{cell('y')}</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    slides = {"Why": shape("body", "Because"), "": table}
    assert read(presentation(slides, "Say it slowly.")).split("\n\n") == [
        "## Slide 1: Why",
        "Because",
        "> **Notes:**\n> Say it slowly.",
        "## Slide 2",
        "| x | y |\n| --- | --- |",
    ]


def with_picture(body: str) -> bytes:
    """A document whose link `r1` is a picture."""
    out = BytesIO(document(body, "image=media/image1.png"))
    with zipfile.ZipFile(out, "a") as file:
        file.writestr("word/media/image1.png", picture())
    return out.getvalue()


def test_pictures_leave_nothing_and_words_that_look_like_them_stay() -> None:
    drawn = (
        f'<w:p><w:r><w:drawing><wp:inline><a:graphic xmlns:a="{A}"><a:graphicData><pic:pic>'
        '<pic:blipFill><a:blip r:embed="r1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic>'
        "</wp:inline></w:drawing></w:r></w:p>"
    )
    written = "An image is [image-base64:QUJD] there."
    data = with_picture(drawn + paragraph(written))
    assert "image-base64:iVBOR" in Document.from_bytes(data, "docx").to_markdown_with_images()
    assert read(data).replace("\\", "") == written


def declaring(entity: str) -> bytes:
    """A document that is one entity."""
    with zipfile.ZipFile(BytesIO(document(paragraph("&x;")))) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    parts["word/document.xml"] = f"<!DOCTYPE d [<!ENTITY x {entity}>]>{parts['word/document.xml']}"
    return pack(parts)


def test_entities_are_neither_unpacked_nor_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    assert read(declaring('"secret"')) == "&x;"
    assert read(declaring(f'SYSTEM "file://{tmp_path}/secret"')) == "&x;"


def far_apart() -> bytes:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    cells = (
        f'<row r="{n}"><c r="{a}{b}{n}"><v>1</v></c></row>'
        for n, (a, b) in enumerate(((a, b) for a in letters for b in letters), 1)
    )
    return workbook({"Wide": "".join(cells)})


def repeated_string() -> bytes:
    cells = '<c t="s"><v>0</v></c>' * 1_000
    return workbook({"Long": f"<row>{cells}</row>"}, f"<si><t>{'long ' * 1_000}</t></si>")


def old(about: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + about.encode("utf-16-le")


def with_password() -> bytes:
    whole = bytearray(document(paragraph("x")))
    whole[whole.index(b"PK\x01\x02") + 8] |= 1  # a flag of its first entry
    return bytes(whole)


def cut_off() -> bytes:
    whole = document(paragraph("word " * 1_000))
    end = whole.rindex(b"PK\x05\x06")
    return whole[:200] + whole[220:end] + whole[end:]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: document(f"<w:p>{' ' * 200_000_000}</w:p>"), "file_too_large"),
        (lambda: document(paragraph("word " * 90_000)), "file_too_large"),
        (far_apart, "file_too_large"),
        (repeated_string, "file_too_large"),
        (with_password, "file_encrypted"),
        (lambda: old("EncryptedPackage"), "file_encrypted"),
        (lambda: old("WordDocument"), "file_type"),
        (lambda: document(paragraph("  ")), "file_empty"),
        (lambda: document("<w:p>" * 100_000 + "</w:p>" * 100_000), "file_empty"),
        (cut_off, "file_damaged"),
        (lambda: document(paragraph("x"))[:300], "file_damaged"),
        (lambda: workbook({"A": '<row><c t="s"><v>7</v></c></row>'}), "file_damaged"),
    ],
)
def test_what_is_hostile_protected_or_damaged_is_refused(
    make: Callable[[], bytes], code: str
) -> None:
    with pytest.raises(Refused, match="plan") as refused:
        read_office("plan", make(), MOST, owner_id=1)
    assert refused.value.code == code


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize(
    "make",
    [
        lambda: document(f"<w:p>{'<w:r><w:t>x</w:t></w:r>' * 3_000_000}</w:p>"),
        lambda: workbook(
            {"Far": '<row><c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c></row>'}
        ),
    ],
)
def test_what_takes_more_memory_than_it_may_is_refused(make: Callable[[], bytes]) -> None:
    with pytest.raises(Refused, match="unpacks"):
        read_office("plan", make(), MOST, owner_id=1)


def test_a_file_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SECONDS", 0.001)
    with pytest.raises(Refused, match="unpacks"):
        read(document(paragraph("x")))


def test_the_program_that_reads_is_given_no_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spy = tmp_path / "spy.py"
    spy.write_text("import json, os; print(json.dumps({'kind': 'docx', 'text': str(os.environ)}))")
    monkeypatch.setattr(reader, "PROGRAM", str(spy))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a secret")
    assert "secret" not in read(document(paragraph("x")))


def test_other_archives_are_none_of_these() -> None:
    assert read_office("plan", pack({"notes.txt": "Hello"}), MOST, owner_id=1) is None
    assert read_office("plan", b"PKZIP is a program", MOST, owner_id=1) is None
