"""Django's lists put values from an address or a form into their queries without checking them."""

import structlog
from django.core.exceptions import BadRequest, ValidationError
from django.db import DataError
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin

log = structlog.get_logger(__name__)


class ImpossibleValuesMiddleware(MiddlewareMixin):
    """Where a list of the administration is asked for a value that the database or Python does not
    take (an id of 30 digits, the year 100000), the answer is 400 and not 500."""

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        match = request.resolver_match
        is_list = match and match.app_name == "admin" and str(match.url_name).endswith("changelist")
        # SQLite, PostgreSQL, and Django's fields.
        impossible = isinstance(error, OverflowError | DataError | ValueError | ValidationError)
        if is_list and impossible:
            log.warning("impossible value for a list", path=request.path, exc_info=error)
            raise BadRequest("This list cannot be filtered by such a value.") from error
