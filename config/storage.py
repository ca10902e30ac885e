"""Static files with hashed names, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also rewrites the imports of ES modules to the hashed names."""

    support_js_module_import_aggregation = True
