"""Forms of the page's dialogs."""

from django import forms

from chat.models import Conversation

BUDGETS = [
    ("", "The site's default"),
    ("75000", "Economy: 75,000 tokens"),
    ("200000", "Balanced: 200,000 tokens"),
    ("10000000", "The model's full window"),
]


class SettingsForm(forms.ModelForm):
    """What the user may set for one conversation."""

    context_budget = forms.TypedChoiceField(
        choices=BUDGETS,
        coerce=int,
        empty_value=None,
        required=False,
        help_text="Compaction starts at 80 % of it. More is remembered word for word, and costs "
        "more.",
    )

    class Meta:
        model = Conversation
        fields = ["system_prompt", "compaction_enabled", "keep_first_message", "context_budget"]
        labels = {
            "compaction_enabled": "Compact automatically",
            "keep_first_message": "Always send the first message word for word",
        }
        help_texts = {
            "system_prompt": "Instructions that the model gets with every message.",
            "compaction_enabled": "Off: when the window is full, the oldest messages are left out.",
            "keep_first_message": "",
        }
        widgets = {"system_prompt": forms.Textarea(attrs={"rows": 6, "maxlength": 100_000})}


class RenameForm(forms.Form):
    title = forms.CharField(max_length=200)
