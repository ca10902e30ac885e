"""Static files with hashed names, so that browsers may keep them for ever."""

from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from config.bundle import bundle

ENTRY = "js/main.js"


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also bundles the page's modules into the one that it loads. Where files are not collected
    (`DEBUG`, tests) the modules are served as they are."""

    support_js_module_import_aggregation = True

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[Any]:
        if ENTRY in paths and not dry_run:

            def read(name: str) -> str:
                storage, path = paths[f"js/{name}.js"]
                with storage.open(path) as file:
                    return str(file.read().decode())

            script = bundle("main", read).encode()
            self.delete(ENTRY)
            self._save(ENTRY, ContentFile(script))
            paths = paths | {ENTRY: (self, ENTRY)}
        yield from super().post_process(paths, dry_run, **options)
