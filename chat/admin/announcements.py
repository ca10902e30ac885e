"""The notice board in the admin panel: one line above every page."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from chat.admin.base import column, moment_column
from chat.models import Announcement
from chat.queries.announcements import is_shown
from chat.services.site import announcements


class _Moment(forms.DateTimeField):
    """With the browser's own picker: Django's two fields have no labels for who cannot see them."""

    widget = forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class AnnouncementForm(forms.ModelForm):
    begins = _Moment(required=False, help_text="By the site's clock; empty: at once.")
    ends = _Moment(required=False, help_text="Empty: never.")

    class Meta:
        widgets: ClassVar = {"text": forms.TextInput({"class": "vLargeTextField"})}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        begins, ends = values.get("begins"), values.get("ends")
        if begins and ends and ends <= begins:
            self.add_error("ends", "It ends before it begins.")
        return values


@admin.register(Announcement)
class AnnouncementAdmin(admin.ModelAdmin):
    form = AnnouncementForm
    list_display = ("text", "level", "from_when", "until_when", "is_above_pages")
    fieldsets = (
        (
            None,
            {
                "fields": ("text", "level", ("begins", "ends")),
                "description": "One line above every page, for all who are signed in. If several "
                "are shown at a time, the newest is.",
            },
        ),
    )

    from_when = moment_column("Begins", "begins")
    until_when = moment_column("Ends", "ends")
    is_above_pages = column("Shown now", lambda row: "Yes" if is_shown(row) else "–")

    def save_model(self, request: HttpRequest, obj: Announcement, form: Any, change: bool) -> None:
        announcements.save_announcement(obj)

    def delete_model(self, request: HttpRequest, obj: Announcement) -> None:
        announcements.delete_announcement(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Announcement]) -> None:
        for row in queryset:
            announcements.delete_announcement(row)
