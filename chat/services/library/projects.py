"""Projects: create, change, fill with files and conversations, delete."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Sum
from django.utils.translation import gettext, ngettext

from accounts.models import User
from agent.messages import sanitise_text
from chat.db.rows import save_row
from chat.engine.model_profiles import load_profile
from chat.engine.projects import find_room, make_parts
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import (
    Attachment,
    Conversation,
    Memory,
    MemoryProposal,
    ModelProfile,
    Project,
    Turn,
)
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later, user_group
from chat.protocol.events import ProjectsChanged
from chat.services.library import attachments, file_types

MAX_NAME = 100
MAX_INSTRUCTIONS = 20_000  # characters
MAX_PROJECTS = 100  # of one user
MAX_FILES = 20  # of one project
MAX_FILE_BYTES = 10_000_000  # of one project: a request takes 32 MB, files in messages included
_IN_REQUEST = {"name", "instructions", "context_budget"}


def load_project(user: User, project_id: UUID) -> Project:
    """The user's own project; Project.DoesNotExist for anybody else's."""
    return Project.objects.of(user).get(pk=project_id)


def load_project_for_new(user: User, project_id: str) -> Project:
    """The user's project for a new conversation; Refused where it is gone."""
    try:
        return load_project(user, UUID(project_id))
    except (Project.DoesNotExist, ValueError) as error:
        raise Refused(
            RefusalCode.PROJECT_GONE,
            gettext("This project was deleted. Your text is kept: begin a new chat without it."),
        ) from error


def create_project(user: User, name: str) -> Project:
    """An empty project. Names need not differ. Refused where there are too many."""
    values = _checked({"name": name})
    if Project.objects.of(user).count() >= MAX_PROJECTS:
        raise Refused(
            RefusalCode.TOO_MANY_PROJECTS,
            ngettext(
                "There is {count} project already. Delete it first.",
                "There are {count} projects already. Delete some first.",
                MAX_PROJECTS,
            ).format(count=MAX_PROJECTS),
        )
    with transaction.atomic():
        project = Project.objects.create(owner=user, **values)
        _tell_changed(user.pk)
    return project


def change_project(project: Project, values: Mapping[str, Any]) -> None:
    """Set its name, instructions, model or budget. What is sent of them reaches each conversation
    with its next turn. Refused where a text is empty or too long."""
    checked = _checked(values)
    changed = {name: value for name, value in checked.items() if getattr(project, name) != value}
    if not changed:
        return
    with transaction.atomic():
        for name, value in changed.items():
            setattr(project, name, value)
        project.save(update_fields=[*changed, "changed_at"])
        if _IN_REQUEST & changed.keys():
            refresh_idle(project)
        if "name" in changed:
            _tell_changed(project.owner_id)


def set_project_archived(project: Project, *, archived: bool) -> None:
    """Put a project with its conversations away from the sidebar, or back."""
    with transaction.atomic():
        project.archived = archived
        project.save(update_fields=["archived", "changed_at"])
        _tell_changed(project.owner_id)


def delete_project(project: Project, *, keep_memories: bool) -> None:
    """Delete a project with its files, and its facts unless they are kept for all conversations.
    Its conversations stay, in no project."""
    with transaction.atomic():
        owner, rows = project.owner_id, list(project.files.all())
        members = _lock(project)
        if keep_memories:
            _release_memories(project)
        project.delete()
        attachments.delete_files(rows)
        _give_parts(members, None)
        _tell_changed(owner)


def _release_memories(project: Project) -> None:
    """Make its facts general ones; those that are known as such already are deleted with it."""
    general = Memory.objects.filter(owner=project.owner_id, project=None).values("key")
    project.memories.exclude(key__in=general).update(project=None)
    MemoryProposal.objects.filter(project=project).delete()


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    checked = dict(values)
    if "name" in checked:
        name = checked["name"] = " ".join(sanitise_text(checked["name"]).split())
        if not name:
            raise Refused(RefusalCode.EMPTY_NAME, gettext("Write a name."))
        if len(name) > MAX_NAME:
            raise Refused(
                RefusalCode.NAME_TOO_LONG,
                gettext("A name has at most {most} characters; this one has {count}.").format(
                    most=MAX_NAME, count=len(name)
                ),
            )
    if "instructions" in checked:
        text = checked["instructions"] = sanitise_text(checked["instructions"]).strip()
        if len(text) > MAX_INSTRUCTIONS:
            raise Refused(
                RefusalCode.INSTRUCTIONS_TOO_LONG,
                gettext(
                    "Instructions have at most {most:,} characters; these have {count:,}. "
                    "Shorten them, or put the rest into a file of the project."
                ).format(most=MAX_INSTRUCTIONS, count=len(text)),
            )
    return checked


# --- Conversations --------------------------------------------------------------------------------


def move_conversations(
    user: User, ids: Collection[UUID], project: Project | None
) -> dict[UUID | None, list[UUID]]:
    """Put those of the conversations that are the user's into a project, or into none; where they
    were, by project. One that answers gets what the project sends with its next turn."""
    was: dict[UUID | None, list[UUID]] = {}
    with transaction.atomic():
        mine = Conversation.objects.of(user).filter(pk__in=ids)
        rows = list(mine.order_by("pk").select_for_update())
        Conversation.objects.filter(pk__in=[row.pk for row in rows]).update(project=project)
        for row in rows:
            was.setdefault(row.project_id, []).append(row.pk)
            row.project = project
            emit(user_group(user.pk), from_rows.conversation_updated(row))
        for row in _give_parts(rows, project):
            group, pk = conversation_group(row.pk), row.pk
            emit_later(group, lambda pk=pk: from_rows.context_usage(load_state(pk)))  # type: ignore[misc]
    return was


def refresh_idle(project: Project) -> None:
    """Give what the project has now to its conversations. Those that answer at the moment get it
    when their next turn begins: within one, a request begins as before."""
    with transaction.atomic():
        _give_parts(_lock(project), project)


def _lock(project: Project) -> list[Conversation]:
    rows = Conversation.objects.filter(project=project).order_by("pk").select_for_update()
    return list(rows.only("model", "context_budget", "project_parts"))


def _give_parts(rows: Collection[Conversation], project: Project | None) -> list[Conversation]:
    """Store a project's parts with those of the locked conversations that have no active turn.
    Returns these. What was cached and reported was of another request."""
    active = Turn.objects.filter(conversation__in=rows, status__in=Turn.ACTIVE)
    busy = set(active.values_list("conversation", flat=True))
    idle = [row for row in rows if row.pk not in busy]
    references = load_references(project)
    alike: dict[tuple[str, int | None], list[Conversation]] = {}
    for row in idle:
        alike.setdefault((row.model, row.context_budget), []).append(row)
    for (model, _), group in alike.items():
        parts = make_parts(project, references, group[0], load_profile(model))
        Conversation.objects.filter(pk__in=[row.pk for row in group]).update(
            project_parts=parts, meter_valid_from=F("next_number")
        )
    return idle


def refresh_parts(conversation: Conversation, profile: ModelProfile) -> None:
    """At the beginning of a turn: store what its project has now with the conversation. Within a
    turn it stays, so that the prompt cache holds and thinking stays valid."""
    if conversation.project_id is None and not conversation.project_parts:
        return
    project = conversation.project
    parts = make_parts(project, load_references(project), conversation, profile)
    before = conversation.project_parts
    if parts == before:
        return
    conversation.project_parts = parts
    if any(parts.get(name) != before.get(name) for name in ("instructions", "files")):
        conversation.meter_valid_from = conversation.next_number
    save_row(conversation, "project_parts", "meter_valid_from")


# --- Files ----------------------------------------------------------------------------------------


def load_references(project: Project | None) -> list[tuple[Attachment, Any]]:
    """A project's files in the order in which they came, with their references."""
    rows = project.files.order_by("created_at", "pk") if project else ()
    return [(row, attachments.make_reference(row)) for row in rows]


def add_file(
    project: Project, name: str, data: bytes, found: file_types.CheckedFile | None = None
) -> Attachment:
    """Keep a file with a project, as it was `found` to be, if somebody has looked already. Refused
    where it cannot be sent, or does not fit."""
    name = attachments.clean_name(name)
    found = found or file_types.inspect_file(name, data, owner_id=project.owner_id)
    total = project.files.aggregate(size=Sum("size"))["size"] or 0
    if project.files.count() >= MAX_FILES:
        raise Refused(
            RefusalCode.TOO_MANY_FILES,
            ngettext(
                "{name} was not added: a project has at most {count} file. Remove it first.",
                "{name} was not added: a project has at most {count} files. Remove one first.",
                MAX_FILES,
            ).format(name=name, count=MAX_FILES),
        )
    room = find_room(project)
    if not room.fits(found.tokens):
        raise Refused(
            RefusalCode.PROJECT_FULL,
            gettext(
                "{name} does not fit: the files of a project may take {most:,} tokens, a quarter "
                "of its budget, and {left:,} are left. Choose a larger budget, remove a file, or "
                "attach this one to a message."
            ).format(name=name, most=room.most, left=max(0, room.most - room.used)),
        )
    if total + len(found.data) > MAX_FILE_BYTES:
        raise Refused(
            RefusalCode.PROJECT_FULL,
            gettext(
                "{name} does not fit: the files of a project may have {most:.0f} MB together. "
                "Remove a file, or attach this one to a message."
            ).format(name=name, most=MAX_FILE_BYTES / 1e6),
        )
    with transaction.atomic():
        row = attachments.store_checked(project.owner, name, data, found, project)
        refresh_idle(project)
    return row


def remove_file(project: Project, file_id: UUID) -> None:
    """Delete a file of a project; one that is gone already is no error."""
    with transaction.atomic():
        rows = list(project.files.filter(pk=file_id))
        project.files.filter(pk=file_id).delete()
        attachments.delete_files(rows)
        refresh_idle(project)


def _tell_changed(owner_id: int) -> None:
    """The lists in the tabs of its owner are old."""
    emit(user_group(owner_id), ProjectsChanged())
