"""Images: what is left of them, and what hostile ones cost. All files are made here."""

import struct
import threading
import zlib
from collections.abc import Callable
from io import BytesIO
from random import randbytes
from typing import Any

import pytest
from PIL import Image, JpegImagePlugin, PngImagePlugin

from chat.errors import Refused
from chat.services.library import images
from chat.services.library.file_types import inspect_file
from chat.services.library.images import MAX_EDGE, MAX_IMAGE_BYTES
from tests.support.pictures import picture

SECRET = b"48.8584N 2.2945E"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(*chunks: bytes, size: tuple[int, int] = (8, 8), rows: int = 8) -> bytes:
    """A grey PNG with additional chunks before its pixels, of which `rows` rows are there."""
    pixels = zlib.compress((b"\0" * (size[0] + 1)) * rows)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0))
    parts = [header, *chunks, chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def outcome(data: bytes) -> str:
    """The kind of the file, or the code of the refusal, which has words. Nothing else is raised."""
    try:
        return inspect_file("a.png", data, owner_id=1).kind
    except Refused as refusal:
        return refusal.code if refusal.message.startswith("a.png ") else ""


def decoded(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(inspect_file("a", data, owner_id=1).data))
    image.load()
    return image


# --- What is left ---------------------------------------------------------------------------------


def _exif() -> Image.Exif:
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()  # description
    exif.get_ifd(0x8825)[1] = "N"
    return exif


def _text_chunks() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", SECRET.decode())
    info.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    return info


XMP = b"<x:xmpmeta>" + SECRET + b"</x:xmpmeta>"
IPTC = b"\xff\xed" + struct.pack(">H", 2 + 14 + len(SECRET)) + b"Photoshop 3.0\0" + SECRET


@pytest.mark.parametrize(
    "data",
    [
        picture(kind="JPEG", exif=_exif()),
        picture(kind="JPEG", xmp=XMP),
        picture(kind="JPEG", comment=SECRET),
        picture(kind="JPEG", icc_profile=SECRET),
        picture(kind="JPEG")[:2] + IPTC + picture(kind="JPEG")[2:],
        picture(kind="JPEG") + SECRET,
        picture(kind="PNG", pnginfo=_text_chunks()),
        picture(kind="PNG", exif=_exif()),
        picture(kind="PNG", icc_profile=SECRET),
        picture(kind="PNG") + SECRET,
        png(chunk(b"prVt", SECRET)),
        picture(kind="GIF", comment=SECRET),
        picture(kind="GIF") + SECRET,
        picture(kind="WEBP", exif=_exif()),
        picture(kind="WEBP", xmp=XMP),
    ],
)
def test_nothing_but_pixels_is_kept(data: bytes) -> None:
    kept = inspect_file("a", data, owner_id=1)
    assert kept.kind == "image"
    assert SECRET not in kept.data
    image = decoded(data)
    assert not image.getexif()
    # Of a JPEG its density and the version of its header, of nobody's interest.
    assert not image.info.keys() - {"jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi"}


def test_a_large_photo_is_turned_upright_and_scaled() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned to the right
    photo = Image.new("RGB", (4_000, 3_000), "white")
    photo.paste("black", (0, 0, 4_000, 1_500))  # the upper half, which will be the right one
    out = BytesIO()
    photo.save(out, "JPEG", exif=exif)
    image = decoded(out.getvalue())
    assert image.size == (1_176, MAX_EDGE)
    assert (
        image.convert("L").getpixel((1_000, 800))
        < 50
        < 200
        < image.convert("L").getpixel((100, 800))
    )  # type: ignore[operator]


def test_a_damaged_note_of_the_orientation_does_not_matter() -> None:
    assert (
        inspect_file(
            "a", picture(kind="JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff"), owner_id=1
        ).kind
        == "image"
    )


def test_an_animation_becomes_its_first_frame() -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    out = BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    image = decoded(out.getvalue())
    assert getattr(image, "n_frames", 1) == 1
    assert image.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
@pytest.mark.parametrize("size", [(40, 30), (2_000, 1_500)])
def test_every_kind_of_pixels_is_taken(mode: str, size: tuple[int, int]) -> None:
    assert max(decoded(picture(size, mode=mode, color=0)).size) <= MAX_EDGE


def sixteen_bits(size: tuple[int, int], **values: Any) -> bytes:
    """A grey PNG from black at its left to white at its right, with 16 bits a pixel."""
    row = b"".join(struct.pack("<H", x * 65_535 // (size[0] - 1)) for x in range(size[0]))
    out = BytesIO()
    Image.frombytes("I;16", size, row * size[1]).save(out, "PNG", **values)
    return out.getvalue()


@pytest.mark.parametrize("size", [(256, 8), (3_136, 10)])
def test_sixteen_bits_of_grey_become_the_same_picture_in_eight(size: tuple[int, int]) -> None:
    image = decoded(sixteen_bits(size)).convert("L")
    shown = [image.getpixel((image.width * share // 100, 2)) for share in (0, 25, 50, 75)]
    assert shown == pytest.approx([0, 64, 128, 191], abs=1)


def test_a_transparent_value_of_sixteen_bits_is_that_value_alone() -> None:
    image = decoded(sixteen_bits((1_024, 8), transparency=512 * 65_535 // 1_023))
    alphas = [image.getpixel((x, 2))[3] for x in (511, 512, 513)]
    assert alphas == [255, 0, 255]


def test_transparency_is_kept() -> None:
    color = (0, 128, 128, 0)
    assert decoded(picture(mode="RGBA", color=color)).convert("RGBA").getpixel((1, 1)) == color


def test_what_stays_too_large_as_png_becomes_a_jpeg() -> None:
    noise = Image.frombytes("RGBA", (1_000, 1_000), randbytes(4_000_000))
    out = BytesIO()
    noise.save(out, "PNG", compress_level=0)
    found = inspect_file("noise.png", out.getvalue(), owner_id=1)
    assert found.media_type == "image/jpeg"
    assert len(found.data) <= MAX_IMAGE_BYTES


# --- Hostile files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",  # only where it is tested, and not much larger than is taken: writing takes its time
    [
        lambda: png(size=(20_000, 20_000), rows=1),
        lambda: png(size=(7_000, 7_000), rows=1),
        lambda: picture((7_000, 7_000), mode="L", color=0),  # 49 megapixels in 50 kB
        lambda: picture((3_700, 3_700), kind="WEBP", method=0),
        lambda: picture((5_100, 5_100), kind="GIF", mode="P", color=0),
        lambda: picture((5_100, 5_100), kind="JPEG", mode="CMYK", color=0, progressive=True),
    ],
    ids=["png", "small png", "written png", "webp", "gif", "jpeg"],
)
def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    state: list[object] = []
    monkeypatch.setattr(images, "_rewritten", state.append)
    with pytest.raises(Refused, match="too many pixels") as refused:
        inspect_file("bomb.png", make(), owner_id=1)
    assert refused.value.code == "file_too_large"
    assert not state


def test_a_large_photo_of_a_camera_is_no_bomb() -> None:
    photo = picture((8_064, 6_048), kind="JPEG")
    assert decoded(photo).size == (MAX_EDGE, 1_176)


def test_a_large_photo_is_never_decoded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, int]] = []
    load = JpegImagePlugin.JpegImageFile.load

    def watched(image: JpegImagePlugin.JpegImageFile) -> object:
        sizes.append(image.size)
        return load(image)

    monkeypatch.setattr(JpegImagePlugin.JpegImageFile, "load", watched)
    inspect_file("a", picture((8_064, 6_048), kind="JPEG"), owner_id=1)
    assert sizes[0] == (2_016, 1_512)


BOMB = zlib.compress(b"a" * 50_000_000)
JPEG = picture(kind="JPEG")


@pytest.mark.parametrize(
    "data",
    [
        png(chunk(b"zTXt", b"k\0\0" + BOMB)),
        png(chunk(b"iTXt", b"k\0\1\0\0\0" + BOMB)),
        png(chunk(b"iCCP", b"k\0\0" + BOMB)),
        png(chunk(b"zTXt", b"k\0\7")),
        png(chunk(b"tRNS", b"")),
        png(chunk(b"PLTE", b"")),
        png(chunk(b"acTL", b"")),
        png(chunk(b"fcTL", b"\xff" * 26)),
        png(rows=2),
        png()[:-30],
        png()[:40] + b"\xff" * 100,
        picture()[:200],
        JPEG[:-200],
        JPEG[: len(JPEG) // 2],
        JPEG[:2] + b"\xff\xc0\x00\x03\x08" + JPEG[2:],
        JPEG[:2] + b"\xff\xdb\x00\x04\x00\x00" + JPEG[2:],
        JPEG[:2] + b"\xff\xe2\x00\x08MPF\0II" + JPEG[2:],
        picture(kind="GIF")[:-30],
        b"GIF89a" + b"\xff" * 40,
        picture(kind="WEBP")[:60],
        b"RIFF\xff\xff\xff\xffWEBPVP8X" + b"\xff" * 60,
        b"RIFF\x00\x00\x00\x00WEBP",
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_a_damaged_or_hostile_image_is_taken_or_refused_with_words(data: bytes) -> None:
    assert outcome(data) in ("image", "file_damaged", "file_type", "file_too_large")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_no_changed_byte_makes_another_error(kind: str) -> None:
    whole = picture((20, 20), kind, exif=_exif())
    for at in range(0, len(whole), 3):
        changed = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        assert outcome(changed)


def test_images_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[int] = []
    most: list[int] = []
    rewritten = images._rewritten

    def watched(image: Image.Image) -> tuple[bytes, str, tuple[int, int]]:
        running.append(1)
        most.append(len(running))
        try:
            return rewritten(image)
        finally:
            running.pop()

    monkeypatch.setattr(images, "_rewritten", watched)
    data = picture((1_500, 1_500))
    threads = [
        threading.Thread(target=inspect_file, args=("a", data), kwargs={"owner_id": owner})
        for owner in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 6


# --- What was written here once -------------------------------------------------------------------


def _written_here(size: tuple[int, int] = (60, 40)) -> bytes:
    found = images.rewrite_image("a.jpg", picture(size, "JPEG"), owner_id=1)
    assert found is not None
    return found[0]


def test_a_picture_as_it_is_written_here_is_nothing_but_pixels() -> None:
    assert images.is_nothing_but_pixels(_written_here())


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + SECRET,
        lambda data: data.replace(b"\xff\xdb", b"\xff\xfe\x00\x12" + SECRET + b"\xff\xdb", 1),
        lambda data: data.replace(b"JFIF", b"EXIF", 1),
        lambda data: data[:-2],
        lambda data: data[: data.index(b"\xff\xda")],
    ],
)
def test_one_that_holds_anything_else_is_not(change: Callable[[bytes], bytes]) -> None:
    assert not images.is_nothing_but_pixels(change(_written_here()))


def test_nor_is_one_that_is_larger_than_it_would_be_sent() -> None:
    out = BytesIO()
    Image.new("RGB", (MAX_EDGE + 1, 8)).save(out, "JPEG", quality=90)
    assert not images.is_nothing_but_pixels(out.getvalue())
