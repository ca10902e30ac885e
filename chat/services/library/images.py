"""Images as they are sent and shown: upright, of a size the API uses, and nothing but pixels."""

import warnings
from io import BytesIO

import structlog
from django.utils.translation import gettext
from PIL import Image, UnidentifiedImageError
from PIL.Image import Transpose

from chat.errors import RefusalCode, Refused
from chat.services.library.fair_share import FairShare

log = structlog.get_logger(__name__)

FORMATS = ["JPEG", "PNG", "GIF", "WEBP"]
# The API scales larger images down to this edge itself, and takes at most 5 MB.
MAX_EDGE = 1_568
MAX_IMAGE_BYTES = 3_500_000
# Memory that one image may take while it is scaled down. A few bytes can unpack to a thousand
# times more.
MAX_MEMORY = 250_000_000
ORIENTATION = 0x0112  # EXIF
# Of a JPEG: how it begins where its JFIF segment has no thumbnail, its end, and the markers of the
# segments that a picture needs (ITU T.81, table B.1): the frame, tables and the scan.
JPEG_BEGINS = bytes.fromhex("ffd8 ffe0 0010 4a46494600 0101 00 0001 0001 00 00")
JPEG_ENDS, START_OF_SCAN = b"\xff\xd9", b"\xff\xda"
PLAIN_SEGMENTS = (b"\xff\xc0", b"\xff\xc4", b"\xff\xdb", START_OF_SCAN)
UPRIGHT = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
_decoding = FairShare(1)  # in a process: each may take MAX_MEMORY


def rewrite_image(
    name: str, data: bytes, *, owner_id: int
) -> tuple[bytes, str, tuple[int, int]] | None:
    """An image's data without metadata, its media type and its size; None where it is not an image.

    Always written anew, so that nothing else is sent along: no place, text, profile or thumbnail,
    and no data after the end. Of an animation only the first frame, which is what the API looks at.
    Refused where it is damaged, or unpacks to too much. Blocks.
    """
    with _decoding.hold(owner_id, name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oddities that do not matter here
        try:
            image = Image.open(BytesIO(data), formats=FORMATS)
            if image.width * image.height * _bytes_per_pixel(image) > MAX_MEMORY:
                raise Image.DecompressionBombError
            return _rewritten(image)
        except UnidentifiedImageError:
            return None
        except Image.DecompressionBombError as error:
            words = gettext(
                "{name} has too many pixels. Send a smaller one, or save it as a plain JPEG."
            )
            raise Refused(RefusalCode.FILE_TOO_LARGE, words.format(name=name)) from error
        except Exception as error:
            log.info("image cannot be read", error=repr(error)[:200])
            words = gettext("{name} is damaged: it cannot be read to the end.")
            raise Refused(RefusalCode.FILE_DAMAGED, words.format(name=name)) from error


def is_nothing_but_pixels(data: bytes) -> bool:
    """Whether a JPEG that can be read is as `rewrite_image` writes it: not too large, and without
    any segment for metadata or data after its end."""
    if not data.startswith(JPEG_BEGINS) or max(Image.open(BytesIO(data)).size) > MAX_EDGE:
        return False
    place = len(JPEG_BEGINS)
    while data[place : place + 2] in PLAIN_SEGMENTS:
        if data[place : place + 2] == START_OF_SCAN:  # where it is not progressive, the only one
            return data.find(JPEG_ENDS, place) == len(data) - len(JPEG_ENDS)
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return False


def _bytes_per_pixel(image: Image.Image) -> int:
    """The most memory that decoding and scaling take, as measured with Pillow 13."""
    if image.format in ("JPEG", "MPO"):
        # Scaled down while it is decoded; a progressive file is unpacked whole first.
        return 2 + 2 * len(image.getbands()) if image.info.get("progressive") else 2
    if image.format == "WEBP":
        return 19
    return 6 if image.mode in ("L", "RGB") else 10


def _rewritten(image: Image.Image) -> tuple[bytes, str, tuple[int, int]]:
    orientation = _orientation(image)
    lossless = image.format in ("PNG", "GIF") and max(image.size) <= MAX_EDGE
    if (longest := max(image.size)) > MAX_EDGE:
        # A JPEG is decoded at an eighth, a quarter or half of its size; other formats are not.
        wanted = [max(1, edge * MAX_EDGE // longest) for edge in image.size]
        image.draft(None, (wanted[0], wanted[1]))
    if image.mode == "I;16":
        image = _in_eight_bits(image)
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if image.mode in ("1", "P", "PA"):  # would be scaled without smoothing
        image = image.convert(mode)
    image.thumbnail((MAX_EDGE, MAX_EDGE))
    image.load()
    if orientation in UPRIGHT:
        image = image.transpose(UPRIGHT[orientation])
    pixels = image.convert(mode)
    pixels.info.clear()
    if lossless or mode == "RGBA":
        png = _written(pixels, "PNG", optimize=True)
        if len(png) <= MAX_IMAGE_BYTES:
            return png, "image/png", pixels.size
    if mode == "RGBA":
        pixels = Image.alpha_composite(Image.new("RGBA", pixels.size, "white"), pixels)
    jpeg = _written(pixels.convert("RGB"), "JPEG", quality=90)
    return jpeg, "image/jpeg", pixels.size


def _in_eight_bits(image: Image.Image) -> Image.Image:
    """A grey image of 16 bits as `L` or `LA`; by itself Pillow cuts values off instead of scaling
    them. The value that stands for transparent has 16 bits too."""
    clear = image.info.pop("transparency", None)
    values, whole = range(1 << 16), image.convert("I")  # whose values a table may have
    grey = whole.point([value >> 8 for value in values], "L")
    if clear is not None:
        grey.putalpha(whole.point([0 if value == clear else 255 for value in values], "L"))
    return grey


def _orientation(image: Image.Image) -> int:
    """As a camera noted it; upright where the note cannot be read."""
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except Exception as error:  # noqa: BLE001 - damaged metadata is thrown away anyhow
        log.info("orientation of an image cannot be read", error=repr(error)[:200])
        return 1


def _written(image: Image.Image, kind: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
