"""The forms of the settings."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.translation import get_language_info, gettext, gettext_lazy

from accounts.models import User
from accounts.preferences import are_languages_offered, find_language
from accounts.tokens import LIFETIMES, SCOPES
from chat.engine.model_profiles import find_default_name, list_offered, load_profile
from chat.web.choices import set_choices


class PreferencesForm(forms.Form):
    """What somebody has chosen for all of their pages. What a request does not name stays."""

    default_model = forms.ChoiceField(
        label=gettext_lazy("Model of new chats"),
        required=False,
        help_text=gettext_lazy("Each chat and each project can still choose another."),
    )
    language = forms.ChoiceField(label=gettext_lazy("Language"), required=False)
    appearance = forms.ChoiceField(
        label=gettext_lazy("Appearance"),
        required=False,
        choices=[
            ("", gettext_lazy("System")),
            ("light", gettext_lazy("Light")),
            ("dark", gettext_lazy("Dark")),
        ],
        widget=forms.RadioSelect(attrs={"autocomplete": "off"}),
    )

    def __init__(self, user: User, data: QueryDict | None = None) -> None:
        chosen = {
            "default_model": user.default_model,
            "language": find_language(user),
            "appearance": user.appearance,
        }
        super().__init__(data, initial=chosen)
        set_choices(self, "default_model", _list_models(user))
        if are_languages_offered():
            set_choices(self, "language", _list_languages())
        else:
            del self.fields["language"]

    def changes(self) -> dict[str, str]:
        """The validated values, of the fields that the request has named."""
        return {name: value for name, value in self.cleaned_data.items() if name in self.data}


def _list_models(user: User) -> list[tuple[str, str]]:
    models = {"": gettext("Default")}
    if not user.default_model:
        usual = load_profile(find_default_name(user.pk))
        models[""] = gettext("Default: {model}").format(model=usual)
    models |= {each.name: str(each) for each in list_offered(user.pk)}
    if user.default_model not in models:
        gone = load_profile(user.default_model)
        models[user.default_model] = gettext("{model} (no longer offered)").format(model=gone)
    return [*models.items()]


def _list_languages() -> list[tuple[str, str]]:
    """Each language in its own words, as who looks for it reads them."""
    names = [(code, get_language_info(code)["name_local"]) for code, _ in settings.LANGUAGES]
    return [("", gettext("As the browser asks")), *names]


class TokenForm(forms.Form):
    """A new access token."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("What it is for, so that you know it again."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("It may"),
        choices=[*SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose what the token may be used for.")},
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("It expires"),
        coerce=int,
        empty_value=None,
        required=False,
        initial=LIFETIMES[1],
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = {days: gettext("in {days} days").format(days=days) for days in LIFETIMES if days}
        set_choices(self, "days", [*words.items(), ("", gettext("never"))])
