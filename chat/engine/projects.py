"""What conversations get of their project, how much of its room files take, and the lists that show
projects. Writes nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Max, Q, QuerySet, Sum, Window
from django.db.models.functions import Coalesce, RowNumber

from accounts.models import User
from agent.messages import AgentMessage, Block, RawTokens, RealTokens
from agent.search.lexical import matches_title
from agent.tokens import Factor
from chat.engine.model_profiles import find_default_name, load_profile
from chat.engine.model_server import get_counter
from chat.models import Attachment, Conversation, ModelProfile, Project

FILES_SHARE = 0.25  # of a budget: files are sent whole, in every request, and never summarised
LISTED = 5  # conversations of a project in the list beside the chat

INSTRUCTIONS = """\
# The project “{name}”

This conversation belongs to a project of the user's. What they set for all its conversations:

{instructions}"""
FILES = "Files of the project, which the user keeps with all its conversations:"
LEFT_OUT = "Left out here, because they do not fit:"


# --- In requests ----------------------------------------------------------------------------------


def make_parts(
    project: Project | None,
    files: Iterable[tuple[Attachment, Block]],
    conversation: Conversation,
    profile: ModelProfile,
) -> dict[str, Any]:
    """`Conversation.project_parts`: the `instructions` as a part of the system prompt, the `files`
    (each with its reference) that fit the model, after a list of them all, the `budget`, and the
    `cut_factor` that says which of them fit: they begin every request, and stay."""
    if project is None:
        return {}
    instructions = project.instructions.strip()
    if instructions:
        instructions = INSTRUCTIONS.format(name=project.name, instructions=instructions)
    budget = conversation.context_budget or project.context_budget or settings.CONTEXT_BUDGET
    room = FILES_SHARE * min(profile.context_window, budget)
    before = conversation.project_parts.get("cut_factor", 0.0)
    factor = Factor(profile.token_factor, profile.token_samples).steady(before)
    sent: list[Block] = []
    names: list[str] = []
    omitted: list[str] = []
    for file, reference in files:
        size = factor.apply(RawTokens(file.tokens))
        if size <= room:
            room -= size
            sent.append(reference)
            names.append(file.name)
        else:
            omitted.append(file.name)
    return {
        "instructions": instructions,
        "files": [_list_names(names, omitted), *sent] if names or omitted else [],
        "budget": project.context_budget,
        "cut_factor": factor.value if files else 0.0,
    }


def _list_names(names: Sequence[str], omitted: Sequence[str]) -> Block:
    """The names, which images are sent without."""
    lines = [FILES, *(f"{number}. {name}" for number, name in enumerate(names, 1))] if names else []
    if omitted:
        lines += [LEFT_OUT, *(f"- {name}" for name in omitted)]
    return {"type": "text", "text": "\n".join(lines)}


def make_files_message(conversation: Conversation) -> AgentMessage | None:
    """The files of a conversation's project as requests begin with them; None where it has none."""
    blocks = conversation.project_parts.get("files")
    if not blocks:
        return None
    return AgentMessage(0, "user", blocks, get_counter().count_blocks(blocks))


# --- Room for files -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileRoom:
    """Tokens that a project's files take, as its model counts them, and may take."""

    used: RealTokens
    most: RealTokens
    factor: Factor

    def fits(self, tokens: int) -> bool:
        """Whether a file of so many raw tokens fits too."""
        return self.used + self.factor.apply(RawTokens(tokens)) <= self.most


def find_room(project: Project) -> FileRoom:
    """The room for files in a conversation with the project's model and budget."""
    profile = load_profile(project.model or find_default_name(project.owner_id))
    factor = Factor(profile.token_factor, profile.token_samples).steady()
    budget = min(profile.context_window, project.context_budget or settings.CONTEXT_BUDGET)
    raw = project.files.aggregate(raw=Coalesce(Sum("tokens"), 0))["raw"]
    return FileRoom(factor.apply(RawTokens(raw)), RealTokens(int(FILES_SHARE * budget)), factor)


# --- Lists ----------------------------------------------------------------------------------------


def list_projects(user: User, *, archived: bool = False) -> list[Any]:
    """A user's projects, the last used first, each with `count`: how many conversations are
    listed."""
    listed = Q(conversations__deleted_at=None, conversations__temporary=False)
    rows = (
        Project.objects.of(user)
        .filter(archived=archived)
        .annotate(
            count=Count("conversations", filter=listed & Q(conversations__archived=False)),
            used_at=Coalesce(Max("conversations__updated_at", filter=listed), F("created_at")),
        )
    )
    return list(rows.order_by("-used_at", "pk"))


@dataclass(frozen=True, slots=True)
class ProjectSection:
    """A project with the newest of its `count` conversations that are listed, without pinned
    ones."""

    project: Project
    rows: Sequence[Conversation]
    count: int


def list_sections(user: User) -> list[ProjectSection]:
    """A user's projects for the list beside the chat, the last used first: two queries, one where
    there is none."""
    projects = list(Project.objects.of(user).filter(archived=False))
    if not projects:
        return []
    order = ["pinned", "-updated_at"]  # the pinned ones stand elsewhere
    place = Window(RowNumber(), partition_by=F("project"), order_by=order)
    rows = (
        Conversation.objects.of(user)
        .filter(project__in=projects, archived=False, temporary=False)
        .annotate(place=place, total=Window(Count("pk"), partition_by=F("project")))
        .filter(place__lte=LISTED)
        .only("title", "pinned", "held", "temporary", "project", "updated_at")
        .order_by("place")
    )
    newest: dict[UUID | None, list[Any]] = {project.pk: [] for project in projects}
    for row in rows:
        newest[row.project_id].append(row)
    used = {pk: found[0].updated_at for pk, found in newest.items() if found}
    projects.sort(key=lambda project: used.get(project.pk, project.created_at), reverse=True)
    return [_make_section(project, newest[project.pk]) for project in projects]


def _make_section(project: Project, newest: Sequence[Any]) -> ProjectSection:
    shown = [row for row in newest if not row.pinned]
    return ProjectSection(project, shown, newest[0].total if newest else 0)


def find_projects(user: User, query: str) -> list[Project]:
    """Those whose name fits what is typed in a search box, archived ones too."""
    return [row for row in Project.objects.of(user) if matches_title(row.name, query)][:LISTED]


def find_named(user: User, name: str) -> list[Project]:
    """The projects with this name; where there is none, those whose name fits it so far."""
    rows = list(Project.objects.of(user))
    exact = [row for row in rows if row.name.casefold() == name.strip().casefold()]
    return exact or [row for row in rows if matches_title(row.name, name)]


def list_conversations(project: Project) -> QuerySet[Conversation]:
    """All of a project, archived ones last."""
    rows = Conversation.objects.of(project.owner_id).filter(project=project, temporary=False)
    return rows.only("title", "archived", "updated_at").order_by("archived", "-updated_at")
