"""Model profiles in the admin panel: the only rows that are edited there."""

from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path

from accounts.audited_admin import record_act
from agent.model_names import split_name
from chat.admin.base import column, list_url
from chat.engine.model_profiles import is_demo, load_profile
from chat.engine.model_server import server_url
from chat.models import ModelProfile, Provider
from chat.models.model_profile import SMALLEST_WINDOW
from chat.services.site import model_profiles

# Of a price: at more, the most tokens that a call may report cost more than a row can hold.
MOST_DOLLARS = 100_000


class ProfileForm(forms.ModelForm):
    """A window that is too small to work with cannot be offered. The admin names the fields."""

    provider: Provider | None = None

    def clean_name(self) -> str:
        """A model of a provider is called after one that there is."""
        name = str(self.cleaned_data["name"])
        provider = split_name(name)[0]
        self.provider = Provider.objects.filter(name=provider).first() if provider else None
        if provider and self.provider is None:
            raise forms.ValidationError(f"There is no provider called {provider}.")
        return name

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("temperature") and not self._find_server():
            self.add_error("temperature", "Anthropic's API refuses a temperature.")
        name = values.get("name") or self.instance.name
        window, output = values.get("context_window"), values.get("max_output")
        if window is None or output is None:
            return values
        if output >= window:
            self.add_error("max_output", "It must be smaller than the context window.")
        if values.get("enabled") and window < SMALLEST_WINDOW and not is_demo(name):
            self.add_error(
                "context_window",
                f"A model with less than {SMALLEST_WINDOW:,} tokens cannot be offered.",
            )
        return values

    def _find_server(self) -> str:
        """The address of its server; "" is Anthropic's API."""
        provider = self.instance.provider if self.instance.pk else self.provider
        return provider.base_url if provider else server_url()


@admin.register(ModelProfile)
class ModelProfileAdmin(admin.ModelAdmin):
    form = ProfileForm
    list_select_related = ("provider",)
    formfield_overrides = {models.FloatField: {"min_value": 0, "max_value": MOST_DOLLARS}}
    list_display = (
        "name",
        "display_name",
        "window",
        "output",
        "prices",
        "cache_prices",
        "factor",
        "token_samples",
        "enabled",
        "edited",
    )
    list_filter = ("enabled", "edited", "provider")
    search_fields = ("name", "display_name")
    actions = ("release",)
    readonly_fields = (
        "token_factor",
        "token_samples",
        "efforts",
        "thinking_types",
        "provider",
        "base_url",
        "edited",
    )
    fieldsets = (
        (
            None,
            {"fields": ("name", "display_name", "enabled", "tools", "web_tools", "show_thinking")},
        ),
        ("Reply", {"fields": ("efforts", "thinking_types", "temperature")}),
        (
            "Limits",
            {"fields": (("context_window", "max_output"),), "description": "In tokens."},
        ),
        (
            "Prices",
            {
                "fields": (
                    ("input_price", "output_price"),
                    ("cache_read_price", "cache_write_price"),
                ),
                "description": "US dollars per million tokens.",
            },
        ),
        ("Learned", {"fields": (("token_factor", "token_samples"),)}),
        ("Server", {"fields": (("provider", "base_url", "edited"),)}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Conversations refer to the name, so it cannot change."""
        return (*self.readonly_fields, "name") if obj else self.readonly_fields

    window = column("Window", lambda row: f"{row.context_window:,}", "context_window")
    output = column("Max output", lambda row: f"{row.max_output:,}", "max_output")
    prices = column(
        "$/M in / out", lambda row: f"{row.input_price:g} / {row.output_price:g}", "input_price"
    )
    cache_prices = column(
        "$/M cache read / write",
        lambda row: f"{row.cache_read_price:g} / {row.cache_write_price:g}",
        "cache_read_price",
    )
    factor = column("Token factor", lambda row: f"{row.token_factor:.3f}", "token_factor")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.edited = True
        if not change:
            known = load_profile(obj.name)
            obj.base_url, obj.token_factor = known.base_url, known.token_factor
            obj.provider = form.provider
        super().save_model(request, obj, form, change)

    @admin.action(description="Let a refresh overwrite selected profiles", permissions=["change"])
    def release(self, request: HttpRequest, queryset: QuerySet[ModelProfile]) -> None:
        for profile in queryset:
            record_act(request, "let a refresh overwrite", profile)
        changed = model_profiles.release_profiles(queryset)
        self.message_user(request, f"{changed} released.", messages.SUCCESS)

    # --- Refresh from the server ------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        refresh = self.admin_site.admin_view(self.refresh)
        return [path("refresh/", refresh, name="chat_modelprofile_refresh"), *super().get_urls()]

    def refresh(self, request: HttpRequest) -> HttpResponse:
        """Read the model list of the configured server again."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        record_act(request, "refresh models", ModelProfile())
        # In a sync view, this runs in the event loop that serves the request, with its client.
        named = async_to_sync(model_profiles.refresh_profiles)()
        if named:
            self.message_user(request, f"The server named {named} models.", messages.SUCCESS)
        else:
            self.message_user(
                request,
                "The server gave no model list, so the built-in table is used. The log says why.",
                messages.WARNING,
            )
        return redirect(list_url(ModelProfile))
