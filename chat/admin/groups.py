"""Groups in the admin panel, with what their members may use."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import GroupPolicy
from accounts.policies import remove_policy, set_policy
from accounts.roles import is_administrator
from chat.admin.base import column
from chat.admin.budgets import Scope, link_budgets
from chat.engine.tools import TOOL_GROUPS, WEB
from chat.models import McpServer, ModelProfile

ALL = "*"  # no model, tool or server is called so
WORDS = {"history": "Search in earlier messages", "memory": "Memory", WEB: "Search the web"}
CHOICES = ("model_names", "tool_groups", "mcp_servers")

admin.site.unregister(Group)


class NamesField(forms.MultipleChoiceField):
    """Some names, or all: then its value is None. A stored name of something that is gone is shown
    until it is not ticked any more."""

    def __init__(self, label: str) -> None:
        super().__init__(
            label=label,
            widget=forms.CheckboxSelectMultiple,
            required=False,
            help_text="None ticked: none.",
        )

    def offer(self, known: Iterable[tuple[str, str]], stored: Sequence[str]) -> None:
        """Show what there is, and what is stored beside."""
        offered = dict(known)
        gone = {name: f"{name} (gone)" for name in stored if name not in offered}
        every = {ALL: "All, also those that come later"}
        self.choices = [*every.items(), *offered.items(), *gone.items()]

    def clean(self, value: Any) -> list[str] | None:
        names: list[str] = super().clean(value)
        return None if ALL in names else names


class GroupForm(forms.ModelForm):
    """A group with its policy."""

    has_policy = forms.BooleanField(
        label="This group says what its members may use",
        required=False,
        help_text="Somebody of several such groups may use what any of them allows; somebody of "
        "none, everything.",
    )
    model_names = NamesField("Models")
    tool_groups = NamesField("Tools")
    mcp_servers = NamesField("Tool servers")
    default_model = forms.ChoiceField(
        label="Model of new conversations",
        required=False,
        help_text="Members can choose another one for themselves.",
    )
    retention_days = forms.IntegerField(
        label="Days until conversations are deleted",
        min_value=1,
        required=False,
        help_text="Of conversations without a message for so long; empty: as the site says. Of "
        "several groups the longest counts.",
    )

    class Meta:
        model = Group
        fields = ("name", "permissions")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stored = GroupPolicy.objects.filter(group=self.instance.pk).first()
        policy = stored or GroupPolicy()
        profiles = ModelProfile.objects.order_by("name")
        models = [(each.name, f"{each.name}: {each}") for each in profiles]
        tools = [(name, WORDS[name]) for name in (*TOOL_GROUPS, WEB)]
        servers = [(name, name) for name in McpServer.objects.values_list("name", flat=True)]
        for name, known in zip(CHOICES, (models, tools, servers), strict=True):
            chosen = getattr(policy, name)
            field = self.fields[name]
            assert isinstance(field, NamesField)
            field.offer(known, chosen or ())
            self.initial[name] = [ALL] if chosen is None else chosen
        default = policy.default_model
        gone = [(default, f"{default} (gone)")] if default and default not in dict(models) else []
        field = self.fields["default_model"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "The site's"), *models, *gone]
        self.initial["has_policy"] = stored is not None
        self.initial["default_model"] = default
        self.initial["retention_days"] = policy.retention_days

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        models, default = values.get("model_names"), values.get("default_model")
        if default and models is not None and default not in models:
            self.add_error("default_model", "It is not among the models that members may use.")
        return values

    def read_policy(self) -> dict[str, Any] | None:
        """The values of the group's policy; None where it has none."""
        names = (*CHOICES, "default_model", "retention_days")
        values = self.cleaned_data
        return {name: values[name] for name in names} if values["has_policy"] else None


@admin.register(Group)
class PolicyGroupAdmin(GroupAdmin):
    """Groups and their policies."""

    form = GroupForm
    list_display = ("name", "members_count", "limits")
    list_select_related = ("policy",)
    readonly_fields = ("members", "budgets")
    # Django's pair of boxes breaks rules of ARIA; the browser's own list does not.
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("name", "members")}),
        (
            "What members may use",
            {"fields": ("has_policy", *CHOICES, "default_model", "retention_days", "budgets")},
        ),
        (
            "Single permissions",
            {
                "fields": ("permissions",),
                "classes": ("collapse",),
                "description": "In this administration, for members who are staff.",
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        return super().get_queryset(request).annotate(people=Count("user"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Whoever gives permissions could give them to themselves."""
        fields = self.readonly_fields
        return fields if is_administrator(request.user) else (*fields, "permissions")

    members_count = column("Members", lambda row: row.people, "people")

    @admin.display(description="May use")
    def limits(self, row: Group) -> str:
        policy: GroupPolicy | None = getattr(row, "policy", None)
        if policy is None:
            return "–"
        kinds = zip(CHOICES, ("models", "tools", "tool servers"), strict=True)
        counts = [(getattr(policy, name), words) for name, words in kinds]
        return ", ".join(
            f"all {words}" if names is None else f"{len(names)} {words}" for names, words in counts
        )

    @admin.display(description="Budgets")
    def budgets(self, row: Group) -> SafeString | str:
        return "–" if row._state.adding else link_budgets(Scope(group=row))

    @admin.display(description="Members")
    def members(self, row: Any) -> SafeString | str:
        if row._state.adding:
            return "Put people into a group on the page of their account."
        url = reverse("admin:accounts_user_changelist", query={"groups__id__exact": row.pk})
        words = "1 person" if row.people == 1 else f"{row.people} people"
        return format_html('<a href="{}">{}</a>', url, words)

    def save_model(self, request: HttpRequest, obj: Group, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        policy = form.read_policy()
        if policy is None:
            remove_policy(obj)
        else:
            set_policy(obj, **policy)
