"""What an export of Everlong holds beside conversations: projects, what is remembered, and what its
person had chosen for all of their pages."""

from collections.abc import Iterable

from django.conf import settings
from django.db import transaction

from accounts.models import User
from accounts.preferences import change_preferences
from chat.engine.model_profiles import is_offered
from chat.errors import Refused
from chat.importers.everlong import OwnAccount, OwnFacts, OwnMemory, OwnProject
from chat.importers.everlong_records import FactRecord, ProjectRecord, ProposalRecord
from chat.models import Conversation, Memory, MemoryProposal, Origin, Project
from chat.services.library import attachments, memories, projects
from chat.services.library.restoring import find_project, make_place
from chat.services.library.restoring_files import inspect_file, read_file

APPEARANCES = ("light", "dark")


def restore_project(owner: User, own: OwnProject) -> list[str]:
    """Store a project, unless it is here, with its files; those that could not be kept, each with
    the reason. Refused where it is not as it has to be, or there are too many."""
    record = own.load()
    if find_project(owner, record.id):
        return []
    with transaction.atomic():
        project = projects.create_project(owner, record.name)
        Origin.objects.create(**make_place(owner, project=record.id), project=project)
        projects.change_project(project, {"instructions": record.instructions})
        _set_up(project, record)
    lost = []
    for file in record.files:
        name = attachments.clean_name(file.name)
        try:
            data = read_file(own, file)
            projects.add_file(project, name, data, inspect_file(owner, name, data))
        except Refused as refusal:
            lost.append(refusal.message)
    return lost


def _set_up(project: Project, record: ProjectRecord) -> None:
    model = record.model if is_offered(project.owner_id, record.model) else ""
    projects.change_project(project, {"model": model, "context_budget": record.context_budget})
    Project.objects.filter(pk=project.pk).update(
        archived=record.archived, created_at=record.created_at
    )


def restore_facts(owner: User, own: OwnFacts) -> int:
    """Remember what a project that has been restored remembered; how many facts are new. Refused
    where there are too many."""
    record = own.load()
    return _remember(owner, record.facts, find_project(owner, record.id))


def restore_memory(owner: User, own: OwnMemory) -> int:
    """Remember what a person had remembered, and ask again what waited for their decision; how many
    facts are new. Refused where there are too many."""
    record = own.load()
    count = _remember(owner, record.facts, None)
    for proposal in record.proposals:
        _propose(owner, proposal)
    return count


def _remember(owner: User, facts: Iterable[FactRecord], project: Project | None) -> int:
    count = 0
    for fact in facts:
        place = _find_conversation(owner, fact.conversation)
        remembered, new = memories.remember_fact(
            owner.pk,
            fact.text,
            fact.source,
            project_id=project.pk if project else None,
            conversation_id=place.pk if place else None,
            message_number=fact.message_number,
        )
        if new:
            count += 1
            changed = fact.updated_at or fact.created_at
            times = {"created_at": fact.created_at, "updated_at": changed}
            Memory.objects.filter(pk=remembered.pk).update(**times)
    return count


def _propose(owner: User, record: ProposalRecord) -> None:
    """A proposal names the conversation that led to it: without that there is none."""
    place = _find_conversation(owner, record.conversation)
    if place is None:
        return
    proposal: MemoryProposal | None = None
    if record.kind == MemoryProposal.Kind.REMEMBER:
        proposal = memories.propose_fact(owner.pk, record.text, place.pk, record.message_number)
    elif fact := memories.list_told(owner.pk, place.project_id).filter(text=record.text).first():
        proposal = memories.propose_to_forget(fact, place.pk, record.message_number)
    if proposal:
        MemoryProposal.objects.filter(pk=proposal.pk).update(created_at=record.created_at)


def _find_conversation(owner: User, origin: str | None) -> Conversation | None:
    """The conversation here that came with the same export."""
    known = Origin.objects.filter(**make_place(owner, origin or "-"))
    found = known.select_related("conversation").first()
    return found.conversation if found else None


def restore_preferences(owner: User, own: OwnAccount) -> None:
    """Choose what was chosen there, where nothing is chosen here and there is such a thing."""
    record = own.load()
    possible = {
        "language": record.language in dict(settings.LANGUAGES),
        "appearance": record.appearance in APPEARANCES,
        "default_model": is_offered(owner.pk, record.default_model),
    }
    chosen = {
        name: getattr(record, name)
        for name, is_possible in possible.items()
        if is_possible and not getattr(owner, name)
    }
    if chosen:
        change_preferences(owner, chosen)
