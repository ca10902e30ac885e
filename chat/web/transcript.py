"""What the pages show: transcript items and sidebar groups."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from agent.context.summary import Summary
from agent.search.excerpts import make_excerpt
from agent.search.lexical import Query, matches_title, parse_query
from chat.engine.projects import list_sections
from chat.html.answer_details import AnswerDetails
from chat.html.content_blocks import list_blocks
from chat.html.divider import render_divider
from chat.html.message import render_message
from chat.html.sanitiser import as_string
from chat.html.summarised import Summarised, list_summarised, mark_summarised
from chat.models import Compaction, Conversation, Message, Project
from chat.queries.search import Hit
from chat.queries.tree import find_variants
from chat.queries.typed_search import find_typed

PAGE = 30
# Lines that fill a screen of 1080 pixels, and what is loaded beyond its edge
# (`static/js/transcript/paging.js`), which a higher screen asks for at once.
FILLING, LINE_CHARACTERS = 60, 90
# Of one message: at least its frame, and no more than is left where its code is folded.
LINES_AROUND, MOST_LINES = 2, 20
SIDEBAR = 80
HITS, HIT_CHARACTERS = 20, 120

Item = dict[str, Any]
TemplateContext = dict[str, Any]


def load_branch(conversation: Conversation) -> QuerySet[Message]:
    """The messages of the shown branch, in order, each with its turn."""
    rows = Message.objects.filter(conversation=conversation, active=True).select_related("turn")
    return rows.order_by("position")


def load_newest(
    conversation: Conversation, summarised: list[Summarised] | None = None
) -> TemplateContext:
    """The last page of the transcript: `items`, `earlier_url`, `later_url` (None at the ends), and
    `head`, the number of the last message, 0 for none. `summarised`: what the model gets as a
    summary, where the caller has it already.

    It is what opens a conversation, so it has no more messages than fill a screen: laying out and
    painting the others would take as long as all the rest.
    """
    rows, more = take_last(load_branch(conversation))
    shown = _count_filling(rows)
    earlier = more or shown < len(rows)
    page = _page(conversation, rows[-shown:], earlier=earlier, later=False, summarised=summarised)
    return page | {"head": rows[-1].number if rows else 0}


def _count_filling(messages: Sequence[Message]) -> int:
    """How many of the last ones surely fill a screen; or all of them."""
    lines = 0
    for count, message in enumerate(reversed(messages), 1):
        lines += LINES_AROUND + min(MOST_LINES, _count_lines(message))
        if lines >= FILLING:
            return count
    return len(messages)


def _count_lines(message: Message) -> int:
    """Of what is written. Thoughts, calls and their results are folded rows."""
    blocks = (block for block in list_blocks(message) if isinstance(block, dict))
    texts = (as_string(block.get("text")) for block in blocks if block.get("type") == "text")
    lines = (line for text in texts for line in text.splitlines())
    return sum(1 + len(line) // LINE_CHARACTERS for line in lines)


def load_before(conversation: Conversation, position: int) -> TemplateContext:
    """The page before a position."""
    rows, more = take_last(load_branch(conversation).filter(position__lt=position))
    return _page(conversation, rows, earlier=more, later=True)


def load_after(conversation: Conversation, position: int) -> TemplateContext:
    """The page that follows a position; after -1 comes the first."""
    rows, more = take_first(load_branch(conversation).filter(position__gt=position))
    return _page(conversation, rows, earlier=position >= 0, later=more)


def load_around(conversation: Conversation, message: Message) -> TemplateContext:
    """The page with a message of the branch in its middle."""
    rows = load_branch(conversation)
    earlier, more = take_last(rows.filter(position__lt=message.position), PAGE // 2)
    later, rest = take_first(rows.filter(position__gte=message.position), PAGE // 2)
    return _page(conversation, [*earlier, *later], earlier=more, later=rest)


def has_message_at(conversation: Conversation, position: int, number: int) -> bool:
    """Whether the branch has the message with this number at this position."""
    return load_branch(conversation).filter(position=position, number=number).exists()


def take_first(rows: QuerySet[Message], count: int = PAGE) -> tuple[list[Message], bool]:
    """The first of the rows, and whether there are more."""
    found = list(rows[: count + 1])
    return found[:count], len(found) > count


def take_last(rows: QuerySet[Message], count: int = PAGE) -> tuple[list[Message], bool]:
    """The last of the rows, in order, and whether there are more."""
    found, more = take_first(rows.reverse(), count)
    return found[::-1], more


def _page(
    conversation: Conversation,
    messages: list[Message],
    *,
    earlier: bool,
    later: bool,
    summarised: list[Summarised] | None = None,
) -> TemplateContext:
    url = reverse("messages", args=[conversation.pk])
    if summarised is None:
        summarised = _list_summarised(conversation)
    return {
        "items": render_items(conversation, messages, summarised),
        "earlier_url": f"{url}?before={messages[0].position}" if earlier and messages else None,
        "later_url": f"{url}?after={messages[-1].position}" if later and messages else None,
    }


def render_items(
    conversation: Conversation, messages: Sequence[Message], summarised: list[Summarised]
) -> list[Item]:
    """Messages, each with the divider of the compaction that reaches to it."""
    dividers = _dividers(conversation, messages)
    among = find_variants(conversation, messages)
    details = AnswerDetails(messages)
    items: list[Item] = []
    for message in messages:
        html = render_message(message, among.get(message.pk), details)
        marked = mark_summarised(html, message.number, summarised)
        items.append({"kind": "message", "number": message.number, "html": marked})
        if compaction := dividers.get(message.pk):
            items.append(
                {"kind": "divider", "number": message.number, "html": render_divider(compaction)}
            )
    return items


def _list_summarised(conversation: Conversation) -> list[Summarised]:
    """What the model gets as a summary, as `context.usage` tells it."""
    through = conversation.compressed_through
    if through is None:
        return []
    first = load_branch(conversation).filter(position=0, role=Message.Role.USER, left_out=False)
    kept = first.values_list("number", flat=True) if conversation.keep_first_message else []
    summary = Summary.from_text(conversation.compressed_context or "")
    return list_summarised(summary, through.number, next(iter(kept), 0))


def _dividers(conversation: Conversation, messages: Sequence[Message]) -> dict[int, Compaction]:
    """The current version of the summary and those it grew from, by the message they reach to; of
    several that reach to one message the last counts."""
    if conversation.compaction_id is None or not messages:
        return {}
    completed = Compaction.objects.filter(
        conversation=conversation, status=Compaction.Status.COMPLETED
    )
    shown = messages[0].position, messages[-1].position
    rows = list(completed.filter(through__position__range=shown).order_by("pk"))
    if not rows:
        return {}
    previous = dict(completed.values_list("pk", "previous"))
    version: int | None = conversation.compaction_id
    line = set()
    while version is not None:
        line.add(version)
        version = previous.get(version)
    return {row.through_id: row for row in rows if row.pk in line}


@dataclass(frozen=True, slots=True)
class Group:
    """A heading of the list with its conversations; of a project the newest of `count`."""

    label: str
    rows: Sequence[Conversation]
    project: Project | None = None
    count: int = 0


def load_sidebar(
    user: User,
    query: str = "",
    *,
    archived: bool = False,
    count: int = 0,
    projects: Collection[Project] | None = None,
) -> TemplateContext:
    """The list beside the chat: its `groups`, how many conversations to ask for to see `more` (0
    where these are all), and whether it leads on to archived ones. With `projects` only what
    belongs to them."""
    most = max(count, SIDEBAR)
    groups, more = _groups(user, query, archived=archived, count=most, projects=projects)
    has_archived = not (query or archived or projects is not None) and (
        Conversation.objects.of(user).filter(archived=True, temporary=False).exists()
    )
    return {"groups": groups, "more": more, "archived": archived, "has_archived": has_archived}


def _groups(
    user: User,
    query: str,
    *,
    archived: bool,
    count: int,
    projects: Collection[Project] | None,
) -> tuple[list[Group], int]:
    """The newest `count` conversations by age, pinned ones and projects first, or the archived
    ones, and how many to ask for to see more. Empty groups are left out, and so are temporary
    conversations. What a search finds is listed by age alone."""
    rows = Conversation.objects.of(user).filter(archived=archived, temporary=False)
    searched = bool(query) or projects is not None
    if projects is not None:
        rows = rows.filter(project__in=projects)
    if not (searched or archived):
        rows = rows.filter(Q(project=None) | Q(pinned=True, project__archived=False))
    if query:
        titles = rows.order_by("-updated_at").values_list("pk", "title")
        rows = rows.filter(
            pk__in=[pk for pk, title in titles if matches_title(title, query)][: count + 1]
        )
    found = rows.only("title", "pinned", "held", "temporary", "updated_at", "imported_at")
    listed = list(found.order_by("-pinned", "-updated_at")[: count + 1])
    more = count + SIDEBAR if len(listed) > count else 0
    del listed[count:]
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    bounds = [
        (gettext("Today"), today),
        (gettext("Yesterday"), today - timedelta(days=1)),
        (gettext("Previous 7 days"), today - timedelta(days=7)),
    ]
    if archived:
        return [Group(gettext("Archived"), listed)], more
    pinned, older = gettext("Pinned"), gettext("Older")
    groups: dict[str, list[Conversation]] = {pinned: []}
    groups |= {label: [] for label, _ in bounds} | {older: []}
    for row in listed:
        age = next((label for label, start in bounds if row.updated_at >= start), older)
        groups[pinned if row.pinned else age].append(row)
    by_age = [Group(label, group) for label, group in groups.items() if group]
    at = 1 if groups[pinned] else 0
    return [*by_age[:at], *([] if searched else _list_projects(user)), *by_age[at:]], more


def _list_projects(user: User) -> list[Group]:
    found = list_sections(user)
    return [Group(each.project.name, each.rows, each.project, each.count) for each in found]


def find_text_hits(
    user: User, query: str, projects: Collection[Project] | None = None
) -> tuple[list[Item], bool]:
    """The messages that hold what is typed, in all of a user's conversations or in those of these
    projects: where they stand and the words around the hits; and whether there are more."""
    within = None if projects is None else [project.pk for project in projects]
    found = find_typed(user.pk, query, project_ids=within, limit=HITS + 1)
    return _show_hits(found[:HITS], query), len(found) > HITS


def find_hits_in(user: User, query: str, conversation_id: UUID) -> list[Item]:
    """The messages of one conversation that hold what is typed, in the conversation's order; then
    those with some of the words."""
    found = find_typed(user.pk, query, conversation_id=conversation_id, limit=HITS)
    return _show_hits(sorted(found, key=lambda hit: (not hit.whole, hit.number)), query)


def _show_hits(hits: Sequence[Hit], query: str) -> list[Item]:
    parsed = parse_query(query, typing=True)
    return [_show_hit(hit, parsed) for hit in hits]


def _show_hit(hit: Hit, query: Query) -> Item:
    return {
        "url": f"{reverse('conversation', args=[hit.conversation_id])}#message-{hit.number}",
        "title": hit.title or gettext("New conversation"),
        "number": hit.number,
        "created_at": hit.created_at,
        "active": hit.active,
        "whole": hit.whole,
        "excerpt": make_excerpt(" ".join(hit.text.split()), query, HIT_CHARACTERS),
    }
