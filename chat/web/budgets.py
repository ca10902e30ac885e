"""The context budgets to choose from, and the choice of one."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from agent.compaction.policy import PRESETS
from chat.engine.model_profiles import default_budget, load_profile
from chat.models import Conversation

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
        field = self.fields["context_budget"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = budget_choices(conversation)
