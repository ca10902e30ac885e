"""Projects of an import: found by where they came from, or made."""

from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext

from accounts.models import User
from agent.messages import sanitise_text
from chat.errors import Refused
from chat.importers.records import ImportedFile, ImportedProject
from chat.models import Origin, Project
from chat.services.library import projects
from chat.services.library.import_files import FileLost, read_file
from chat.services.library.importing import ORIGIN_LENGTH


class ImportedProjects:
    """The projects of one import. An export may name one by its id alone: then it is made with a
    plain name, for its owner to change."""

    def __init__(self, owner: User, format_name: str, label: str) -> None:
        self._owner = owner
        self._format = format_name
        self._label = label
        self._nameless: set[str] = set()  # by origin: made in this import, for their ids

    def find(self, origin: str | None) -> Project | None:
        """The project that a conversation names; None for none. Refused where there are too
        many."""
        if origin is None:
            return None
        if known := self._load(origin):
            return known
        count = Origin.objects.filter(owner=self._owner, format=self._format)
        number = count.filter(project__isnull=False).count() + 1
        name = gettext("{label} project {number}").format(label=self._label, number=number)
        self._nameless.add(origin)
        return self._make(origin, name)

    def store(self, imported: ImportedProject) -> list[str]:
        """Store a project with its instructions and files, unless it is known; what of it could
        not be kept, in words. Refused where there are too many."""
        project = self._load(imported.origin)
        if project and imported.origin not in self._nameless:
            return []
        self._nameless.discard(imported.origin)
        name = " ".join(sanitise_text(imported.name).split())[: projects.MAX_NAME]
        if project is None:
            project = self._make(imported.origin, name or gettext("Imported project"))
        elif name:
            projects.change_project(project, {"name": name})
        return _instruct(project, imported.instructions) + _add_files(project, imported.files)

    def _load(self, origin: str) -> Project | None:
        known = Origin.objects.filter(**self._place(origin)).select_related("project").first()
        return known.project if known else None

    def _make(self, origin: str, name: str) -> Project:
        with transaction.atomic():
            project = projects.create_project(self._owner, name)
            Origin.objects.create(**self._place(origin), project=project)
        return project

    def _place(self, origin: str) -> dict[str, object]:
        return {
            "owner": self._owner,
            "format": self._format,
            "account": "",
            "conversation_origin": "",
            "project_origin": origin[:ORIGIN_LENGTH],
        }


def _instruct(project: Project, text: str) -> list[str]:
    """Instructions that are too long become a file of the project."""
    try:
        projects.change_project(project, {"instructions": text})
    except Refused:
        try:
            projects.add_file(project, "instructions.md", text.encode())
        except Refused as refusal:
            return [refusal.message]
    return []


def _add_files(project: Project, files: Sequence[ImportedFile]) -> list[str]:
    lost = []
    for file in files:
        try:
            projects.add_file(project, *read_file(file))
        except (Refused, FileLost) as problem:
            lost.append(str(problem))
    return lost
