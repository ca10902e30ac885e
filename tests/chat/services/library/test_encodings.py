"""Texts that are not in UTF-8, and what is no text."""

import zipfile
from io import BytesIO
from random import Random

import pytest

from chat.errors import Refused
from chat.services.library.file_types import inspect_file
from tests.support.pictures import picture

WESTERN = "Größe;Stück\nKäse “extra”;3 € – schön\nNão, señor, à l’opéra\n"
JAPANESE = "品名,数量\nりんごジュース,三本\nお茶をください\n"
CHINESE = "产品,数量\n苹果汁,三瓶\n请给我茶\n"
TAIWANESE = "產品,數量\n蘋果汁,三瓶\n請給我茶\n"
KOREAN = "상품,수량\n사과 주스,세 병\n차를 주세요\n"
RUSSIAN = "Товар;Количество\nяблочный сок;три бутылки\nдайте мне, пожалуйста, чаю\n"


def read(data: bytes) -> tuple[str, str]:
    """The text, and what its file's type is said to be."""
    found = inspect_file("list.csv", data, owner_id=1)
    return found.data.decode(), found.original_type.removeprefix("text/plain; charset=")


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        (WESTERN, "utf-8", ""),
        (WESTERN, "utf-8-sig", ""),
        (WESTERN, "utf-16", "UTF-16"),  # with its mark
        (WESTERN, "utf-16-le", "UTF-16"),
        (WESTERN, "utf-16-be", "UTF-16"),
        (JAPANESE, "utf-16", "UTF-16"),
        (JAPANESE, "utf-32", "UTF-32"),
        (WESTERN, "cp1252", "windows-1252"),
        ("Zürich: 20 °C, 5 µm", "cp1252", "windows-1252"),
        ("Preis: 5 €, Käse", "iso8859-15", "ISO-8859-15"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250", "windows-1250"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (RUSSIAN, "cp866", "IBM866"),
        (JAPANESE, "shift-jis", "Shift_JIS"),
        (JAPANESE, "euc-jp", "EUC-JP"),
        (JAPANESE, "iso2022_jp", "ISO-2022-JP"),
        (CHINESE, "gbk", "GB18030"),
        (TAIWANESE, "big5", "Big5"),
        (KOREAN, "euc-kr", "EUC-KR"),
        ("Имя;Сумма\nПетров;90\n", "cp1251", "windows-1251"),
        ("Όνομα;Ποσό\nΓιώργος;90\n", "iso8859-7", "windows-1253"),
        ("Sayın yetkili, faturayı göndermenizi rica ederim.", "cp1254", "windows-1254"),
        (
            "Dzień dobry, proszę o przesłanie faktury. Dziękuję bardzo i życzę miłego dnia.",
            "cp1250",
            "windows-1250",
        ),
        ("שלום רב, אבקש לשלוח את החשבונית בהקדם האפשרי.", "cp1255", "windows-1255"),
        ("مرحبا، أرجو إرسال الفاتورة في أقرب وقت ممكن.", "cp1256", "windows-1256"),
        ("お世話になっております。請求書をお送りください。", "shift-jis", "Shift_JIS"),
        ("x = 1\n" * 300 + "# メモ\n", "shift-jis", "Shift_JIS"),
        ("ID,商品名,価格\n1,ペン,100\n2,紙,90\n", "shift-jis", "Shift_JIS"),
        ("您好，請把發票寄給我們，謝謝！", "big5", "Big5"),
        ("name,city\n张伟,北京\n", "gbk", "GB18030"),
        ("name,city\n鈴木,大阪です\n", "euc-jp", "EUC-JP"),
    ],
)
def test_a_text_is_read_in_the_encoding_that_it_has(text: str, codec: str, encoding: str) -> None:
    assert read(text.encode(codec)) == (text, encoding)


@pytest.mark.parametrize(("text", "codec"), [(JAPANESE, "shift-jis"), (RUSSIAN, "cp1251")])
def test_what_is_beyond_ascii_may_come_late_and_be_long(text: str, codec: str) -> None:
    long = "id,name\n" * 20_000 + text * 500 + text.replace("\n", " ") * 500
    assert read(long.encode(codec))[0] == long


@pytest.mark.parametrize(
    "data",
    [
        "Größe".encode("mac-roman"),
        "Größe".encode("cp437"),
        "Жук".encode("koi8-r"),  # as good in other encodings
        "Škoda à la carte".encode("cp1252"),
        "Það er gott veður í dag, þakka þér".encode("cp1252"),
        "name,city\n李娜,上海\n".encode("gbk"),
    ],
)
def test_where_the_encoding_cannot_be_told_words_say_how_to_save_the_file(data: bytes) -> None:
    with pytest.raises(Refused, match=r"list\.csv .*Save it as UTF-8 \(in Excel: ") as refused:
        read(data)
    assert refused.value.code == "file_encoding"


def archive() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a", "a" * 99)
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        Random(1).randbytes(2_000),
        Random(2).randbytes(2_000).replace(b"\0", b"\1"),
        b"\x7fELF\2\1\1" + bytes(9) + b"text " * 99,
        b"MZ" + bytes(60) + b"This program cannot be run in DOS mode.",
        archive(),
        picture(kind="BMP"),
        b"\x1f\x8b\x08" + Random(3).randbytes(99),
        b"\xff\xfe\0\xd8a\0",  # a mark, and half of a pair
        "a\0b\0".encode("utf-16-le"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="cannot be sent") as refused:
        read(data)
    assert refused.value.code == "file_type"
