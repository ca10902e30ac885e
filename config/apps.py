from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig
from django.contrib.staticfiles.apps import StaticFilesConfig as DjangoStaticFilesConfig


class AdminConfig(DjangoAdminConfig):
    """The administration, which records what is done in it."""

    default_site = "accounts.audited_admin.AuditedSite"


class StaticFilesConfig(DjangoStaticFilesConfig):
    """Leaves out files that no page uses: htmx's extensions import names that are not hashed."""

    ignore_patterns = [
        *DjangoStaticFilesConfig.ignore_patterns,
        "django_htmx/ext/*",
        "django_htmx/htm*4*.js",
    ]
