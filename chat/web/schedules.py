"""HTTP: the dialog of a conversation's scheduled prompts. Each answer is the dialog again."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from agent.clock import to_local
from chat.errors import Refused
from chat.html.schedule_words import REPEAT_WORDS, describe_schedule
from chat.models import Conversation, ScheduledPrompt
from chat.protocol.zone import read_zone
from chat.services.turns import schedules
from chat.web.access import explain_refusal, find_conversation, get_user

LONGEST = 20_000  # characters of a prompt that somebody writes into a dialog
# From today, before and after: what comes again is counted from its first day on.
FURTHEST = timedelta(days=3_653)


def _check_day(day: date) -> None:
    if abs(day - timezone.localdate()) > FURTHEST:
        raise ValidationError(gettext_lazy("Choose a day that is at most ten years away."))


class ScheduleForm(forms.Form):
    """What is to be said, and when by the clock of the person's zone."""

    text = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
    repeat = forms.ChoiceField(label=gettext_lazy("Repeat"), choices=REPEAT_WORDS.items)
    first_date = forms.DateField(
        label=gettext_lazy("Day"),
        widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        validators=[_check_day],
    )
    time = forms.TimeField(
        label=gettext_lazy("Time"), widget=forms.TimeInput({"type": "time"}, format="%H:%M")
    )


@login_required
@require_http_methods(["GET", "POST"])
def conversation_schedules(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The list with a form for a new one; POST makes it."""
    row = find_conversation(request, pk)
    zone = read_zone(request.COOKIES) or settings.TIME_ZONE
    if request.method == "GET":
        return _render_dialog(request, row, ScheduleForm(initial=_propose(zone)), zone)
    form = ScheduleForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data | {"time_zone": zone}
        try:
            schedules.schedule_prompt(get_user(request), row.pk, given)
        except Refused as refusal:
            form.add_error(None, explain_refusal(refusal))
        else:
            return _render_dialog(request, row, ScheduleForm(initial=_propose(zone)), zone)
    return _render_dialog(request, row, form, zone, status=422)


@login_required
@require_http_methods(["GET", "POST"])
def schedule_edit(request: HttpRequest, pk: UUID, schedule: int) -> HttpResponse:
    """The same dialog with the form of one of them. Its times stay those of its zone."""
    row = find_conversation(request, pk)
    edited = _find(row, schedule)
    initial = {name: getattr(edited, name) for name in ScheduleForm.base_fields}
    if request.method == "GET":
        form = ScheduleForm(initial=initial)
        return _render_dialog(request, row, form, edited.time_zone, edited=edited)
    form = ScheduleForm(request.POST, initial=initial)
    if form.is_valid():
        try:
            schedules.edit_schedule(edited, form.cleaned_data | {"time_zone": edited.time_zone})
        except Refused as refusal:
            form.add_error(None, explain_refusal(refusal))
        else:
            return _show_list(request, row)
    return _render_dialog(request, row, form, edited.time_zone, edited=edited, status=422)


@login_required
@require_POST
def schedule_pause(request: HttpRequest, pk: UUID, schedule: int) -> HttpResponse:
    """Let one rest, or go on."""
    row = find_conversation(request, pk)
    found = _find(row, schedule)
    if found.pause:
        schedules.resume_schedule(found)
    else:
        schedules.pause_schedule(found)
    return _show_list(request, row)


@login_required
@require_POST
def schedule_delete(request: HttpRequest, pk: UUID, schedule: int) -> HttpResponse:
    """What it has said stays."""
    row = find_conversation(request, pk)
    schedules.delete_schedule(_find(row, schedule))
    return _show_list(request, row)


def _find(row: Conversation, schedule: int) -> ScheduledPrompt:
    found = row.scheduled_prompts.filter(pk=schedule).first()
    if found is None:
        raise Http404
    return found


def _propose(zone: str) -> dict[str, Any]:
    """Tomorrow at nine, once."""
    today = to_local(timezone.now().timestamp(), zone).date()
    return {
        "repeat": ScheduledPrompt.Repeat.ONCE,
        "first_date": today + timedelta(days=1),
        "time": "09:00",
    }


def _show_list(request: HttpRequest, row: Conversation) -> HttpResponse:
    zone = read_zone(request.COOKIES) or settings.TIME_ZONE
    return _render_dialog(request, row, ScheduleForm(initial=_propose(zone)), zone)


def _render_dialog(
    request: HttpRequest,
    row: Conversation,
    form: ScheduleForm,
    zone: str,
    *,
    edited: ScheduledPrompt | None = None,
    status: int = 200,
) -> HttpResponse:
    address = reverse("conversation_schedules", args=[row.pk])
    if edited:
        address = reverse("schedule_edit", args=[row.pk, edited.pk])
    context = {
        "conversation": row,
        "address": address,
        "schedules": [describe_schedule(each) for each in row.scheduled_prompts.all()],
        "form": form,
        "zone": zone,
        "edited": edited,
    }
    return render(request, "chat/dialogs/schedules.html", context, status=status)
