"""What an uploaded file is, judged by its content: never by its name or what the browser says about
it."""

import math
import re
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy

from agent.tokens import DOCUMENT_BYTES_PER_TOKEN
from chat.engine.model_server import get_counter
from chat.errors import RefusalCode, Refused
from chat.models import Attachment
from chat.services.library import images
from chat.services.library.encodings import Unsure, decode
from chat.services.library.office.reader import read_office

MAX_BYTES = 20_000_000
MAX_TEXT = 400_000  # characters
# The API counts patches of 28 pixels.
PATCH = 28
MAX_PDF_PAGES = 600  # of one request to the API
PDF_END = re.compile(rb"%%EOF")
PDF_TAIL = 4_096  # bytes: some programs append more after the end
PDF_ENCRYPTED = re.compile(rb"/Encrypt\s*(?:\d+\s+\d+\s+R|<<)")
PDF_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")  # those in compressed objects go uncounted
KINDS = gettext_lazy("images (JPEG, PNG, GIF, WebP), PDF, DOCX, XLSX, PPTX, and text or code")


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A checked file. `data` and `media_type` are what is sent, `tokens` is a raw estimate, `width`
    and `height` are an image's pixels. `original_type`: of the file itself, where its text is sent
    in its place."""

    kind: Attachment.Kind
    media_type: str
    data: bytes
    tokens: int
    width: int = 0
    height: int = 0
    original_type: str = ""


def inspect_file(name: str, data: bytes, *, owner_id: int) -> CheckedFile:
    """What a file is, ready to be sent; an image is written anew
    (`chat.services.library.images`). Refused where it is empty, too large, damaged or of another
    kind."""
    if not data:
        raise Refused(RefusalCode.FILE_EMPTY, gettext("{name} is empty.").format(name=name))
    if len(data) > MAX_BYTES:
        raise Refused(
            RefusalCode.FILE_TOO_LARGE,
            gettext("{name} has {size:.0f} MB; at most {most:.0f} MB can be sent.").format(
                name=name, size=len(data) / 1e6, most=MAX_BYTES / 1e6
            ),
        )
    if data.startswith(b"%PDF-"):
        return _pdf(name, data)
    return _image(name, data, owner_id) or _office(name, data, owner_id) or _text(name, data)


def _pdf(name: str, data: bytes) -> CheckedFile:
    """A PDF that is whole, open to read and not too long, as far as a look at its bytes can tell:
    one that the API cannot read would fail every later request of the conversation."""
    if not PDF_END.search(data, max(0, len(data) - PDF_TAIL)):
        raise Refused(
            RefusalCode.FILE_DAMAGED,
            gettext("{name} is damaged: it cannot be read to the end.").format(name=name),
        )
    if PDF_ENCRYPTED.search(data):
        raise Refused(
            RefusalCode.FILE_ENCRYPTED,
            gettext("{name} is encrypted. Save it without a password, and attach that.").format(
                name=name
            ),
        )
    pages = sum(1 for _ in PDF_PAGE.finditer(data))
    if pages > MAX_PDF_PAGES:
        raise Refused(
            RefusalCode.FILE_TOO_LARGE,
            gettext("{name} has {pages} pages; at most {most} can be sent.").format(
                name=name, pages=pages, most=MAX_PDF_PAGES
            ),
        )
    return CheckedFile(
        Attachment.Kind.PDF, "application/pdf", data, len(data) * 4 // 3 // DOCUMENT_BYTES_PER_TOKEN
    )


def _image(name: str, data: bytes, owner_id: int) -> CheckedFile | None:
    if (cleaned := images.rewrite_image(name, data, owner_id=owner_id)) is None:
        return None
    pixels, media_type, (width, height) = cleaned
    tokens = math.ceil(width / PATCH) * math.ceil(height / PATCH)
    return CheckedFile(Attachment.Kind.IMAGE, media_type, pixels, tokens, width, height)


def _office(name: str, data: bytes, owner_id: int) -> CheckedFile | None:
    if (found := read_office(name, data, MAX_TEXT, owner_id=owner_id)) is None:
        return None
    text, media_type = found
    tokens = get_counter().count(text)
    return CheckedFile(
        Attachment.Kind.OFFICE, "text/plain", text.encode(), tokens, original_type=media_type
    )


def _text(name: str, data: bytes) -> CheckedFile:
    try:
        found = decode(data)
    except Unsure as error:
        words = gettext(
            "{name} is not in UTF-8, and its encoding cannot be told. Save it as UTF-8 (in Excel: "
            "“CSV UTF-8”), and attach that."
        )
        raise Refused(RefusalCode.FILE_ENCODING, words.format(name=name)) from error
    if found is None:
        raise Refused(
            RefusalCode.FILE_TYPE,
            gettext("{name} cannot be sent. These can: {kinds}.").format(name=name, kinds=KINDS),
        )
    if len(found.text) > MAX_TEXT:
        raise Refused(
            RefusalCode.FILE_TOO_LARGE,
            gettext("{name} has {count:,} characters; at most {most:,} can be sent.").format(
                name=name, count=len(found.text), most=MAX_TEXT
            ),
        )
    original = f"text/plain; charset={found.encoding}" if found.encoding else ""
    tokens = get_counter().count(found.text)
    return CheckedFile(
        Attachment.Kind.TEXT, "text/plain", found.text.encode(), tokens, original_type=original
    )
