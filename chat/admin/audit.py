"""The audit in the admin panel: a list to look at, and its entries of some days as a file."""

from collections.abc import AsyncIterator
from datetime import date, datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import URLPattern, path, reverse

from accounts import audit
from accounts.audit import Act
from accounts.audited_admin import record_act
from accounts.csv_lines import write_csv_line
from accounts.models import AuditEntry
from chat.admin.base import ReadOnlyAdmin, column, moment_column
from chat.db.threads import in_db

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",  # an object in each line
}


# Those that every database and time zone can tell.
DAYS = [MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(2999, 12, 31))]


class SpanForm(forms.Form):
    """Which days are wanted, both included; none: from the first entry, or to the last."""

    since = forms.DateField(required=False, validators=DAYS)
    until = forms.DateField(required=False, validators=DAYS)
    form = forms.ChoiceField(choices=[(name, name) for name in CONTENT_TYPES])


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = (
        "moment",
        "actor_name",
        "act",
        "target",
        "owner_name",
        "reason",
        "fields_changed",
    )
    list_display_links = None
    list_select_related = ("actor", "owner")
    list_only = (
        "at",
        "actor__username",
        "act",
        "target_kind",
        "target_id",
        "owner__username",
        "reason",
        "changed",
    )
    list_filter = ("at", "act", "target_kind")
    search_fields = ("actor__username", "owner__username", "=target_id")
    search_help_text = "Name of who acted or whom it concerns, or an id."
    ordering = ("-at", "-pk")
    change_list_template = "admin/accounts/auditentry/change_list.html"

    moment = moment_column("When", "at")
    actor_name = column("Who", lambda row: row.actor or "–", "actor__username")
    target = column("What", lambda row: f"{row.target_kind} {row.target_id}".strip() or "–")
    owner_name = column("Whose", lambda row: row.owner or "–", "owner__username")
    fields_changed = column("Fields", lambda row: ", ".join(row.changed) or "–")

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """The history of one row is its part of this list."""
        return lookup == "target_id" or super().lookup_allowed(lookup, value, request)

    # --- Export -----------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.export)
        return [path("export/", view, name="accounts_auditentry_export"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        url = reverse("admin:accounts_auditentry_export")
        return super().changelist_view(request, {"export_url": url, **(extra_context or {})})

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """The entries of a span as CSV or as lines of JSON, read a page at a time."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        asked = SpanForm(request.GET)
        if not asked.is_valid():
            return HttpResponse(asked.errors.as_text(), status=400, content_type="text/plain")
        days = asked.cleaned_data["since"], asked.cleaned_data["until"]
        suffix = asked.cleaned_data["form"]
        record_act(request, Act.EXPORT, AuditEntry())
        response = StreamingHttpResponse(
            _write(suffix, *audit.find_bounds(*days)), content_type=CONTENT_TYPES[suffix]
        )
        response["Content-Disposition"] = f'attachment; filename="audit.{suffix}"'
        return response


async def _write(suffix: str, since: datetime | None, until: datetime | None) -> AsyncIterator[str]:
    is_csv = suffix == "csv"
    if is_csv:
        yield write_csv_line(audit.COLUMNS)
    after = 0
    while entries := await in_db(audit.read_entries, since, until, after=after):
        yield "".join(map(_write_cells if is_csv else audit.write_json_line, entries))
        after = entries[-1]["id"]


def _write_cells(entry: dict[str, Any]) -> str:
    return write_csv_line(audit.list_values(entry))
