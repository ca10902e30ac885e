"""What people have that can be handed to somebody else."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.models import User
from chat.models import Attachment, Conversation, Memory, Message, Project, Share


@dataclass(frozen=True, slots=True)
class Holdings:
    """Projects with their conversations, and single conversations beside; `owners`: whose."""

    projects: list[Project]
    single: list[UUID]
    owners: list[User]

    @property
    def conversations(self) -> QuerySet[Conversation]:
        """All of them."""
        return _listed().filter(Q(project__in=self.projects) | Q(pk__in=self.single))

    def count(self) -> dict[str, int]:
        """How many rows of each kind go along."""
        conversations = self.conversations
        files = Q(project__in=self.projects) | Q(messages__conversation__in=conversations)
        return {
            "projects": len(self.projects),
            "conversations": conversations.count(),
            "messages": Message.objects.filter(conversation__in=conversations).count(),
            "files": Attachment.objects.filter(files).distinct().count(),
            "facts of projects": Memory.objects.filter(project__in=self.projects).count(),
            "links that end": Share.objects.filter(
                conversation__in=conversations, revoked_at=None
            ).count(),
        }


def find_holdings(
    *,
    owners: Collection[User] = (),
    projects: Collection[UUID] = (),
    conversations: Collection[UUID] = (),
) -> Holdings:
    """All that `owners` have, with those projects and conversations."""
    wanted = Project.objects.filter(Q(owner__in=owners) | Q(pk__in=projects))
    found = list(wanted.select_related("owner").order_by("pk"))
    single = _listed().filter(Q(owner__in=owners) | Q(pk__in=conversations))
    rows = list(single.exclude(project__in=found).select_related("owner").only("owner"))
    people = {project.owner for project in found} | {row.owner for row in rows}
    return Holdings(found, [row.pk for row in rows], sorted(people, key=lambda each: each.pk))


def _listed() -> QuerySet[Conversation]:
    return Conversation.objects.filter(deleted_at=None, temporary=False)
