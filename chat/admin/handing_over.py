"""Handing projects and conversations to somebody else: an action of the lists of accounts, projects
and conversations, for administrators."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.template.response import TemplateResponse

from accounts.models import User
from accounts.roles import is_administrator
from chat.models import Conversation
from chat.queries.holdings import Holdings, find_holdings
from chat.services.people.handing_over import HandedOver, hand_over


class ReceiverForm(forms.Form):
    """Who gets it."""

    receiver = forms.ModelChoiceField(User.objects.none(), label="To")

    def __init__(self, data: Any, held: Holdings) -> None:
        super().__init__(data)
        people = User.objects.filter(is_active=True).order_by("username")
        if len(held.owners) == 1:
            people = people.exclude(pk=held.owners[0].pk)
        field = self.fields["receiver"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = people


class HandsOver(admin.ModelAdmin):
    """A list of accounts, projects or conversations that can be handed over."""

    actions = ("hand_over",)

    def has_hand_over_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request.user)

    @admin.action(description="Hand over to somebody else…", permissions=["hand_over"])
    def hand_over(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ask for whom, with counts of what goes along; then do it and say what happened."""
        chosen = list(queryset.values_list("pk", flat=True))
        held = _find(self.model, chosen)
        if not (held.projects or held.single):
            self.message_user(request, "There is nothing to hand over.", messages.WARNING)
            return None
        form = ReceiverForm(request.POST if "confirmed" in request.POST else None, held)
        if not form.is_valid():
            context = self.admin_site.each_context(request) | {
                "opts": self.opts,
                "title": "Hand over to somebody else?",
                "owners": held.owners,
                "counts": held.count(),
                "form": form,
                "checkbox": ACTION_CHECKBOX_NAME,
                "chosen": chosen,
            }
            return TemplateResponse(request, "admin/chat/hand_over.html", context)
        receiver, by = form.cleaned_data["receiver"], request.user
        assert isinstance(by, User)
        handed = hand_over(held.projects, held.single, receiver, by=by)
        level = messages.WARNING if handed.busy else messages.SUCCESS
        self.message_user(request, _describe(handed, receiver), level)
        return None


def _find(model: type[Any], chosen: list[Any]) -> Holdings:
    if model is User:
        return find_holdings(owners=chosen)
    if model is Conversation:
        return find_holdings(conversations=chosen)
    return find_holdings(projects=chosen)


def _describe(handed: HandedOver, receiver: User) -> str:
    projects = f"{handed.projects} project{pluralize(handed.projects)}"
    conversations = f"{handed.conversations} conversation{pluralize(handed.conversations)}"
    words = f"{receiver} has got {projects} and {conversations}."
    if handed.busy:
        words += (
            f" {handed.busy} stayed, because something is being answered there. Hand them over "
            "again when that is done."
        )
    return words
