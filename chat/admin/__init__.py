"""The admin panel: it reads everything and edits only model profiles, providers and tool
servers.

Services are the only writers; what the panel changes in conversations, it asks them to.
"""

from django.conf import settings
from django.contrib import admin

from chat.admin import (
    accounts,
    announcements,
    audit,
    budgets,
    calls,
    compactions,
    conversations,
    groups,
    mcp_servers,
    messages,
    model_profiles,
    projects,
    providers,
)

__all__ = [
    "accounts",
    "announcements",
    "audit",
    "budgets",
    "calls",
    "compactions",
    "conversations",
    "groups",
    "mcp_servers",
    "messages",
    "model_profiles",
    "projects",
    "providers",
]

admin.site.site_header = "Everlong administration"
admin.site.site_title = "Everlong"
admin.site.site_url = settings.BASE_PATH
admin.site.index_title = f"Everlong {settings.VERSION}"
