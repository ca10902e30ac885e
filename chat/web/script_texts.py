"""The texts of the page's scripts in the reader's language, for `static/js/base/gettext.js`."""

from functools import cache
from typing import Any

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog

NUMBERS = 200  # the plural form of each of these is sent; above, the last two digits decide


def load_script_texts() -> dict[str, Any]:
    """The `djangojs` catalogue of the active language: `texts` has by English text a translation,
    or a list of plural forms, and `plurals` a digit for each number, its form. {} for English."""
    return _catalogue(get_language() or settings.LANGUAGE_CODE)


@cache
def _catalogue(language: str) -> dict[str, Any]:
    view = JavaScriptCatalog()
    paths = [str(path) for path in settings.LOCALE_PATHS]
    view.translation = DjangoTranslation(language, domain="djangojs", localedirs=paths)
    texts = view.get_catalog()
    plurals = "".join(str(view.translation.plural(number)) for number in range(NUMBERS))
    return {"texts": texts, "plurals": plurals} if texts else {}
