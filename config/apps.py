from django.contrib.staticfiles.apps import StaticFilesConfig as DjangoStaticFilesConfig


class StaticFilesConfig(DjangoStaticFilesConfig):
    """Leaves out files that no page uses: htmx's extensions import names that are not hashed."""

    ignore_patterns = [
        *DjangoStaticFilesConfig.ignore_patterns,
        "django_htmx/ext/*",
        "django_htmx/htm*4*.js",
    ]
