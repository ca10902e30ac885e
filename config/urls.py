"""HTTP addresses."""

from django.contrib import admin
from django.urls import include, path

from chat import (
    attachment_views,
    memory_views,
    message_views,
    metrics_views,
    summary_views,
    views,
)

message_paths = [
    path("markdown/", message_views.message_markdown, name="message_markdown"),
    path("row/", message_views.message_row, name="message_row"),
    path("edit/", message_views.message_edit, name="message_edit"),
    path("regenerate/", message_views.message_regenerate, name="message_regenerate"),
    path("switch/", message_views.message_switch, name="message_switch"),
    path("delete/", message_views.message_delete, name="message_delete"),
]
version_paths = [
    path("edit/", summary_views.summary_edit, name="summary_edit"),
    path("revert/", summary_views.summary_revert, name="summary_revert"),
]
exports = message_views.conversation_export
urlpatterns = [
    path("", views.home, name="home"),
    path("c/", views.conversation_create, name="conversation_create"),
    path("c/<uuid:pk>/", views.conversation, name="conversation"),
    path("c/<uuid:pk>/messages/", views.messages, name="messages"),
    path("c/<uuid:pk>/messages/<int:message>/", include(message_paths)),
    path("c/<uuid:pk>/export.md", exports, {"form": "markdown"}, name="export_markdown"),
    path("c/<uuid:pk>/export.json", exports, {"form": "json"}, name="export_json"),
    path("c/<uuid:pk>/usage/", message_views.usage, name="usage"),
    path("c/<uuid:pk>/place/", views.conversation_place, name="conversation_place"),
    path("c/<uuid:pk>/rename/", views.conversation_rename, name="conversation_rename"),
    path("c/<uuid:pk>/delete/", views.conversation_delete, name="conversation_delete"),
    path("c/<uuid:pk>/settings/", views.conversation_settings, name="conversation_settings"),
    path("c/<uuid:pk>/model/", views.conversation_model, name="conversation_model"),
    path("c/<uuid:pk>/retry/", views.conversation_retry, name="conversation_retry"),
    path("c/<uuid:pk>/compact/", summary_views.compact_preview, name="compact_preview"),
    path("c/<uuid:pk>/summary/", summary_views.summary, name="summary"),
    path("c/<uuid:pk>/summary/<int:version>/", include(version_paths)),
    path("memories/", memory_views.memory_list, name="memories"),
    path("memories/<int:pk>/", memory_views.memory_edit, name="memory"),
    path("attachments/", attachment_views.attachment_create, name="attachment_create"),
    path("attachments/<uuid:pk>/", attachment_views.attachment, name="attachment"),
    path("sidebar/", views.sidebar, name="sidebar"),
    path("healthz", views.health, name="health"),
    path("metrics", metrics_views.exposition, name="metrics"),
    path("", include("accounts.urls")),
    path("account/", include("allauth.urls")),
    path("admin/", admin.site.urls),
]
handler500 = "chat.error_views.server_error"
