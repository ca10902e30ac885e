"""The API: imports. Files come in pieces, so that a broken connection goes on where it was."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from ninja import Router, Status

from chat import tasks
from chat.api.auth import get_user, imports
from chat.api.errors import ApiError, say
from chat.api.schemas import ERRORS, ErrorOut, ImportIn, ImportOut, ImportsOut, PieceOut, RowId
from chat.live.enqueuing import put_in_queue
from chat.models import ImportJob
from chat.services.library import import_jobs

router = Router(tags=["imports"])
PIECE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def _find(request: HttpRequest, pk: UUID) -> ImportJob:
    return ImportJob.objects.get(pk=pk, owner=get_user(request))


def _describe(job: ImportJob) -> ImportOut:
    return ImportOut(**import_jobs.describe(job))


@router.get("", auth=imports, response={200: ImportsOut, ERRORS: ErrorOut})
def list_imports(request: HttpRequest) -> ImportsOut:
    """Your last imports, newest first."""
    jobs = ImportJob.objects.filter(owner=get_user(request)).order_by("-created_at")
    return ImportsOut(items=[_describe(job) for job in jobs])


@router.post("", auth=imports, response={201: ImportOut, ERRORS: ErrorOut})
def create_import(request: HttpRequest, body: ImportIn) -> Status[ImportOut]:
    """An import that waits for files. The same files again: the import that waits for them, with
    how much of each is here."""
    files = [(each.name, each.size) for each in body.files]
    return Status(201, _describe(import_jobs.create(get_user(request), files)))


@router.put(
    "/pieces/{uuid:job}/{int:file}",
    auth=imports,
    response={200: PieceOut, ERRORS: ErrorOut},
    openapi_extra=PIECE,
)
def send_piece(request: HttpRequest, job: UUID, file: RowId, offset: RowId) -> HttpResponseBase:
    """The next piece of a file, from the byte `offset` on, as the body: at most `piece_bytes`. 409
    where the file is here up to another byte."""
    data = request.read(import_jobs.PIECE_BYTES + 1)
    if len(data) > import_jobs.PIECE_BYTES:
        return say(413)
    try:
        received = import_jobs.append(_find(request, job), file, offset, data)
    except import_jobs.WrongOffset as wrong:
        words = gettext("{count} bytes of this file are here. Go on from there.")
        raise ApiError(409, "wrong_offset", words.format(count=wrong.received)) from None
    return JsonResponse({"received": received})


@router.get("/{uuid:job}", auth=imports, response={200: ImportOut, ERRORS: ErrorOut})
def get_import(request: HttpRequest, job: UUID) -> ImportOut:
    """How far an import is."""
    return _describe(_find(request, job))


@router.get("/{uuid:job}/report", auth=imports, response={200: dict[str, Any], ERRORS: ErrorOut})
def get_import_report(request: HttpRequest, job: UUID) -> dict[str, Any]:
    """What was kept, hidden and dropped, and why."""
    report: dict[str, Any] = _find(request, job).report
    return report


@router.post("/{uuid:job}/start", auth=imports, response={200: ImportOut, ERRORS: ErrorOut})
def start_import(request: HttpRequest, job: UUID) -> ImportOut:
    """Begin an import whose files are here, for the first time or again."""
    import_jobs.start(_find(request, job))
    put_in_queue(tasks.run_imports)  # where the queue is away, a sweep does it later
    return get_import(request, job)


@router.post("/{uuid:job}/cancel", auth=imports, response={200: ImportOut, ERRORS: ErrorOut})
def cancel_import(request: HttpRequest, job: UUID) -> ImportOut:
    """End an import; what it has stored stays."""
    import_jobs.cancel(_find(request, job))
    return get_import(request, job)
