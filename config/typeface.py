"""The page's typeface: cut from the variable font of a package into a file for each alphabet.

A page in English needs one file of 12 kB. Other letters come with the file that has them, and
alphabets that no file has are drawn in the system's typeface.
"""

import io
import re
from importlib.resources import files

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

PACKAGE = files("fontpkg_geist")
FONT = PACKAGE / "files" / "Geist[wght].ttf"
FACE = re.compile(r'url\("\.\./(fonts/\w+\.woff2)"\)[^}]*unicode-range:([^;]+);')
WEIGHTS = (400, 700)
FEATURES = ["kern", "tnum"]
# Of letters that may carry accents or have other forms: more than English has.
ACCENTS = ["ccmp", "locl", "mark", "mkmk"]
LAST_ENGLISH = 0x7E


def build_typeface(styles: str) -> dict[str, bytes]:
    """Files by path: those that the `@font-face` rules of a stylesheet name, each with the
    characters of its `unicode-range`, and the font's licence."""
    font = FONT.read_bytes()
    fonts = {path: _cut(font, _read(ranges)) for path, ranges in FACE.findall(styles)}
    return fonts | {"fonts/LICENSE.txt": (PACKAGE / "LICENSE").read_bytes()}


def _cut(source: bytes, characters: set[int]) -> bytes:
    """The font with these characters, if it has them, and the weights that the page uses."""
    # Without the time of the cut: all servers of a site give the file the same name.
    font = TTFont(io.BytesIO(source), lazy=True, recalcTimestamp=False)
    has_accents = any(chr(each).isalpha() for each in characters if each > LAST_ENGLISH)
    features = FEATURES + (ACCENTS if has_accents else [])
    options = Options(layout_features=features, hinting=False, name_IDs=[])
    # How wide letters are at a weight is in their outlines too.
    options.drop_tables += ["STAT", "meta", "HVAR", "MVAR"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    instantiateVariableFont(font, {"wght": WEIGHTS}, inplace=True)
    font.flavor = "woff2"
    file = io.BytesIO()
    font.save(file)
    return file.getvalue()


def _read(ranges: str) -> set[int]:
    """The code points of a CSS `unicode-range`: `U+20-7E, U+A0`."""
    found: set[int] = set()
    for each in ranges.split(","):
        first, _, last = each.strip().removeprefix("U+").partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found
