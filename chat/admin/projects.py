"""Projects in the admin panel: whose they are and how large, as the conversations' pages are."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.admin.base import OWNER, OwnerFilter, column, list_url, moment_column, short_id
from chat.admin.handing_over import HandsOver
from chat.admin.reading import PrivateAdmin
from chat.models import Conversation, Project


@admin.register(Project)
class ProjectAdmin(HandsOver, PrivateAdmin):
    list_display = ("label", "owner_name", "conversations_count", "archived", "changed")
    list_select_related = ("owner",)
    list_only = ("owner__username", "archived", "changed_at")
    list_filter = ("changed_at", "archived", OwnerFilter)
    search_fields = ("owner__username", "id")
    search_help_text = "Owner or id."
    ordering = ("-changed_at",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("name", "id"),
                    ("owner", "conversations_link", "files_count", "facts_count"),
                    ("model", "context_budget", "archived"),
                    ("created_at", "changed_at"),
                )
            },
        ),
        ("Instructions", {"fields": ("instructions",), "classes": ("collapse",)}),
    )

    def for_list(self, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
        members = Conversation.objects.filter(project=OuterRef("pk")).order_by()
        counted = members.values("project").annotate(members=Count("pk")).values("members")
        return super().for_list(queryset).annotate(members=Subquery(counted))

    label = column("Project", lambda row: short_id(row.pk))
    owner_name = OWNER
    conversations_count = column("Conversations", lambda row: row.members or 0)
    changed = moment_column("Changed", "changed_at")

    # --- One project ------------------------------------------------------------------------------

    @admin.display(description="Conversations")
    def conversations_link(self, row: Project) -> SafeString:
        url = list_url(Conversation, project__id__exact=row.pk)
        return format_html('<a href="{}">{}</a>', url, f"{row.conversations.count():,}")

    files_count = column("Files", lambda row: row.files.count())
    facts_count = column("Remembered facts", lambda row: row.memories.count())
