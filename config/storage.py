"""Static files with hashed names, so that browsers may keep them for ever."""

from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from config.bundle import bundle

ENTRY = "main"


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also bundles the page's modules into the one that it loads, and those that this one loads on
    demand. Where files are not collected (`DEBUG`, tests) the modules are served as they are."""

    support_js_module_import_aggregation = True

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[Any]:
        if _path(ENTRY) in paths and not dry_run:

            def read(name: str) -> str:
                storage, path = paths[_path(name)]
                with storage.open(path) as file:
                    return str(file.read().decode())

            for name, script in bundle(ENTRY, read).items():
                path = _path(name)
                self.delete(path)
                self._save(path, ContentFile(script.encode()))
                paths = paths | {path: (self, path)}
        yield from super().post_process(paths, dry_run, **options)


def _path(name: str) -> str:
    return f"js/{name}.js"
