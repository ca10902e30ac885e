"""The form of a project's page."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext, gettext_lazy

from chat.engine.model_profiles import find_default_name, list_offered, load_profile
from chat.models import Project
from chat.services.library.projects import MAX_INSTRUCTIONS
from chat.web.budgets import list_budgets
from chat.web.choices import set_choices


class ProjectForm(forms.ModelForm):
    """What the user may set for a project; `projects.change_project` takes its data."""

    model = forms.ChoiceField(
        label=gettext_lazy("Model of new conversations"),
        required=False,
        help_text=gettext_lazy("Each conversation can still choose another."),
    )
    context_budget = forms.TypedChoiceField(
        label=gettext_lazy("Context budget"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "In tokens, of conversations that have not chosen one. A quarter of it is for files."
        ),
    )
    field_order = ["name", "instructions", "model", "context_budget"]

    class Meta:
        model = Project
        fields = ["name", "instructions"]
        labels = {
            "name": gettext_lazy("Name"),
            "instructions": gettext_lazy("Instructions"),
        }
        help_texts = {
            "instructions": gettext_lazy(
                "The model gets them with every message of every conversation in this project."
            ),
        }
        widgets = {
            "name": forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
            "instructions": forms.Textarea(
                attrs={"rows": 6, "dir": "auto", "maxlength": MAX_INSTRUCTIONS}
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        project = self.instance
        self.initial.update({"model": project.model, "context_budget": project.context_budget})
        usual = load_profile(find_default_name(project.owner_id))
        models = {"": gettext("Default: {model}").format(model=usual)}
        models |= {each.name: str(each) for each in list_offered(project.owner_id)}
        if project.model:  # it may no longer be offered
            models.setdefault(project.model, project.model)
        budgets = list_budgets(
            project.model or usual.name, settings.CONTEXT_BUDGET, project.context_budget
        )
        set_choices(self, "model", list(models.items()))
        set_choices(self, "context_budget", budgets)
