"""Static files with hashed names, so that browsers may keep them for ever."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from config.bundle import bundle

ENTRIES = ("main", "share")  # the scripts of which one is made with all that they import
STYLES = "css/base.css"  # they name the files of the typeface
IMPORT = re.compile(rb'@import "([\w-]+\.css)";\n')
PICTURE = re.compile(rb'url\("\.\./(icons/[\w-]+\.svg)"\)')
TEXT_COMMENT_OR_SPACE = re.compile(rb'("[^"]*")|/\*.*?\*/\s*|(?<=[{};:,>])\s+|\s+(?=[{}>])', re.S)


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also makes what a page loads: one script of its modules, the typeface, and styles without
    comments and space. A style holds those that it imports, and the picture of the icons,
    which so is there at the first paint. Where files are not collected
    (`DEBUG`, tests) modules and styles are served as they are, and the typeface is the system's."""

    support_js_module_import_aggregation = True

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[Any]:
        if STYLES in paths and not dry_run:
            made = self._make(paths)
            for path, content in made.items():
                self.delete(path)
                self._save(path, ContentFile(content))
            paths = paths | {path: (self, path) for path in made}
        yield from super().post_process(paths, dry_run, **options)

    def _make(self, paths: dict[str, Any]) -> dict[str, bytes]:
        # Not above: a web process needs the storage, and not what cuts fonts.
        from config.typeface import build_typeface

        def read(path: str) -> bytes:
            storage, name = paths[path]
            with storage.open(name) as file:
                return bytes(file.read())

        def read_style(path: str) -> bytes:
            style = PICTURE.sub(lambda found: _as_data(read(found[1].decode())), read(path))
            return IMPORT.sub(lambda found: read_style(f"css/{found[1].decode()}"), style)

        def read_script(name: str) -> str:
            return read(f"js/{name}.js").decode()

        styles = [path for path in paths if path.startswith("css/")]
        return {
            **{f"js/{name}.js": bundle(name, read_script).encode() for name in ENTRIES},
            **{path: TEXT_COMMENT_OR_SPACE.sub(rb"\1", read_style(path)) for path in styles},
            **build_typeface(read(STYLES).decode()),
        }


def _as_data(svg: bytes) -> bytes:
    """A picture as a part of the style that shows it."""
    picture = re.sub(rb">\s+<", b"><", svg.strip())
    return b'url("data:image/svg+xml,%b")' % quote(picture, " =:/(),").encode()
