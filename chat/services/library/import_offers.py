"""What an export holds of its user, such as custom instructions: kept for their decision."""

import re
from collections.abc import Iterator

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import User
from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.importers.records import Offered
from chat.models import ImportJob, ImportOffer, Memory, Project
from chat.services.library import memories, projects

Kind = ImportOffer.Kind

MOST_OFFERS = memories.MAX_MEMORIES  # of one import
_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)]|#+)\s+")  # of a list or a heading
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


def add_offer(job: ImportJob, offered: Offered, project: Project | None) -> int:
    """Keep what was found for its owner's decision; how many offers it makes: a memory is one for
    each of its lines. What was offered before is not offered again."""
    kind = Kind(offered.kind)
    text = sanitise_text(offered.text).strip()
    texts = list(_split(text)) if kind == Kind.MEMORY else [text][: bool(text)]
    room = MOST_OFFERS - job.offers.count()
    known = set(
        ImportOffer.objects.filter(job__owner=job.owner_id, kind=kind, project=project).values_list(
            "text", flat=True
        )
    )
    new = [each for each in dict.fromkeys(texts) if each not in known][:room]
    ImportOffer.objects.bulk_create(
        ImportOffer(job=job, kind=kind, text=each, project=project) for each in new
    )
    return len(new)


def _split(text: str) -> Iterator[str]:
    """Facts of a memory: its lines, and of long ones their sentences."""
    for line in text.splitlines():
        line = _MARK.sub("", line).strip()
        if len(line) <= memories.MAX_CHARACTERS:
            yield from [line] if line else []
            continue
        for sentence in _SENTENCE.split(line):
            for start in range(0, len(sentence), memories.MAX_CHARACTERS):
                yield sentence[start : start + memories.MAX_CHARACTERS].strip()


def list_open(owner: User) -> QuerySet[ImportOffer]:
    """What waits for a person's decision, in the order in which it was found."""
    rows = ImportOffer.objects.filter(job__owner=owner, accepted=None)
    return rows.select_related("project").order_by("pk")


def decide(offer: ImportOffer, choice: str) -> None:
    """Do what the owner of an offer has chosen: `fact` keeps it as remembered facts, `project` as
    the instructions of its project, or of a new one, and `no` is all else. Refused where it does
    not fit there: then it stays open. One that is decided is left as it is."""
    with transaction.atomic():
        mine = ImportOffer.objects.filter(pk=offer.pk, accepted=None)
        if not mine.update(accepted=choice in ("fact", "project")):
            return
        if choice == "fact":
            _remember(offer)
        elif choice == "project":
            _instruct(offer)


def _remember(offer: ImportOffer) -> None:
    owner_id = ImportJob.objects.values_list("owner", flat=True).get(pk=offer.job_id)
    for text in _split(offer.text):
        memories.remember_fact(owner_id, text, Memory.Source.USER, project_id=offer.project_id)


def _instruct(offer: ImportOffer) -> None:
    project = offer.project
    if project is None:
        owner = User.objects.get(imports=offer.job_id)
        project = projects.create_project(owner, gettext("Imported instructions"))
    elif project.instructions:
        words = gettext("{name} has instructions of its own already. Add these there by hand.")
        raise Refused(RefusalCode.PROJECT_FULL, words.format(name=project))
    projects.change_project(project, {"instructions": offer.text})
