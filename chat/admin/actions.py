"""Write again, use or discard what came of it, revert: actions of the list, to which a compaction's
own page posts too."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html

from accounts.audited_admin import record_act
from chat import tasks
from chat.admin.base import admin_link, list_url, page_url, short_id
from chat.errors import RefusalCode, Refused
from chat.html.figures import format_price, format_tokens
from chat.html.method_words import METHOD_WORDS
from chat.live.enqueuing import put_in_queue
from chat.models import Compaction
from chat.queries.preview import preview_rewrite
from chat.services.summary import compactions, put_back, rewrites, summaries

log = structlog.get_logger(__name__)

MAX_AT_ONCE = 20  # each re-run is a paid model call


@dataclass(frozen=True)
class Action:
    """What an action's page asks, what it says of each compaction, and what is done on yes, given a
    user's id. It returns the id of another compaction to show, if there is one. `label` is its name
    in the list's menu."""

    name: str
    question: str
    explanation: str
    button: str
    run: Callable[[Compaction, int | None], int | None]
    done: str
    describe: Callable[[Compaction], str] = lambda _: ""
    label: str = ""


def _describe_rewrite(compaction: Compaction) -> str:
    """What it would read and cost, and how."""
    preview = preview_rewrite(compaction)
    if preview is None:
        return "It is not the current summary and cannot be written again."
    tokens = format_tokens(preview.tokens)
    how = METHOD_WORDS[preview.method]
    if preview.cost is None:
        return f"It reads {tokens} tokens, at a price that is not known. {how}"
    return f"It reads {tokens} tokens, for {format_price(preview.cost, preview.most)}. {how}"


def _rerun(compaction: Compaction, user_id: int | None) -> int:
    begun = rewrites.begin_rewrite(compaction.pk, by=user_id)
    if not put_in_queue(tasks.compact, begun):
        compactions.fail(begun, compactions.NO_QUEUE)
    return begun


RERUN = Action(
    name="rerun",
    label="Write selected summaries again…",
    question="Write the summary again?",
    explanation="In the background, the model reads the same messages again and writes a new "
    "version of the summary. Nothing is replaced: you compare the two first, and decide then.",
    button="Write again",
    run=_rerun,
    done="The summary is being written again. Reload this page to compare the two.",
    describe=_describe_rewrite,
)
REPLACE = Action(
    name="replace",
    label="Use selected summaries that wait…",
    question="Use the summary that was written again?",
    explanation="It takes the place of the present summary, which stays in this list: to revert "
    "brings it back.",
    button="Use it",
    run=lambda compaction, _: rewrites.use_rewrite(compaction.pk),
    done="It is the current summary now.",
)
DISCARD = Action(
    name="discard",
    label="Discard selected summaries that wait…",
    question="Discard the summary that was written again?",
    explanation="The present summary stays as it is.",
    button="Discard",
    run=lambda compaction, _: rewrites.discard_rewrite(compaction.pk),
    done="Discarded. Nothing was replaced.",
)
REVERT = Action(
    name="revert",
    label="Revert selected summaries…",
    question="Revert this summary?",
    explanation="The conversation goes back to the version before; without one, all its messages "
    "are sent verbatim again. No message changes, and the summary stays in this list. Automatic "
    "compaction then waits until the model's window itself is full.",
    button="Revert",
    run=lambda compaction, _: summaries.revert(compaction.pk),
    done="Reverted.",
)


def make_put_back(key: str) -> Action:
    """To put the statement of a `Left.key` back, which is a click of its own on the page."""
    return Action(
        name="put back",
        question="",
        explanation="",
        button="Put back",
        run=lambda compaction, _: put_back.put_back_statement(compaction.pk, key).pk,
        done="The statement is in the summary again.",
    )


def menu_action(action: Action) -> Callable[..., HttpResponse | None]:
    """The action in the menu of the list, for whoever may operate."""

    @admin.action(description=action.label, permissions=["operate"])
    def ask(
        page: ModelAdmin, request: HttpRequest, queryset: QuerySet[Compaction]
    ) -> HttpResponse | None:
        return confirm_action(page, request, queryset, action)

    return ask


def confirm_action(
    page: ModelAdmin, request: HttpRequest, queryset: QuerySet[Compaction], action: Action
) -> HttpResponse | None:
    """Ask first; then do it to each, newest first, and say what happened."""
    # Versions of one conversation are reverted from the newest backwards.
    rows = list(queryset.order_by("-pk")[: MAX_AT_ONCE + 1])
    if not rows:
        page.message_user(request, "They are no longer in this list.", messages.ERROR)
        return None
    if len(rows) > MAX_AT_ONCE:
        page.message_user(request, f"Select at most {MAX_AT_ONCE} at once.", messages.ERROR)
        return None
    if "confirmed" not in request.POST:
        context = page.admin_site.each_context(request) | {
            "opts": page.opts,
            "title": action.question,
            "action": action,
            "checkbox": ACTION_CHECKBOX_NAME,
            "rows": [(row, short_id(row.conversation_id), action.describe(row)) for row in rows],
            "back": page_url(rows[0]) if len(rows) == 1 else list_url(Compaction),
        }
        return TemplateResponse(request, "admin/chat/compaction/confirm.html", context)
    shown = [do_action(page, request, row, action) for row in rows]
    return redirect(page_url(Compaction(pk=shown[0]))) if len(shown) == 1 else None


def do_action(page: ModelAdmin, request: HttpRequest, row: Compaction, action: Action) -> int:
    """Do it to one compaction, and say what happened; returns the one to show afterwards."""
    name = format_html(
        "{} of conversation {}", admin_link(row, f"#{row.pk}"), short_id(row.conversation_id)
    )
    try:
        shown = action.run(row, request.user.pk)
    except Refused as refusal:
        reason = refusal.message
        if refusal.code == RefusalCode.CONVERSATION_BUSY:
            reason = "An answer or a compaction is running there. Try again when it is done."
        page.message_user(request, format_html("{}: {}", name, reason), messages.ERROR)
        return row.pk
    record_act(request, action.name, row)
    log.info("administrator acted", action=action.name, compaction=row.pk, user=request.user.pk)
    page.message_user(request, format_html("{}: {}", name, action.done), messages.SUCCESS)
    return shown or row.pk
