"""The administration, whose acts are all recorded."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts import audit
from accounts.audit import Act
from accounts.models import User


class AuditedSite(admin.AdminSite):
    """Django's site, with pages that record. Whatever is registered gets them, so that no table can
    be forgotten, those of other packages included."""

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        page = admin_class or admin.ModelAdmin
        names = {"__module__": page.__module__}
        audited = type(page.__name__, (AuditedAdmin, page), names)
        super().register(model_or_iterable, audited, **options)

    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        """The site's own page: Django's lets a password be guessed without a limit."""
        return redirect("account_change_password")

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """For nobody: no form completes anything, and Django's would list the rows of every table
        by the titles and texts that they are called by."""
        raise PermissionDenied


class AuditedAdmin(admin.ModelAdmin):
    """Records what is added, changed and deleted in the audit, and not in Django's own log, which
    would keep names and titles of what is gone."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """The names of the fields that a form has changed, and of the tables beside it."""
        changed = list(form.changed_data)
        for formset in formsets or ():
            if formset.new_objects or formset.changed_objects or formset.deleted_objects:
                changed.append(str(formset.model._meta.model_name))
        return changed

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        record_act(request, Act.ADD, obj)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """`message`: what `construct_change_message` has made; a text is not kept."""
        changed = message if isinstance(message, list) else []
        record_act(request, Act.CHANGE, obj, changed=changed)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Model]) -> Any:
        for each in queryset:
            record_act(request, Act.DELETE, each)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """The entries of the audit about this row."""
        query = {"target_kind": self.opts.model_name, "target_id": object_id}
        return redirect(reverse("admin:accounts_auditentry_changelist", query=query))


def record_act(
    request: HttpRequest, act: str, row: Model, *, reason: str = "", changed: Sequence[str] = ()
) -> None:
    """Add an entry for what the person of a request has done to a row, or seen of it."""
    assert isinstance(request.user, User)  # nobody else sees a page of the administration
    audit.record(
        request.user, act, target=row, owner=find_owner(row), reason=reason, changed=changed
    )


def find_owner(row: Model) -> User | None:
    """Whose a row is: an account's own, or one with an `owner` or a `user`, by itself or through
    its conversation."""
    if isinstance(row, User):
        return row
    for name in ("owner", "user"):
        if isinstance(person := getattr(row, name, None), User):
            return person
    conversation = getattr(row, "conversation", None)
    return find_owner(conversation) if isinstance(conversation, Model) else None
