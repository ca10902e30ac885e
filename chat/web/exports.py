"""HTTP: what is saved as a file, sent while it is read."""

from collections.abc import AsyncIterator
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from accounts.doors import login_or_token
from accounts.tokens import EXPORT_READ
from chat.db.threads import in_db
from chat.queries import export, project_export
from chat.web.access import find_conversation, find_project, load_user


@login_or_token(EXPORT_READ)
@require_GET
async def conversation_export(request: HttpRequest, pk: UUID, form: str) -> StreamingHttpResponse:
    await load_user(request)
    row = await in_db(find_conversation, request, pk)
    write, suffix, kind = {
        "markdown": (export.export_markdown, "md", "text/markdown; charset=utf-8"),
        "json": (export.export_json, "json", "application/json; charset=utf-8"),
    }[form]
    return _send(write(row), f"{slugify(str(row))[:60] or 'conversation'}.{suffix}", kind)


@login_required
@require_GET
async def project_export_zip(request: HttpRequest, pk: UUID) -> StreamingHttpResponse:
    user = await load_user(request)
    row = await in_db(find_project, user, pk)
    name = f"{slugify(row.name)[:60] or 'project'}.zip"
    return _send(project_export.export_zip(row), name, "application/zip")


def _send(
    chunks: AsyncIterator[str] | AsyncIterator[bytes], name: str, kind: str
) -> StreamingHttpResponse:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(chunks, content_type=kind, headers=disposition)
