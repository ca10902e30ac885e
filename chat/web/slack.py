"""HTTP: the thread of Slack that a conversation is linked with."""

from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from chat.models import SlackConnection, SlackThread
from chat.services.slack.threads import unlink
from chat.web.access import find_conversation


@login_required
@require_http_methods(["GET", "POST"])
def conversation_slack(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog: which thread it is, or how to link one. POST parts them."""
    row = find_conversation(request, pk)
    if request.method == "POST":
        unlink(row)
    connection = SlackConnection.objects.first()
    context = {
        "conversation": row,
        "thread": SlackThread.objects.filter(conversation=row).first(),
        "parted": request.method == "POST",
        "offered": settings.SLACK,
        "away": bool(connection and connection.problem),
        "workspace": connection.team_name if connection else "",
        "command": f"/everlong link {request.build_absolute_uri(row.get_absolute_url())}",
    }
    return render(request, "chat/dialogs/slack.html", context)
