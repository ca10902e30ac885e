"""HTTP addresses."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from chat.api.site import api
from chat.web import (
    account,
    announcement,
    attachment,
    budgets,
    composer,
    conversation,
    exports,
    imports,
    install,
    instructions,
    left,
    memory,
    message,
    metrics,
    notifications,
    outline,
    printing,
    project,
    queue,
    schedules,
    share,
    sidebar,
    slack,
    summary,
    usage,
)
from chat.web import (
    settings as settings_views,
)

message_paths = [
    path("markdown/", message.message_markdown, name="message_markdown"),
    path("row/", message.message_row, name="message_row"),
    path("edit/", message.message_edit, name="message_edit"),
    path("regenerate/", message.message_regenerate, name="message_regenerate"),
    path("switch/", message.message_switch, name="message_switch"),
    path("delete/", message.message_delete, name="message_delete"),
    path("leave-out/", message.message_leave_out, name="message_leave_out"),
]
version_paths = [
    path("edit/", summary.summary_edit, name="summary_edit"),
    path("instructions/", instructions.summary_instructions, name="summary_instructions"),
    path("left/", left.summary_left, name="summary_left"),
    path("again/", summary.summary_again, name="summary_again"),
    path("record/", summary.summary_record, name="summary_record"),
    path("revert/", summary.summary_revert, name="summary_revert"),
    path("sources/", summary.summary_sources, name="summary_sources"),
]
schedule_paths = [
    path("edit/", schedules.schedule_edit, name="schedule_edit"),
    path("pause/", schedules.schedule_pause, name="schedule_pause"),
    path("delete/", schedules.schedule_delete, name="schedule_delete"),
]
project_paths = [
    path("", project.project, name="project"),
    path("archive/", project.project_archive, name="project_archive"),
    path("delete/", project.project_delete, name="project_delete"),
    path("export.zip", exports.project_export_zip, name="project_export"),
    path("files/", project.project_files, name="project_files"),
    path("files/<uuid:file>/", project.project_file_delete, name="project_file_delete"),
]
import_paths = [
    path("", imports.imports, name="imports"),
    path("pieces/<uuid:pk>/<int:file>/", imports.import_piece, name="import_piece"),
    path("offers/<int:pk>/", imports.import_offer, name="import_offer"),
    path("<uuid:pk>/", imports.import_job, name="import_job"),
    path("<uuid:pk>/start/", imports.import_start, name="import_start"),
    path("<uuid:pk>/cancel/", imports.import_cancel, name="import_cancel"),
    path("<uuid:pk>/report.json", imports.import_report, {"form": "json"}, name="import_json"),
    path("<uuid:pk>/report.csv", imports.import_report, {"form": "csv"}, name="import_csv"),
]
settings_paths = [
    path("", settings_views.settings, name="settings"),
    path("general/", settings_views.general),
    path("tokens/", settings_views.tokens),
    path("tokens/<int:pk>/revoke/", settings_views.token_revoke, name="token_revoke"),
    path("notifications/", notifications.notifications),
    path("notifications/<int:pk>/end/", notifications.notifications_end, name="notifications_end"),
    path("<slug:section>/", settings_views.settings, name="settings_section"),
]
handler429 = "accounts.views.too_many_attempts"  # django-allauth looks it up here
site_paths: list[URLPattern | URLResolver] = [
    path("", conversation.home, name="home"),
    path("manifest.webmanifest", install.manifest, name="manifest"),
    path("service-worker.js", install.service_worker, name="service_worker"),
    path("share-target/", install.share_target, name="share_target"),
    path("c/", conversation.conversation_create, name="conversation_create"),
    path("c/change/", sidebar.conversations_change, name="conversations_change"),
    path("c/<uuid:pk>/", conversation.conversation, name="conversation"),
    path("c/<uuid:pk>/messages/", conversation.messages, name="messages"),
    path("c/<uuid:pk>/messages/since/<int:seconds>/", message.message_since, name="message_since"),
    path("c/<uuid:pk>/messages/number/<int:number>/", message.message_peek, name="message_peek"),
    path("c/<uuid:pk>/messages/at/<int:position>/", outline.message_at, name="message_at"),
    path("c/<uuid:pk>/messages/<int:message>/", include(message_paths)),
    path("c/<uuid:pk>/queue/<int:queued>/", queue.queued_prompt, name="queued_prompt"),
    path("c/<uuid:pk>/outline/", outline.outline, name="outline"),
    path(
        "c/<uuid:pk>/outline/<int:after>/<int:before>/", outline.outline_turns, name="outline_turns"
    ),
    path(
        "c/<uuid:pk>/export.md", exports.conversation_export, {"form": "md"}, name="export_markdown"
    ),
    path(
        "c/<uuid:pk>/export.json", exports.conversation_export, {"form": "json"}, name="export_json"
    ),
    path("c/<uuid:pk>/saving/", exports.conversation_saving, name="conversation_saving"),
    path("c/<uuid:pk>/export.zip", exports.conversation_export, {"form": "zip"}, name="export_zip"),
    path(
        "c/<uuid:pk>/export.html", exports.conversation_export, {"form": "html"}, name="export_html"
    ),
    path("c/<uuid:pk>/print/", printing.conversation_print, name="conversation_print"),
    path("c/<uuid:pk>/usage/", budgets.usage, name="usage"),
    path("c/<uuid:pk>/rename/", conversation.conversation_rename, name="conversation_rename"),
    path("c/move/", project.conversations_move, name="conversations_move"),
    path("c/<uuid:pk>/move/", project.conversation_move, name="conversation_move"),
    path("c/<uuid:pk>/settings/", conversation.conversation_settings, name="conversation_settings"),
    path("c/<uuid:pk>/model/", conversation.conversation_model, name="conversation_model"),
    path("c/<uuid:pk>/models/", composer.model_panel, name="model_panel"),
    path("c/<uuid:pk>/tools/", composer.tool_panel, name="tool_panel"),
    path("models/", composer.model_panel, name="first_model_panel"),
    path("tools/", composer.tool_panel, name="first_tool_panel"),
    path("c/<uuid:pk>/retry/", conversation.conversation_retry, name="conversation_retry"),
    path("c/<uuid:pk>/compact/", summary.compact_preview, name="compact_preview"),
    path("c/<uuid:pk>/summary/", summary.summary, name="summary"),
    path("c/<uuid:pk>/summary/<int:version>/", include(version_paths)),
    path("c/<uuid:pk>/schedules/", schedules.conversation_schedules, name="conversation_schedules"),
    path("c/<uuid:pk>/schedules/<int:schedule>/", include(schedule_paths)),
    path("c/<uuid:pk>/shares/", share.shares, name="shares"),
    path("c/<uuid:pk>/shares/<uuid:share>/revoke/", share.share_revoke, name="share_revoke"),
    path("c/<uuid:pk>/slack/", slack.conversation_slack, name="conversation_slack"),
    path("s/<uuid:pk>/", share.shared, name="shared"),
    path("s/<uuid:pk>/files/<uuid:file>/", share.shared_file, name="shared_file"),
    path("memories/", memory.memory_list, name="memories"),
    path("memories/<int:pk>/", memory.memory_edit, name="memory"),
    path("memories/proposals/<int:pk>/", memory.memory_proposal, name="memory_proposal"),
    path("imports/", include(import_paths)),
    path("settings/", include(settings_paths)),
    path("projects/", project.project_list, name="projects"),
    path("projects/<uuid:pk>/", include(project_paths)),
    path("usage/", usage.usage_page, name="usage_page"),
    path("usage/calls.csv", usage.usage_calls, name="usage_calls"),
    path("announcement/", announcement.announcement_dismiss, name="announcement_dismiss"),
    path("attachments/", attachment.attachment_create, name="attachment_create"),
    path("attachments/<uuid:pk>/", attachment.attachment, name="attachment"),
    path("sidebar/", sidebar.sidebar, name="sidebar"),
    path("palette/", sidebar.palette, name="palette"),
    path("metrics", metrics.exposition, name="metrics"),
    path("", include("accounts.urls")),
    path("account/data/export.zip", account.account_export, name="account_export"),
    path("account/delete/", account.account_delete, name="account_delete"),
    path("account/", include("allauth.urls")),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
]
urlpatterns = [path(settings.BASE_PATH[1:], include(site_paths))]
handler500 = "chat.web.errors.server_error"
