"""How a person wants the replies of a conversation: fields of the settings dialog."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from agent.context.request import LEAST_REPLY
from chat.engine.model_profiles import limits_for
from chat.models import Conversation, ModelProfile
from chat.web.choices import set_choices

EFFORTS = {
    "low": pgettext_lazy("effort", "Low"),
    "medium": pgettext_lazy("effort", "Medium"),
    "high": pgettext_lazy("effort", "High"),
    "xhigh": pgettext_lazy("effort", "Very high"),
    "max": pgettext_lazy("effort", "As high as it goes"),
}
REPLY_LENGTHS = 1_000, 4_000, 8_000, 16_000, 32_000, 64_000  # tokens
HOTTEST = 2.0
NAMES = "effort", "thinking", "temperature", "max_tokens"


class ReplyFields(forms.Form):
    """Those of the fields that the conversation's model has. An empty one leaves it to the model.

    `reply_changes()` is the new value of `Conversation.reply_settings`.
    """

    effort = forms.ChoiceField(
        label=gettext_lazy("Effort"),
        required=False,
        help_text=gettext_lazy(
            "How hard the model works on an answer. After a change the next message costs more: "
            "the server has to read the conversation anew."
        ),
    )
    thinking = forms.ChoiceField(
        label=gettext_lazy("Thinking"),
        required=False,
        help_text=gettext_lazy(
            "Whether the model thinks before it answers. The next message after a change costs "
            "more."
        ),
    )
    temperature = forms.FloatField(
        label=gettext_lazy("Temperature"),
        required=False,
        min_value=0,
        max_value=HOTTEST,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=gettext_lazy(
            "From 0, the same words again, to 2, free. Empty: as the server is set."
        ),
    )
    max_tokens = forms.TypedChoiceField(
        label=gettext_lazy("Longest reply"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "An answer that reaches it is cut off. A long one needs room: the conversation is "
            "compacted earlier."
        ),
    )

    def offer_reply(self, conversation: Conversation, profile: ModelProfile) -> None:
        """Fill in what is chosen, and leave out what the model does not have."""
        self.initial.update(conversation.reply_settings)
        by_itself = ("", gettext("As the model does by itself"))
        self._offer(
            "effort", [by_itself, *((each, str(EFFORTS[each])) for each in profile.efforts)]
        )
        thinking = [("on", gettext("On"), profile.thinking_on)]
        thinking += [("off", gettext("Off"), profile.thinking_off)] if profile.thinking_on else []
        if profile.thinking_on == "enabled":
            needs = gettext(
                "This model needs a longest reply of at least {tokens:,} tokens for it. With a "
                "shorter one it does not think."
            ).format(tokens=LEAST_REPLY)
            self.fields["thinking"].help_text = f"{self.fields['thinking'].help_text} {needs}"
        self._offer("thinking", [by_itself, *((n, words) for n, words, has in thinking if has)])
        if not profile.temperature:
            del self.fields["temperature"]
        self._offer("max_tokens", _list_lengths(conversation, profile))

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        set_choices(self, name, choices)
        if len(choices) == 1:
            del self.fields[name]

    def reply_changes(self, conversation: Conversation) -> dict[str, Any]:
        """What is stored after this form: of a field that was not shown, what was."""
        shown = {name: self.cleaned_data[name] for name in NAMES if name in self.fields}
        merged = conversation.reply_settings | shown
        return {name: value for name, value in merged.items() if value not in ("", None)}


def _list_lengths(conversation: Conversation, profile: ModelProfile) -> list[tuple[str, str]]:
    limits = limits_for(profile, conversation)
    default = gettext("Default: {tokens:,} tokens").format(tokens=limits.usual_reserve)
    chosen = conversation.reply_settings.get("max_tokens")
    lengths = {*REPLY_LENGTHS, profile.max_output, chosen or profile.max_output}
    lengths = {each for each in lengths if each <= profile.max_output or each == chosen}
    words = gettext("{tokens:,} tokens")
    return [("", default), *((str(n), words.format(tokens=n)) for n in sorted(lengths))]
