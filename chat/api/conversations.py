"""The API: conversations, and their branches."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.translation import gettext
from ninja import Query, Router, Status

from accounts.models import User
from accounts.tokens import CONVERSATIONS_WRITE
from agent.messages import sanitise_text
from chat.api.auth import get_user, make_sender, reads, writes, writes_async
from chat.api.errors import ApiError, not_found
from chat.api.rows import as_conversation
from chat.api.schemas import (
    ERRORS,
    BranchesOut,
    BranchOut,
    ConversationChange,
    ConversationIn,
    ConversationOut,
    ConversationsOut,
    ErrorOut,
    Limit,
    Number,
)
from chat.db.threads import in_db
from chat.engine.model_profiles import is_offered
from chat.errors import RefusalCode, Refused
from chat.live.runner import runner
from chat.live.stopping import stop_turns
from chat.models import Conversation, Message
from chat.services.library import conversations, projects
from chat.services.summary import summaries
from chat.services.turns import branches
from chat.web.access import NOT_OFFERED
from chat.web.budgets import budget_choices

router = Router(tags=["conversations"])
OPENING = 200  # characters of a branch's last message
IN_SETTINGS = ("system_prompt", "compaction_enabled", "keep_first_message", "context_budget")


def find_conversation(request: HttpRequest, pk: UUID) -> Conversation:
    """The person's own. Raises DoesNotExist, which is answered with 404, for anybody else's."""
    return conversations.load_conversation(get_user(request), pk)


def find_message(request: HttpRequest, pk: UUID, number: int) -> Message:
    """A message of the person's own conversation. Raises DoesNotExist."""
    mine = Message.objects.filter(conversation__in=Conversation.objects.of(get_user(request)))
    return mine.get(conversation=pk, number=number)


@router.get("", auth=reads, response={200: ConversationsOut, ERRORS: ErrorOut})
def list_conversations(
    request: HttpRequest,
    cursor: Annotated[str, Query(max_length=200)] = "",
    limit: Limit = 50,
    archived: bool = False,
    pinned: bool | None = None,
    project: UUID | None = None,
    title: Annotated[str, Query(max_length=200, description="What titles have to contain.")] = "",
) -> ConversationsOut:
    """Your conversations, those with the newest messages first."""
    rows = Conversation.objects.of(get_user(request)).filter(temporary=False, archived=archived)
    if pinned is not None:
        rows = rows.filter(pinned=pinned)
    if project:
        rows = rows.filter(project=project)
    if title:
        rows = rows.filter(title__icontains=sanitise_text(title))
    if cursor:
        rows = _after(rows, cursor)
    found = list(rows.order_by("-updated_at", "-pk")[: limit + 1])
    more = len(found) > limit
    return ConversationsOut(
        items=[as_conversation(row) for row in found[:limit]],
        next=_make_cursor(found[limit - 1]) if more else None,
    )


def _make_cursor(row: Conversation) -> str:
    place = json.dumps([row.updated_at.isoformat(), str(row.pk)])
    return urlsafe_b64encode(place.encode()).decode()


def _after(rows: QuerySet[Conversation], cursor: str) -> QuerySet[Conversation]:
    try:
        moment, key = json.loads(urlsafe_b64decode(cursor))
        updated_at, pk = datetime.fromisoformat(moment), UUID(key)
        if updated_at.tzinfo is None:
            raise ValueError("without a zone")
    except (ValueError, TypeError, AttributeError) as error:
        words = gettext("This cursor is none. Pass on `next` of the page before.")
        raise ApiError(422, "bad_cursor", words) from error
    return rows.filter(Q(updated_at__lt=updated_at) | Q(updated_at=updated_at, pk__lt=pk))


@router.post("", auth=writes, response={201: ConversationOut, ERRORS: ErrorOut})
def create_conversation(request: HttpRequest, body: ConversationIn) -> Status[ConversationOut]:
    """An empty conversation."""
    user = get_user(request)
    if body.model:
        _refuse_if_not_offered(user, body.model)
    place = projects.load_project_for_new(user, str(body.project)) if body.project else None
    row = conversations.create_conversation(
        user, body.model, temporary=body.temporary, project=place
    )
    if body.title.strip():
        conversations.rename_conversation(row, body.title)
    if body.system_prompt:
        conversations.change_settings(row, {"system_prompt": sanitise_text(body.system_prompt)})
        row.refresh_from_db()
    return Status(201, as_conversation(row))


@router.get("/{uuid:conversation}", auth=reads, response={200: ConversationOut, ERRORS: ErrorOut})
def get_conversation(request: HttpRequest, conversation: UUID) -> ConversationOut:
    """One conversation."""
    return as_conversation(find_conversation(request, conversation))


@router.patch(
    "/{uuid:conversation}", auth=writes_async, response={200: ConversationOut, ERRORS: ErrorOut}
)
async def change_conversation(
    request: HttpRequest, conversation: UUID, body: ConversationChange
) -> ConversationOut:
    """Change what is sent. `project: null` takes it out of its project. Another model that the
    conversation does not fit compacts it first: a turn begins then."""
    values = body.model_dump(exclude_unset=True)
    row = await in_db(_change, request, conversation, values)
    if model := values.get("model"):
        sender = make_sender(request, CONVERSATIONS_WRITE)
        await runner.begin(sender, summaries.switch_model, row, model, holder=runner.holder)
    return as_conversation(await in_db(find_conversation, request, conversation))


def _change(request: HttpRequest, pk: UUID, values: dict[str, Any]) -> Conversation:
    """All but the model, which is only checked."""
    user, row = get_user(request), find_conversation(request, pk)
    if model := values.get("model"):
        _refuse_if_not_offered(user, model)
    changed = {name: values[name] for name in IN_SETTINGS if name in values}
    if "context_budget" in changed:
        _check_budget(row, changed["context_budget"])
    for name in ("system_prompt", "compaction_enabled", "keep_first_message"):
        if changed.get(name, "") is None:
            del changed[name]
    if "system_prompt" in changed:
        changed["system_prompt"] = sanitise_text(changed["system_prompt"])
    if changed:
        conversations.change_settings(row, changed)
    if values.get("title") is not None:
        conversations.rename_conversation(row, values["title"])
    if values.get("pinned") is not None:
        conversations.set_conversations_pinned(user, [pk], pinned=values["pinned"])
    if values.get("archived") is not None:
        conversations.set_conversations_archived(user, [pk], archived=values["archived"])
    if "project" in values:
        place = values["project"]
        project = projects.load_project_for_new(user, str(place)) if place else None
        projects.move_conversations(user, [pk], project)
    return row


def _refuse_if_not_offered(user: User, model: str) -> None:
    if not is_offered(user.pk, model):
        raise Refused(RefusalCode.MODEL_OFF, str(NOT_OFFERED))


def _check_budget(row: Conversation, budget: int | None) -> None:
    offered = [key for key, _ in budget_choices(row)]
    if str(budget or "") not in offered:
        words = gettext("context_budget is null or one of {budgets}.")
        numbers = ", ".join(filter(None, offered))
        raise ApiError(422, "invalid", words.format(budgets=numbers))


@router.delete("/{uuid:conversation}", auth=writes_async, response={204: None, ERRORS: ErrorOut})
async def delete_conversation(request: HttpRequest, conversation: UUID) -> Status[None]:
    """Delete it; for half a minute it can be restored. An answer that is being written stops."""
    user = get_user(request)
    deleted = await in_db(conversations.discard_conversations, user, [conversation])
    if not deleted:
        raise not_found()
    await stop_turns(deleted)
    return Status(204, None)


@router.post(
    "/{uuid:conversation}/restore", auth=writes, response={200: ConversationOut, ERRORS: ErrorOut}
)
def restore_conversation(request: HttpRequest, conversation: UUID) -> ConversationOut:
    """Undo the deletion of a moment ago."""
    if not conversations.restore_conversations(get_user(request), [conversation]):
        raise not_found()
    return get_conversation(request, conversation)


# --- Branches -------------------------------------------------------------------------------------


@router.get(
    "/{uuid:conversation}/branches", auth=reads, response={200: BranchesOut, ERRORS: ErrorOut}
)
def list_branches(
    request: HttpRequest, conversation: UUID, before: Number | None = None, limit: Limit = 50
) -> BranchesOut:
    """The branches, those that were written on last first."""
    row = find_conversation(request, conversation)
    children = Message.objects.filter(parent=OuterRef("pk"))
    tips = row.messages.filter(~Exists(children)).order_by("-number")
    if before is not None:
        tips = tips.filter(number__lt=before)
    found = list(tips.annotate(opening=Left("text", OPENING)).defer("text", "blocks")[: limit + 1])
    return BranchesOut(
        items=[
            BranchOut(
                tip=tip.number,
                messages=tip.position + 1,
                active=tip.active,
                text=tip.opening,
                created_at=tip.created_at,
            )
            for tip in found[:limit]
        ],
        next=found[limit - 1].number if len(found) > limit else None,
    )


@router.post(
    "/{uuid:conversation}/messages/{int:number}/switch",
    auth=writes,
    response={204: None, ERRORS: ErrorOut},
)
def switch_branch(request: HttpRequest, conversation: UUID, number: Number) -> Status[None]:
    """Show the branch through a message, and send it from now on."""
    row = find_message(request, conversation, number)
    branches.switch_branch(get_user(request), conversation, row.pk)
    return Status(204, None)
