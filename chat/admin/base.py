"""What the admin's pages share: read-only lists that load no big columns, filters, formats."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from agent.audit.evidence import MOST_DIGITS
from agent.audit.quotes import Quote
from chat.html import markdown
from chat.html.folded_quotes import mark_quotes, show_quotes
from chat.html.moments import format_moment
from chat.models import Conversation, Message, ModelProfile
from spending.totals import Total, TotalsBy, load_totals

PREVIEW = 120  # characters of a message in a table
MOST_COUNTED = 10_000  # rows of a list
MAX_VALUE = 2_000  # characters of one value in a table of details

_CITED = re.compile(r"\[(#\d+(?:[ ,]+#\d+)*)\]")
_PAGE_LINK = re.compile(r'<a href="#message-\d+">#(\d+)</a>')  # of the chat's own page
_NUMBER = re.compile(r"#(\d+)")


# --- Lists ----------------------------------------------------------------------------------------


class BoundedPaginator(Paginator):
    """Pages of the first `MOST_COUNTED` rows: a table is not read whole to be counted."""

    @cached_property
    def counted(self) -> int:
        """How many there are; one more than the bound stands for any number above it."""
        rows = cast("QuerySet[Any]", self.object_list).order_by().values("pk")
        return rows[: MOST_COUNTED + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.counted, MOST_COUNTED)


def add_totals(rows: Sequence[Any], by: TotalsBy, *, since: datetime | None = None) -> None:
    """Give rows what their model calls, from `since` on, cost as `total`."""
    totals = load_totals(by, [row.pk for row in rows], since=since)
    for row in rows:
        row.total = totals.get(row.pk, Total())


class NarrowChangeList(ChangeList):
    """A list of a `ReadOnlyAdmin`, which loads the columns it shows, and no others."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.paginator.counted > MOST_COUNTED:
            self.title = f"{self.title} (the first {MOST_COUNTED:,}: filter or search for others)"

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: Any = None
    ) -> QuerySet[Any, Any]:
        queryset = super().get_queryset(request, exclude_parameters)
        narrowed: QuerySet[Any, Any] = self.model_admin.for_list(queryset)  # type: ignore[attr-defined]
        return narrowed

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: list[Any] = list(self.result_list)
        if by := self.model_admin.totals_by:  # type: ignore[attr-defined]
            add_totals(self.result_list, by)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows to look at. `list_only` names the columns of the list, those of joined tables included:
    a column that is shown and not named costs a query per row. `totals_by` names what the rows are
    to model calls: each then has what its calls cost as `total`, all in one query."""

    list_only: tuple[str, ...] = ()
    totals_by: TotalsBy | None = None
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 200
    view_on_site = False

    def for_list(self, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
        return queryset.only(*self.list_only)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NarrowChangeList

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def with_previews(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Messages with the start of their text as `preview`, without the rest of it."""
    return messages.defer("blocks", "text", "usage").annotate(preview=Left("text", PREVIEW))


# --- Columns --------------------------------------------------------------------------------------

Column = Callable[[Any, Any], object]


def column(description: str, show: Callable[[Any], object], ordering: Any = None) -> Column:
    """A column of a list, or a field of a page: what is shown of a row, and by which of the table's
    columns the list can be sorted."""

    @admin.display(description=description, ordering=ordering)
    def shown(page: Any, row: Any) -> object:
        return show(row)

    return shown


def moment_column(description: str, field: str) -> Column:
    return column(description, lambda row: format_moment(getattr(row, field)), field)


def _link_owner(row: Any) -> SafeString:
    name = row.owner.get_username()
    return format_html('<a href="{}">{}</a>', list_url(type(row), owner=name), name)


def short_id(row_id: UUID) -> str:
    """How a conversation or a project is called in a list, which shows no titles."""
    return str(row_id)[:8]


def _link_conversation(row_id: UUID) -> SafeString:
    return admin_link(Conversation(pk=row_id), short_id(row_id))


CONVERSATION = column("Conversation", lambda row: _link_conversation(row.conversation_id))
OWNER = column("Owner", _link_owner, "owner__username")  # leads to what else they have


# --- Filters --------------------------------------------------------------------------------------


class ConditionFilter(admin.SimpleListFilter):
    """By one of some conditions: each by its name in the address, with its words."""

    conditions: Mapping[str, tuple[str, Q]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, words) for name, (words, _) in self.conditions.items()]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        found = self.conditions.get(self.value() or "")
        return queryset.filter(found[1]) if found else None


class ConversationFilter(admin.SimpleListFilter):
    """Names the conversation that a link has filtered a list by; offers nothing by itself."""

    title = "conversation"
    parameter_name = "conversation"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        value, found = self.value(), self._id()
        if not value:
            return []
        is_there = found and Conversation.objects.filter(pk=found).exists()
        return [(value, short_id(found) if found and is_there else "not found")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        if not self.value():
            return None
        return queryset.filter(conversation=self._id()) if self._id() else queryset.none()

    def _id(self) -> UUID | None:
        try:
            return UUID(self.value() or "")
        except ValueError:
            return None


class ModelFilter(admin.SimpleListFilter):
    """By model: the models that have a profile, so that not every row has to be read."""

    title = "model"
    parameter_name = "model"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in ModelProfile.objects.values_list("name", flat=True)]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        return queryset.filter(model=self.value()) if self.value() else None


class OwnerFilter(admin.SimpleListFilter):
    """By the owner's name, typed: a list of all users would be too long."""

    title = "owner"
    parameter_name = "owner"
    template = "admin/chat/owner_filter.html"
    field = "owner__username"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("typed", "typed")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        return queryset.filter(**{self.field: self.value()}) if self.value() else None

    def choices(self, changelist: Any) -> Iterator[Any]:
        """One: the typed value, the link without it, the other parameters to keep."""
        gone = (self.parameter_name, "p", "e")
        yield {
            "value": self.value() or "",
            "name": self.parameter_name,
            "without": changelist.get_query_string(remove=[self.parameter_name]),
            "others": [(k, v) for k, v in self.request.GET.items() if k not in gone],
        }


class ConversationOwnerFilter(OwnerFilter):
    field = "conversation__owner__username"


# --- Formats --------------------------------------------------------------------------------------


def page_url(row: Model) -> str:
    """The address of a row's admin page."""
    return reverse(f"admin:chat_{row._meta.model_name}_change", args=[row.pk])


def admin_link(row: Model, text: object = "") -> SafeString:
    """A link to a row's admin page."""
    return format_html('<a href="{}">{}</a>', page_url(row), text or row)


def list_url(model: type[Model], /, **filters: object) -> str:
    """The address of a model's list, filtered."""
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def format_duration(duration: float | None) -> str:
    """`1.2 s`, `2 min 5 s`."""
    if duration is None:
        return "–"
    if duration < 60:
        return f"{max(0.0, duration):.1f} s"
    return f"{duration // 60:.0f} min {duration % 60:.0f} s"


def list_details(value: Mapping[str, Any] | None, prefix: str = "") -> list[tuple[str, str]]:
    """A JSON object as rows of words and values; objects inside become rows of their own."""
    rows: list[tuple[str, str]] = []
    for key, item in (value or {}).items():
        label = f"{prefix}{key}".replace("_", " ")
        if isinstance(item, Mapping) and item:
            rows += list_details(item, f"{label}: ")
            continue
        if isinstance(item, list) and all(isinstance(part, str | int | float) for part in item):
            item = ", ".join(map(str, item))
        elif isinstance(item, int) and not isinstance(item, bool):
            item = f"{item:,}"
        elif not isinstance(item, str):
            item = json.dumps(item, ensure_ascii=False)
        short = item if len(item) <= MAX_VALUE else item[:MAX_VALUE] + "…"
        rows.append((label[:1].upper() + label[1:], short or "–"))
    return rows


def render_summary_html(
    conversation_id: UUID, text: str, quotes: Sequence[Quote] = ()
) -> SafeString:
    """A summary as sanitised HTML, with `[#12]` as links to the messages that exist, and with the
    quotes that bear its statements out.

    As in `chat.html.message`, no `[` can stand inside an attribute.
    """
    shown = show_quotes(markdown.render_markdown(mark_quotes(text, quotes)), quotes)
    html = _PAGE_LINK.sub(r"#\1", shown)
    cited_numbers = (n for cited in _CITED.findall(html) for n in _NUMBER.findall(cited))
    numbers = {int(number) for number in cited_numbers if len(number) <= MOST_DIGITS}
    known = Message.objects.filter(conversation=conversation_id, number__in=numbers)
    pages = {
        str(number): reverse("admin:chat_message_change", args=[pk])
        for number, pk in known.values_list("number", "pk")
    }

    def linked(number: re.Match[str]) -> str:
        url = pages.get(number[1])
        return f'<a href="{url}">#{number[1]}</a>' if url else number[0]

    return mark_safe(_CITED.sub(lambda cited: _NUMBER.sub(linked, cited[0]), html))
