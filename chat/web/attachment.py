"""HTTP: files to be sent, and files that were sent, each only for its owner."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from agent.attachments import TEXT
from chat.errors import Refused
from chat.models import Attachment
from chat.services.library import attachments
from chat.services.library.file_types import MAX_FILE_BYTES
from chat.web.access import get_user


@login_required
@require_POST
def attachment_create(request: HttpRequest) -> HttpResponse:
    """Keep one file (`file`); JSON says what it is, 422 in words why it cannot be sent."""
    upload = request.FILES.get("file")
    if upload is None:
        return HttpResponse(gettext("Choose a file."), status=422)
    try:
        # One byte more than may be: enough to say so without reading the rest.
        row = attachments.store_unsent(
            get_user(request), upload.name or "", upload.read(MAX_FILE_BYTES + 1)
        )
    except Refused as refusal:
        return HttpResponse(refusal.message, status=422, content_type="text/plain; charset=utf-8")
    url = reverse("attachment", args=[row.pk])
    told = {"id": str(row.pk), "name": row.name, "kind": row.kind, "tokens": row.tokens, "url": url}
    return JsonResponse(told | {"encoding": row.encoding}, status=201)


@login_required
@require_http_methods(["GET", "DELETE"])
def attachment(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A file of the user's own: images to be shown, the rest to be saved. With `text`, what the
    model reads of it. DELETE takes back one that was not sent; one that was stays with its
    message."""
    row = get_object_or_404(Attachment, pk=pk, owner=request.user)
    if request.method == "DELETE":
        attachments.discard_unused(Attachment.objects.filter(pk=pk))
        return HttpResponse(status=204)
    return serve(request, row)


def serve(request: HttpRequest, row: Attachment) -> HttpResponse:
    """The file to somebody who may have it."""
    as_text = "text" in request.GET and row.media_type == TEXT
    # It never changes, but a browser that keeps it asks each time: somebody else may be signed in.
    etag = f'"{row.pk}{"-text" if as_text else ""}"'
    response = get_conditional_response(request, etag=etag) or _read(row, as_text)
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    # Whatever the file holds, it runs nothing and loads nothing; that counts for a kept one too.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def _read(row: Attachment, as_text: bool) -> HttpResponse:
    whole = row.original if row.original and not as_text else row.file
    kind = f"{TEXT}; charset=utf-8" if as_text else row.original_type or row.media_type
    with whole.open() as file:
        response = HttpResponse(file.read(), content_type=kind)
    to_save = row.kind != Attachment.Kind.IMAGE and not as_text
    response["Content-Disposition"] = content_disposition_header(to_save, row.name) or "inline"
    return response
