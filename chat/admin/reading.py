"""Reading what belongs to somebody else: a reason is asked first, and the audit keeps it. Its owner
sees there who has read what, when and why."""

import time
from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.admin.utils import unquote
from django.db.models import CharField, Field, JSONField, TextField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from accounts.audit import Act
from accounts.audited_admin import record_act
from chat.admin.base import ReadOnlyAdmin
from chat.models import Conversation, Memory, Project

Private = Conversation | Project | Memory  # what a reason is given for
REASON_SECONDS = 3600  # for which a reason counts, in this session
REASONS = "reasons"  # in the session: until when each counts, by what it was given for


class ReasonForm(forms.Form):
    reason = forms.CharField(min_length=5, max_length=500, widget=forms.Textarea(attrs={"rows": 3}))


def may_read(request: HttpRequest, row: Private) -> bool:
    """Whether it is the reader's own, or a reason was given for it within the last hour."""
    if row.owner_id == request.user.pk:
        return True
    until = request.session.get(REASONS, {}).get(_name(row), 0.0)
    return bool(until > time.time())


def give_reason(request: HttpRequest, row: Private, reason: str) -> None:
    """From now on it may be read, for a while; the audit says why."""
    record_act(request, Act.READ, row, reason=reason)
    now = time.time()
    others = {k: until for k, until in request.session.get(REASONS, {}).items() if until > now}
    request.session[REASONS] = others | {_name(row): now + REASON_SECONDS}


def _name(row: Private) -> str:
    return f"{row._meta.model_name} {row.pk}"


def _list_text_fields(fields: Iterable[Field]) -> set[str]:
    """The names of those that hold whatever somebody wrote, and not one of some values."""
    texts = (each for each in fields if isinstance(each, CharField | TextField | JSONField))
    return {each.name for each in texts if not each.choices}


class PrivateAdmin(ReadOnlyAdmin):
    """Rows with what people wrote. A list shows ids and numbers alone, a page asks for a reason."""

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Django lets an address filter by any column: how many rows are found would tell, word by
        word, what somebody wrote."""
        offered = {getattr(each, "parameter_name", "") for each in self.list_filter}
        field = lookup.partition("__")[0]
        is_told = lookup in offered or field not in _list_text_fields(self.opts.fields)
        return is_told and super().lookup_allowed(lookup, value, request)

    def find_private(self, row: Any) -> Private:
        """What a reason has to be given for, to see this row."""
        private: Private = getattr(row, "conversation", row)
        return private

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        # Whatever is posted that is no reason, Django refuses; any other method it answers with the
        # page.
        asks = request.method != "POST" or "reason" in request.POST
        if row is None or not asks or not self.has_view_permission(request, row):
            return super().change_view(request, object_id, form_url, extra_context)
        private = self.find_private(row)
        if may_read(request, private):
            return super().change_view(request, object_id, form_url, extra_context)
        form = ReasonForm(request.POST or None)
        if form.is_valid():
            give_reason(request, private, form.cleaned_data["reason"])
            return redirect(request.get_full_path())
        context = self.admin_site.each_context(request) | {
            "title": "Why do you want to read this?",
            "private": private,
            "kind": private._meta.verbose_name,
            "form": form,
        }
        return TemplateResponse(request, "admin/chat/reason.html", context)

    def action_checkbox(self, obj: Any) -> SafeString:
        """Django's would say the row's title."""
        return super().action_checkbox(type(obj)(pk=obj.pk))
