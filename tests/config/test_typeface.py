"""The typeface's files hold what the stylesheet says, and always the same."""

import io
import json
from pathlib import Path

from fontTools.ttLib import TTFont

from config.typeface import FACE, build_typeface

STYLES = Path(__file__).parents[2] / "static/css/base.css"
TWO = """
@font-face {
  src: url("../fonts/few.woff2") format("woff2");
  unicode-range: U+41-43, U+E9;
}
@font-face {
  src: url("../fonts/other.woff2") format("woff2");
  unicode-range: U+416;
}
"""


def test_each_file_has_the_characters_of_its_range_and_the_weights_of_the_page() -> None:
    made = build_typeface(TWO)
    assert made == build_typeface(TWO), "it is cut the same each time"
    assert list(made) == ["fonts/few.woff2", "fonts/other.woff2", "fonts/LICENSE.txt"]
    fonts = [TTFont(io.BytesIO(made[f"fonts/{name}.woff2"])) for name in ("few", "other")]
    assert [set(font.getBestCmap()) for font in fonts] == [{0x41, 0x42, 0x43, 0xE9}, {0x416}]
    (axis,) = fonts[0]["fvar"].axes
    assert (axis.axisTag, axis.minValue, axis.maxValue) == ("wght", 400, 700)
    assert b"SIL OPEN FONT LICENSE" in made["fonts/LICENSE.txt"]


def test_its_files_are_small(site: Path) -> None:
    """As they were made for a site."""
    hashed = json.loads((site / "static/staticfiles.json").read_text())["paths"]
    names = [path for path, _ in FACE.findall(STYLES.read_text())]
    sizes = {name: (site / "static" / hashed[name]).stat().st_size for name in names}
    assert sizes["fonts/english.woff2"] < 12_500
    assert max(sizes.values()) < 25_000
