"""HTTP: the summary of a conversation, previewed, edited and reverted."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from agent.audit.evidence import UNVERIFIED
from agent.audit.grounding import LONGEST_STATEMENT
from agent.compaction.policy import Extent
from agent.messages import sanitise_text
from chat.db.threads import in_db
from chat.errors import RefusalCode, Refused
from chat.html.divider import list_chapters, render_divider
from chat.html.figures import format_price, format_tokens
from chat.html.method_words import METHOD_WORDS
from chat.html.record_words import describe_offer
from chat.live.enqueuing import ask_for_rebuild
from chat.live.runner import runner
from chat.models import Compaction, Conversation
from chat.queries.preview import Preview, preview_compactions
from chat.queries.records import find_offer
from chat.queries.sources import propose_sources
from chat.services.summary import records, rewrites, summaries
from chat.web.access import (
    explain_refusal,
    find_conversation,
    load_user,
    make_sender,
    refusal_response,
    render_question,
)
from chat.web.forms import CompactForm, SummaryForm

EXTENT_WORDS = {
    Extent.THOROUGH: gettext_lazy("Thorough"),
    Extent.GENTLE: gettext_lazy("Gentle"),
}


@login_required
@require_GET
def compact_preview(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What compacting now would do; the page's script then sends `compact` over the socket."""
    row = find_conversation(request, pk)
    try:
        previews = preview_compactions(row)
    except Refused as refusal:
        return render(request, "chat/dialogs/compact.html", {"refusal": refusal.message})
    context = {
        "form": CompactForm(),
        "choices": [_describe(row, preview) for preview in previews],
    }
    return render(request, "chat/dialogs/compact.html", context)


def _describe(conversation: Conversation, preview: Preview) -> dict[str, Any]:
    """A way to compact as the dialog shows it."""
    if conversation.keep_first_message:
        kept = ngettext(
            "the first message and the newest",
            "the first message and the newest {count} messages",
            preview.kept,
        )
    else:
        kept = ngettext("the newest message", "the newest {count} messages", preview.kept)
    kept = kept.format(count=preview.kept)
    return {
        "preview": preview,
        "name": EXTENT_WORDS[preview.extent],
        "sizes": gettext("≈ {before} → {after} tokens").format(
            before=format_tokens(preview.tokens_before), after=format_tokens(preview.tokens_after)
        ),
        "kept": kept,
        "keeps": gettext("Keeps {kept}").format(kept=kept),
        "price": format_price(preview.cost, preview.most),
        "how": METHOD_WORDS[preview.method],
    }


@login_required
@require_GET
def summary(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The divider of the current summary, for a page that has missed it; 204: there is none."""
    current = find_conversation(request, pk).compaction
    return HttpResponse(render_divider(current)) if current else HttpResponse(status=204)


def find_version(request: HttpRequest, pk: UUID, version: int) -> Compaction:
    """A version of the summary of the signed-in user's conversation, or 404."""
    row = find_conversation(request, pk).compactions.filter(pk=version).first()
    if row is None:
        raise Http404
    return row


@login_required
@require_http_methods(["GET", "POST"])
def summary_edit(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """Change the current summary, and say what the messages do not support."""
    row = find_version(request, pk, version)
    form = SummaryForm(request.POST or None, initial={"text": summaries.editable_text(row)})
    context = {
        "form": form,
        "conversation": row.conversation,
        "version": row,
        "first": row.chapters[0]["first"] if row.chapters else row.first.number,
        "chapters": list_chapters(row),
    }
    if request.method == "GET":
        return render(request, "chat/dialogs/summary_edit.html", context)
    if form.is_valid():
        try:
            saved = summaries.edit_summary(version, form.cleaned_data["text"])
        except Refused as refusal:
            form.add_error(None, _explain_edit(refusal))
        else:
            return _edited(request, saved)
    return render(request, "chat/dialogs/summary_edit.html", context, status=422)


@login_required
@require_POST
async def summary_again(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """Have the model write a summary that was written by rule."""
    await load_user(request)
    row = await in_db(find_version, request, pk, version)
    try:
        await runner.begin(
            make_sender(request), rewrites.open_rewrite_turn, row.pk, holder=runner.holder
        )
    except Refused as refusal:
        return refusal_response(refusal, 409, explain_refusal(refusal))
    return HttpResponse(status=204)


@login_required
@require_http_methods(["GET", "POST"])
def summary_record(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """Ask first, then have a model read what a record by rule stands for, or stop that."""
    template = "chat/dialogs/summary_record.html"
    row = find_version(request, pk, version)
    offer = find_offer(row)
    context = {"offer": offer, "words": describe_offer(offer) if offer else None}
    if request.method == "GET":
        return render_question(request, template, context)
    if request.POST.get("wanted") == "stop":
        records.decline(pk)
    else:
        try:
            records.agree(version)
        except Refused as refusal:
            return render_question(request, template, context, refusal)
        ask_for_rebuild(pk)
    return trigger_client_event(HttpResponse(status=204), "settings-saved")


@login_required
@require_GET
def summary_sources(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """Messages that a statement (`said`) may be cited from: a fragment."""
    row = find_version(request, pk, version)
    said = sanitise_text(request.GET.get("said", ""))[:LONGEST_STATEMENT]
    proposals = propose_sources(row, said, row.conversation.owner_id)
    return render(request, "chat/dialogs/summary_sources.html", {"proposals": proposals})


def _explain_edit(refusal: Refused) -> str:
    if refusal.code == RefusalCode.NOT_CURRENT:
        return gettext(
            "This is not saved: another summary counts by now, because the conversation went on or "
            "it was edited elsewhere. Copy what you want to keep, close this, and edit the newest."
        )
    return explain_refusal(refusal)


def _edited(request: HttpRequest, version: Compaction) -> HttpResponse:
    findings = {
        name: [line.lstrip("-*+ ").removesuffix(UNVERIFIED) for line in version.audit[name]]
        for name in ("dropped", "unverified")
    }
    if not any(findings.values()):
        return trigger_client_event(HttpResponse(status=204), "summary-saved")
    context = findings | {"conversation": version.conversation, "version": version}
    return render(request, "chat/dialogs/summary_saved.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def summary_revert(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """Ask first, then go back to the version before."""
    template = "chat/dialogs/summary_revert.html"
    context = {"version": find_version(request, pk, version)}
    if request.method == "GET":
        return render_question(request, template, context)
    try:
        summaries.revert(version)
    except Refused as refusal:
        return render_question(request, template, context, refusal)
    return trigger_client_event(HttpResponse(status=204), "summary-reverted")
