from django.contrib.staticfiles.apps import StaticFilesConfig as DjangoStaticFilesConfig


class StaticFilesConfig(DjangoStaticFilesConfig):
    """Leaves out what no page uses: htmx's extensions import by names that no hashing follows."""

    ignore_patterns = [
        *DjangoStaticFilesConfig.ignore_patterns,
        "django_htmx/ext/*",
        "django_htmx/htm*4*.js",
    ]
