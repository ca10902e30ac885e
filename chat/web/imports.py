"""HTTP: conversations from elsewhere. Files come in pieces, so that a broken connection goes on
where it was; a job works on them, and its page tells how far it is."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.csv_lines import write_csv_line
from accounts.models import User
from chat import tasks
from chat.errors import RefusalCode, Refused
from chat.html import import_words
from chat.importers.formats import FORMATS
from chat.importers.report import list_rows
from chat.live.enqueuing import put_in_queue
from chat.models import ImportFile, ImportJob, ImportOffer
from chat.services.library import import_jobs, import_offers
from chat.web.access import get_user, is_from_script, refusal_response

JSON = "application/json"
LISTED = 100  # entries of a report that its page shows


@login_required
@require_http_methods(["GET", "POST"])
def imports(request: HttpRequest) -> HttpResponse:
    """The person's imports. POST with JSON (`files`, each with `name` and `size` in bytes) makes
    one, and says where its pieces go; 409 where another one is active."""
    user = get_user(request)
    if request.method == "GET":
        context = {
            "jobs": import_jobs.list_jobs(user),
            "labels": [each.LABEL for each in FORMATS],
            "offers": import_offers.list_open(user).count(),
        }
        return render(request, "chat/imports/list.html", context)
    try:
        job = import_jobs.create(user, _read_files(request))
    except Refused as refusal:
        return _refuse(refusal)
    return JsonResponse(import_jobs.describe(job) | {"url": job.get_absolute_url()}, status=201)


def _read_files(request: HttpRequest) -> list[tuple[str, int]]:
    try:
        # A form's body is read by then.
        files = json.loads(request.body)["files"] if request.content_type == JSON else []
        return [(str(each["name"]), int(each["size"])) for each in files]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        words = gettext("The list of files to import cannot be read. Reload the page.")
        raise Refused(RefusalCode.IMPORT_FILES, words) from None


def _refuse(refusal: Refused) -> HttpResponse:
    status = {RefusalCode.IMPORT_ACTIVE: 409, RefusalCode.IMPORT_OVER: 409}
    status |= {RefusalCode.DISK_FULL: 507, RefusalCode.IMPORT_TOO_LARGE: 413}
    return refusal_response(refusal, status.get(refusal.code, 422))


def _find(request: HttpRequest, pk: UUID) -> ImportJob:
    return get_object_or_404(ImportJob, pk=pk, owner=request.user)


@login_required
@require_http_methods(["PUT"])
def import_piece(request: HttpRequest, pk: UUID, file: int) -> HttpResponse:
    """The next piece of a file, at `offset`; JSON says how much of it is here (`received`), with
    409 where the piece begins elsewhere."""
    job = _find(request, pk)
    try:
        offset = int(request.GET.get("offset", ""))
    except ValueError:
        return HttpResponse("offset: a number of bytes is needed.", status=400)
    try:
        data = request.read(import_jobs.PIECE_BYTES + 1)
        if len(data) > import_jobs.PIECE_BYTES:
            return HttpResponse(status=413)
        received = import_jobs.append(job, file, offset, data)
    except import_jobs.WrongOffset as wrong:
        return JsonResponse({"received": wrong.received}, status=409)
    except ImportFile.DoesNotExist:
        raise Http404 from None
    except Refused as refusal:
        return _refuse(refusal)
    return JsonResponse({"received": received})


@login_required
@require_GET
def import_job(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One import: how far it is, and its report; for its script, which asks while it runs, that
    part."""
    job = _find(request, pk)
    part = is_from_script(request) and "part" in request.GET
    template = "chat/imports/progress.html" if part else "chat/imports/job.html"
    return render(request, template, _describe(get_user(request), job))


def _describe(user: User, job: ImportJob) -> dict[str, Any]:
    report = job.report
    totals = report.get("totals", {})
    # What needs to be looked at comes first.
    entries = sorted(report.get("conversations", []), key=_order)
    return {
        "job": job,
        "files": job.files.order_by("pk"),
        "can_start": job.status == ImportJob.Status.FAILED and import_jobs.has_all_files(job),
        "totals": totals,
        "stored": import_words.count_conversations(totals),
        "label": report.get("label", ""),
        "figures": import_words.list_figures(totals),
        "groups": import_words.list_groups(totals),
        "entries": [import_words.explain_entry(each) for each in entries[:LISTED]],
        "more": max(0, len(entries) - LISTED) + report.get("unlisted", 0),
        "offers": import_offers.list_open(user).filter(job=job),
    }


def _order(entry: dict[str, Any]) -> int:
    if entry.get("state") == "skipped":
        return 0
    return 1 if entry.get("missing") or entry.get("lost") or entry.get("dropped") else 2


@login_required
@require_GET
def import_report(request: HttpRequest, pk: UUID, form: str) -> HttpResponseBase:
    """The whole report of an import that is over, as JSON or CSV."""
    job = _find(request, pk)
    name = f"everlong-import-{job.created_at:%Y-%m-%d}.{form}"
    if form == "json":
        response: HttpResponseBase = JsonResponse(
            job.report, json_dumps_params={"ensure_ascii": False, "indent": 1}
        )
    else:
        lines = (write_csv_line(row) for row in list_rows(job.report))
        response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@login_required
@require_POST
def import_start(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Begin an import whose files are here, for the first time or again."""
    job = _find(request, pk)
    try:
        import_jobs.start(job)
    except Refused as refusal:
        return _refuse(refusal)
    put_in_queue(tasks.run_imports)  # where the queue is away, a sweep does it later
    return redirect(job.get_absolute_url())


@login_required
@require_POST
def import_cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End an import; what it has stored stays."""
    job = _find(request, pk)
    import_jobs.cancel(job)
    return redirect(job.get_absolute_url())


@login_required
@require_POST
def import_offer(request: HttpRequest, pk: int) -> HttpResponse:
    """Decide on what an export held of its user: `choice` is fact, project or no."""
    offer = get_object_or_404(ImportOffer, pk=pk, job__owner=request.user)
    try:
        import_offers.decide(offer, request.POST.get("choice", "no"))
    except Refused as refusal:
        messages.error(request, refusal.message)
    return redirect(offer.job.get_absolute_url())
