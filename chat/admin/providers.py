"""Providers of models in the admin panel. A stored key is never shown: its end, and since when."""

from functools import partial
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from agent.errors import AgentError
from chat.admin.base import column
from chat.html.moments import format_moment
from chat.models import Provider
from chat.services.site import providers


def require_address(value: str) -> None:
    """Names without a dot are allowed, unlike in a URLField: containers have such."""
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port != 0
    except ValueError:
        port_is_valid = False
    if not port_is_valid or parts.scheme not in ("http", "https") or not parts.hostname:
        raise forms.ValidationError("Enter an address such as http://127.0.0.1:8080.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise forms.ValidationError("Enter the address alone. The key has a field of its own.")
    if parts.path.rstrip("/").endswith("/v1"):
        raise forms.ValidationError("Leave out /v1: it is added to each request.")


class ProviderForm(forms.ModelForm):
    """Takes a key, and gives none back."""

    new_key = forms.CharField(
        label="New key",
        required=False,
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Empty: the stored one stays. It is stored encrypted and cannot be read here.",
    )
    forget_key = forms.BooleanField(label="Delete the stored key", required=False)

    def clean_base_url(self) -> str:
        address = str(self.cleaned_data["base_url"]).rstrip("/")
        if address:
            require_address(address)
        return address

    def clean_new_key(self) -> str:
        key = str(self.cleaned_data["new_key"]).strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise forms.ValidationError("A key has no spaces and only plain letters and signs.")
        return key

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        stored = Provider.objects.filter(pk=self.instance.pk).exclude(encrypted_key="").first()
        if stored is None or self.errors or values.get("new_key") or values.get("forget_key"):
            return values
        if Provider(base_url=values["base_url"]).origin != stored.origin:
            self.add_error(
                "new_key",
                f"Enter the new address's key: the stored one is sent to {stored.origin} only.",
            )
        return values


@admin.register(Provider)
class ProviderAdmin(admin.ModelAdmin):
    form = ProviderForm
    list_display = ("name", "address", "enabled", "key", "models", "checked_at", "error")
    actions = ("ask_for_models",)
    readonly_fields = ("key", "models", "checked_at", "error")
    fieldsets = (
        (
            None,
            {
                "fields": ("name", "base_url", "enabled"),
                "description": "A server that speaks the Messages API, beside the one that the "
                "environment names.",
            },
        ),
        ("Key", {"fields": ("key", "new_key", "forget_key")}),
        ("Last check", {"fields": ("models", "checked_at", "error")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Models are called after the provider, so its name cannot change."""
        return (*self.readonly_fields, "name") if obj else self.readonly_fields

    address = column("Address", lambda row: row.base_url or row.origin, "base_url")

    @admin.display(description="Stored key")
    def key(self, row: Provider) -> str:
        if not row.key_set_at:
            return "–"
        return f"…{row.key_end}, since {format_moment(row.key_set_at)}"

    @admin.display(description="Models")
    def models(self, row: Provider) -> str:
        names = row.profiles.values_list("name", flat=True) if row.pk else ()
        return ", ".join(names) or "–"

    def save_model(self, request: HttpRequest, obj: Provider, form: Any, change: bool) -> None:
        """A saved provider is checked, so that a wrong address or key is seen here and not in a
        chat. It is saved in any case."""
        values = form.cleaned_data
        providers.save_provider(obj, key=values["new_key"], forget=values["forget_key"])
        if obj.enabled:  # after the commit: no transaction waits for another server
            transaction.on_commit(partial(self._check, request, obj))

    @admin.action(description="Check selected providers: list their models", permissions=["change"])
    def ask_for_models(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        for provider in queryset:
            self._check(request, provider)

    def _check(self, request: HttpRequest, provider: Provider) -> None:
        try:
            named = async_to_sync(providers.check_provider)(provider)
        except AgentError as error:
            self.message_user(request, f"“{provider}” is not usable now. {error}", messages.WARNING)
            return
        if named:
            words = f"The server of “{provider}” answered. Models that it named: {named}."
            self.message_user(request, words, messages.SUCCESS)
        else:
            words = (
                f"The server of “{provider}” answered, but named no models. Add a model profile "
                f"called {provider}::, followed by the model's id."
            )
            self.message_user(request, words, messages.WARNING)
