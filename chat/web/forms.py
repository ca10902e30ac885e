"""Forms of the page's dialogs."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from agent.compaction.policy import SHORT_TOKENS, ChapterForm, Policy
from chat.engine.model_profiles import load_profile
from chat.engine.state import policy_for
from chat.models import Conversation, McpServer, ModelProfile
from chat.protocol.frames import MAX_FOCUS
from chat.services.summary.summaries import MAX_SUMMARY
from chat.web.budgets import budget_choices
from chat.web.choices import set_choices
from chat.web.reply_form import NAMES, ReplyFields

SUMMARY_SIZES = {
    500: pgettext_lazy("size", "Compact"),
    2_000: pgettext_lazy("size", "Normal"),
    4_000: pgettext_lazy("size", "Large"),
}
THRESHOLD = 50, 95  # per cent of the budget
MOST_KEPT = 50  # messages


class SettingsForm(ReplyFields, forms.ModelForm):
    """What the user may set for one conversation.

    `changes()` is what `conversations.change_settings` takes: of the policy only what differs from
    the site's, so that a changed default reaches every conversation that did not choose.
    """

    context_budget = forms.TypedChoiceField(
        label=gettext_lazy("Context budget"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "In tokens. A larger budget keeps more word for word, and costs more."
        ),
    )
    threshold = forms.IntegerField(
        label=gettext_lazy("Compact at"),
        min_value=THRESHOLD[0],
        max_value=THRESHOLD[1],
        help_text=format_lazy(
            gettext_lazy("Per cent of the budget, from {least} to {most}."),
            least=THRESHOLD[0],
            most=THRESHOLD[1],
        ),
    )
    keep_recent_messages = forms.IntegerField(
        label=gettext_lazy("Newest messages kept"),
        min_value=2,
        max_value=MOST_KEPT,
        help_text=gettext_lazy("Word for word, as far as they fit; the last exchange always."),
    )
    summary_max_tokens = forms.TypedChoiceField(
        label=gettext_lazy("Size of the summary"),
        coerce=int,
        help_text=gettext_lazy("For each part of the conversation that is summarised."),
    )
    short_summary = forms.BooleanField(
        label=gettext_lazy("Short form"),
        required=False,
        help_text=format_lazy(
            gettext_lazy("Five parts, and never more than {tokens} tokens, whatever the size."),
            tokens=SHORT_TOKENS,
        ),
    )
    prepare = forms.BooleanField(
        label=gettext_lazy("Prepare in the background"),
        required=False,
        help_text=gettext_lazy("Shortly before a summary is needed, so that nobody waits for it."),
    )
    use_pauses = forms.BooleanField(
        label=gettext_lazy("Use pauses"),
        required=False,
        help_text=gettext_lazy(
            "Summarise a large conversation when you pause, while that is cheap."
        ),
    )

    web = forms.BooleanField(
        label=gettext_lazy("Search the web"),
        required=False,
        help_text=gettext_lazy(
            "The model may search the web and open pages. Its provider charges for searches."
        ),
    )
    mcp = forms.MultipleChoiceField(
        label=gettext_lazy("Tool servers"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Those servers decide what the model can do there."),
    )

    mcp_allowed = forms.MultipleChoiceField(
        label=gettext_lazy("Tool servers that act without asking"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "Each call of another server shows what it would send, and waits for you."
        ),
    )

    field_order = [
        "system_prompt",
        *NAMES,
        "web",
        "mcp",
        "mcp_allowed",
        "compaction_enabled",
        "threshold",
        "context_budget",
        "keep_recent_messages",
        "summary_max_tokens",
        "short_summary",
        "prepare",
        "use_pauses",
        "keep_first_message",
    ]

    class Meta:
        model = Conversation
        fields = ["system_prompt", "compaction_enabled", "keep_first_message", "context_budget"]
        labels = {
            "system_prompt": gettext_lazy("System prompt"),
            "compaction_enabled": gettext_lazy("Compact automatically"),
            "keep_first_message": gettext_lazy("Always keep the first message"),
        }
        help_texts = {
            "system_prompt": gettext_lazy("Instructions that the model gets with every message."),
            "compaction_enabled": gettext_lazy(
                "Off: when the window is full, the oldest messages are left out."
            ),
            "keep_first_message": gettext_lazy("It is sent word for word, whatever is summarised."),
        }
        widgets = {"system_prompt": forms.Textarea(attrs={"rows": 4, "maxlength": 100_000})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        policy = policy_for(self.instance)
        shown: dict[str, Any] = {
            "threshold": round(policy.threshold_ratio * 100),
            "keep_recent_messages": policy.keep_recent_messages,
            "summary_max_tokens": policy.summary_max_tokens,
            "short_summary": policy.is_short,
            "prepare": policy.prepare_ratio > 0,
            "use_pauses": policy.idle_ratio > 0,
        }
        self.initial.update(shown)
        sizes = SUMMARY_SIZES | {
            size: SUMMARY_SIZES.get(size, gettext_lazy("As it is"))
            for size in (policy.summary_max_tokens, _site("summary_max_tokens"))
        }
        set_choices(
            self,
            "summary_max_tokens",
            [
                (n, gettext("{size}: {tokens:,} tokens").format(size=sizes[n], tokens=n))
                for n in sorted(sizes)
            ],
        )
        set_choices(self, "context_budget", budget_choices(self.instance))
        profile = load_profile(self.instance.model)
        self.offer_reply(self.instance, profile)
        self._offer_tools(profile)
        if not settings.COMPACTION["enabled"]:
            off = gettext("Automatic compaction is switched off for this whole site.")
            self.fields["compaction_enabled"].help_text = off

    def _offer_tools(self, profile: ModelProfile) -> None:
        """Offer only the choices that exist."""
        chosen = self.instance.tool_settings
        lists = {name: chosen.get(name, []) for name in ("mcp", "mcp_allowed")}
        self.initial.update({"web": chosen.get("web", False), **lists})
        if not (settings.TOOLS and profile.web_tools):
            del self.fields["web"]
        servers = McpServer.objects.filter(enabled=True) if settings.TOOLS else ()
        names = [server.name for server in servers]
        for list_name in lists:
            set_choices(self, list_name, [(name, name) for name in names])
            if not names:
                del self.fields[list_name]

    def changes(self) -> dict[str, Any]:
        """The validated values by field of `Conversation`."""
        data, now = self.cleaned_data, policy_for(self.instance)
        chosen = {
            "threshold": ("threshold_ratio", data["threshold"] / 100),
            "keep_recent_messages": ("keep_recent_messages", data["keep_recent_messages"]),
            "summary_max_tokens": ("summary_max_tokens", data["summary_max_tokens"]),
            "short_summary": (
                "summary_form",
                ChapterForm.SHORT if data["short_summary"] else ChapterForm.FULL,
            ),
            "prepare": ("prepare_ratio", _switch("prepare_ratio", on=data["prepare"])),
            "use_pauses": ("idle_ratio", _switch("idle_ratio", on=data["use_pauses"])),
        }
        # An untouched field keeps its exact value, which the form may show rounded.
        policy = self.instance.compaction_settings | {
            name: value if field in self.changed_data else getattr(now, name)
            for field, (name, value) in chosen.items()
        }
        differing = {name: value for name, value in policy.items() if value != _site(name)}
        tools = {name: data[name] for name in ("web", "mcp", "mcp_allowed") if name in data}
        return {name: data[name] for name in self.Meta.fields} | {
            "compaction_settings": differing,
            "reply_settings": self.reply_changes(self.instance),
            "tool_settings": self.instance.tool_settings | tools,
        }


def _site(name: str) -> Any:
    """The site's value of a field of the policy."""
    return settings.COMPACTION.get(name, getattr(Policy(), name))


def _switch(name: str, *, on: bool) -> float:
    """A share that is switched on or off: on is the site's, or where that is off the usual one."""
    return (_site(name) or getattr(Policy(), name)) if on else 0


class CompactForm(forms.Form):
    """Read by the page's script, which sends the socket's `compact`."""

    focus = forms.CharField(
        label=gettext_lazy("Keep in particular"),
        max_length=MAX_FOCUS,
        required=False,
        widget=forms.TextInput(
            attrs={
                "placeholder": gettext_lazy(
                    "Optional, for example: the decisions about the database"
                )
            }
        ),
    )


class SummaryForm(forms.Form):
    """The text of the current summary."""

    text = forms.CharField(
        label=gettext_lazy("Summary"),
        max_length=MAX_SUMMARY,
        strip=False,
        error_messages={"required": gettext_lazy("A summary cannot be empty. Revert it instead.")},
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "true"}),
    )


class RenameForm(forms.Form):
    title = forms.CharField(max_length=200)
