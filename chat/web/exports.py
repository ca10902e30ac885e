"""HTTP: what is saved as a file, sent while it is read."""

from collections.abc import AsyncIterator
from time import monotonic
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from accounts.doors import login_or_token
from accounts.models import User
from accounts.tokens import EXPORT_READ
from chat.db.threads import in_db
from chat.html.saved_page import export_html
from chat.models import Conversation, Project
from chat.queries import archive_export, export, readable_export
from chat.web.access import find_conversation, find_project, load_user

CHECK_SECONDS = 2.0  # between two looks whether the account may still be read


# What a conversation can be saved as: the name of its address, what it is called and is good for.
FORMS = (
    (
        "export_html",
        gettext_lazy("Web page"),
        gettext_lazy("To read, print or pass on: one file with styles and pictures in it."),
    ),
    (
        "export_markdown",
        gettext_lazy("Markdown"),
        gettext_lazy("For notes and other programs: the text with other branches after it."),
    ),
    (
        "export_zip",
        gettext_lazy("ZIP"),
        gettext_lazy("Everything, with the files beside it: to keep, or to import elsewhere."),
    ),
    (
        "export_json",
        gettext_lazy("JSON"),
        gettext_lazy("Everything in one file, for an import here or in another Everlong."),
    ),
)


@login_required
@require_GET
def conversation_saving(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog with the forms of a file."""
    row = find_conversation(request, pk)
    forms = [
        {"url": reverse(name, args=[row.pk]), "name": title, "purpose": purpose}
        for name, title, purpose in FORMS
    ]
    return render(request, "chat/dialogs/saving.html", {"forms": forms})


@login_or_token(EXPORT_READ)
@require_GET
async def conversation_export(request: HttpRequest, pk: UUID, form: str) -> StreamingHttpResponse:
    """`form`: what the file is for; see `docs/export_format.md`."""
    user = await load_user(request)
    return send_conversation(request, user, await in_db(find_conversation, request, pk), form)


def send_conversation(
    request: HttpRequest, user: User, row: Conversation, form: str
) -> StreamingHttpResponse:
    """The response with a conversation of the user's; `form` as above."""

    def link(file: str, name: str) -> str:
        return request.build_absolute_uri(reverse("attachment", args=[file]))

    made: dict[str, tuple[AsyncIterator[Any], str]] = {
        "md": (readable_export.export_markdown(row, link), "text/markdown; charset=utf-8"),
        "json": (export.export_json(row), "application/json; charset=utf-8"),
        "html": (export_html(row), "text/html; charset=utf-8"),
        "zip": (archive_export.export_conversation(row), "application/zip"),
    }
    chunks, kind = made[form]
    return _send(user, chunks, f"{slugify(str(row))[:60] or 'conversation'}.{form}", kind)


@login_required
@require_GET
async def project_export_zip(request: HttpRequest, pk: UUID) -> StreamingHttpResponse:
    user = await load_user(request)
    return send_project(user, await in_db(find_project, user, pk))


def send_project(user: User, row: Project) -> StreamingHttpResponse:
    """The response with a project of the user's."""
    name = f"{slugify(row.name)[:60] or 'project'}.zip"
    return _send(user, archive_export.export_zip(row), name, "application/zip")


async def send_while_active(user: User, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The chunks, until the account is disabled or deleted: whoever reads slowly reads for long."""
    asked_at = monotonic()
    async for chunk in chunks:
        if monotonic() - asked_at > CHECK_SECONDS:
            if not await in_db(User.objects.filter(pk=user.pk, is_active=True).exists):
                return
            asked_at = monotonic()
        yield chunk


def _send(
    user: User, chunks: AsyncIterator[str] | AsyncIterator[bytes], name: str, kind: str
) -> StreamingHttpResponse:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    sent = send_while_active(user, chunks)
    return StreamingHttpResponse(sent, content_type=kind, headers=disposition)
