"""Image files as somebody would upload them."""

from io import BytesIO
from typing import Any

from PIL import Image


def picture(size: tuple[int, int] = (280, 140), kind: str = "PNG", **values: Any) -> bytes:
    """A file of one colour. `mode` and `color` are the image's; other values go to the encoder."""
    out = BytesIO()
    image = Image.new(values.pop("mode", "RGB"), size, values.pop("color", "teal"))
    image.save(out, kind, **values)
    return out.getvalue()
