"""The text of an Office file, and why there is none."""

import threading
from collections.abc import Callable

import structlog
from django.utils.translation import gettext

from chat.errors import RefusalCode, Refused
from chat.services.office.markdown import TooLong, Writer
from chat.services.office.package import DAMAGE, START, Package, Protected, TooMuch
from chat.services.office.sheets import read_workbook
from chat.services.office.slides import read_presentation
from chat.services.office.word import read_document

log = structlog.get_logger(__name__)

OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # what files of Office began with until 2007
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # what such a file holds today
ZIP = b"PK\x03\x04"
FORMATS = "application/vnd.openxmlformats-officedocument."
Read = Callable[[Package, str, Writer], None]
# By the first element of the main part, whatever the file is called.
READERS: dict[str, tuple[str, Read]] = {
    "document": (FORMATS + "wordprocessingml.document", read_document),
    "workbook": (FORMATS + "spreadsheetml.sheet", read_workbook),
    "presentation": (FORMATS + "presentationml.presentation", read_presentation),
}
# One at a time in a process: each may take some seconds and a hundred megabytes.
_reading = threading.Lock()


def read_office(name: str, data: bytes, most: int) -> tuple[str, str] | None:
    """The text as Markdown and the media type of the file; None where it is none of Office's.

    Macros, pictures and what is embedded are left unread, and nothing that it refers to is fetched.
    Refused where it is damaged, needs a password, is of an old format, has no text, or has more
    than `most` characters or than can be read here. Blocks.
    """
    if data.startswith(OLD):
        raise _refuse_old(name, data)
    if not data.startswith(ZIP):
        return None
    try:
        with _reading:
            return _read(name, Package(data), Writer(most))
    except Protected as error:
        raise _refuse_protected(name) from error
    except TooLong as error:
        words = gettext(
            "{name} has more than {most:,} characters of text, which is the most that can be sent. "
            "Attach a part of it."
        )
        raise Refused(RefusalCode.FILE_TOO_LARGE, words.format(name=name, most=most)) from error
    except TooMuch as error:
        words = gettext("{name} unpacks to too much to be read. Attach a part of it, or a PDF.")
        raise Refused(RefusalCode.FILE_TOO_LARGE, words.format(name=name)) from error
    except DAMAGE as error:
        log.info("office file cannot be read", error=repr(error)[:200])
        words = gettext("{name} is damaged: it cannot be read to the end.")
        raise Refused(RefusalCode.FILE_DAMAGED, words.format(name=name)) from error


def _read(name: str, package: Package, out: Writer) -> tuple[str, str] | None:
    main = next(
        (part for kind, part in package.read_links("").values() if kind == "officeDocument"), ""
    )
    if main not in package:
        return None
    root = next((element for kind, element, *_ in package.read(main) if kind == START), "")
    if root not in READERS:
        return None
    media_type, read = READERS[root]
    read(package, main, out)
    if not out.text:
        words = gettext("{name} has no text. Save it as PDF to send what its pages show.")
        raise Refused(RefusalCode.FILE_EMPTY, words.format(name=name))
    return out.text, media_type


def _refuse_protected(name: str) -> Refused:
    words = gettext("{name} is encrypted. Save it without a password, and attach that.")
    return Refused(RefusalCode.FILE_ENCRYPTED, words.format(name=name))


def _refuse_old(name: str, data: bytes) -> Refused:
    if ENCRYPTED in data:
        return _refuse_protected(name)
    words = gettext(
        "{name} is in a format that cannot be read. Save it as DOCX, XLSX or PPTX, and attach that."
    )
    return Refused(RefusalCode.FILE_TYPE, words.format(name=name))
