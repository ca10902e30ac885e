"""HTTP: the panel of the context; the budgets to choose from, there and in forms."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from agent.compaction.policy import PRESETS
from chat.engine.model_profiles import default_budget, has_prices, load_profile
from chat.engine.state import RequestState, load_state
from chat.errors import Refused
from chat.html.figures import format_money, format_tokens
from chat.html.plot import render_context_plot
from chat.models import Conversation
from chat.services.library import conversations
from chat.web.access import explain_refusal, find_conversation, refusal_response
from chat.web.choices import set_choices
from spending.totals import load_total

BUDGETS = {
    "economy": gettext_lazy("Economy: {tokens:,}"),
    "balanced": gettext_lazy("Balanced: {tokens:,}"),
    "full": gettext_lazy("Full: the model's window"),
}


def budget_choices(conversation: Conversation) -> list[tuple[str, str]]:
    """The context budgets to choose from for a conversation."""
    default = default_budget(conversation)
    return list_budgets(conversation.model, default, conversation.context_budget)


def list_budgets(model: str, usual: int, budget: int | None) -> list[tuple[str, str]]:
    """The presets of the context budget, and the present one where it is not one of them. Each is
    shown as it holds for the model: no budget is larger than the window, and a preset that would be
    is left out, because the full window is the same."""
    window = load_profile(model).context_window
    default = gettext("Default: {tokens:,}").format(tokens=min(usual, window))
    presets = {
        str(PRESETS[name]): words.format(tokens=PRESETS[name])
        for name, words in BUDGETS.items()
        if name == "full" or PRESETS[name] < window
    }
    budgets = {"": default} | presets
    if budget:
        as_it_is = gettext("As it is: {tokens:,}").format(tokens=min(budget, window))
        budgets.setdefault(str(budget), as_it_is)
    return list(budgets.items())


class BudgetForm(forms.Form):
    """The panel's choice of the context budget."""

    context_budget = forms.TypedChoiceField(coerce=int, empty_value=None, required=False)

    def __init__(self, conversation: Conversation, *args: Any) -> None:
        super().__init__(*args)
        set_choices(self, "context_budget", budget_choices(conversation))


@login_required
@require_http_methods(["GET", "POST"])
def usage(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The panel's part that is loaded when it opens: the plot, and the budget to choose."""
    row = find_conversation(request, pk)
    if request.method == "GET":
        state = load_state(pk)
        context = {
            "conversation": row,
            "plot": render_context_plot(state),
            "totals": _describe_totals(state),
            "budgets": budget_choices(row),
            "chosen": str(row.context_budget or ""),
        }
        return render(request, "chat/gauge/usage.html", context)
    form = BudgetForm(row, request.POST)
    if not form.is_valid():
        return HttpResponse(gettext("This budget is not offered. Reload the page."), status=422)
    try:
        conversations.change_settings(row, form.cleaned_data)
    except Refused as refusal:
        status = 409 if refusal.retryable else 422
        return refusal_response(refusal, status, explain_refusal(refusal))
    return HttpResponse(status=204)


def _describe_totals(state: RequestState) -> list[tuple[str, str]]:
    """What the conversation has cost so far, in words; no amount where no price is known."""
    conversation, total = state.conversation, load_total("conversation", state.conversation.pk)
    is_known = bool(total.dollars) or has_prices(state.profile)
    compactions = ngettext(
        "{count} compaction", "{count} compactions", conversation.compactions_completed
    )
    return [
        (gettext("Tokens in, all requests"), format_tokens(total.request_tokens)),
        (gettext("Tokens out"), format_tokens(total.output_tokens)),
        (gettext("Cost so far"), format_money(total.dollars if is_known else None)),
        (
            compactions.format(count=conversation.compactions_completed),
            format_money(total.summary_dollars if is_known else None),
        ),
    ]
