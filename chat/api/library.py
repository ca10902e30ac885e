"""The API: search, files, usage, and what else a person has beside conversations."""

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from ninja import File, Query, Router, Status
from ninja.files import UploadedFile

from accounts.doors import read_token
from accounts.tokens import find_token
from agent.messages import sanitise_text
from chat.api.auth import get_user, reads, reads_usage, uploads
from chat.api.conversations import find_conversation
from chat.api.errors import ApiError
from chat.api.rows import as_file, as_model
from chat.api.schemas import (
    ERRORS,
    ErrorOut,
    FileOut,
    HitOut,
    HitsOut,
    Limit,
    MeOut,
    ModelsOut,
    ProjectOut,
    ProjectsOut,
    SumsOut,
    UsageOut,
)
from chat.engine.model_profiles import find_default_name, list_offered
from chat.models import Attachment, Project
from chat.queries import spending, typed_search
from chat.services.library import attachments
from chat.services.library.file_types import MAX_FILE_BYTES
from chat.web import attachment as attachment_views
from chat.web.search_box import LONGEST_SEARCH
from spending.queries import Sums
from spending.spans import month_of, read_month

router = Router()


@router.get("/me", auth=reads, response={200: MeOut, ERRORS: ErrorOut}, tags=["account"])
def get_me(request: HttpRequest) -> MeOut:
    """Whose token this is, and what it may."""
    token = find_token(read_token(request))
    assert token is not None
    return MeOut(
        username=token.user.get_username(), scopes=token.scopes, expires_at=token.expires_at
    )


@router.get("/models", auth=reads, response={200: ModelsOut, ERRORS: ErrorOut}, tags=["account"])
def list_models(request: HttpRequest) -> ModelsOut:
    """The models that you may choose."""
    user = get_user(request)
    default = find_default_name(user.pk)
    return ModelsOut(items=[as_model(each, default) for each in list_offered(user.pk)])


@router.get(
    "/projects", auth=reads, response={200: ProjectsOut, ERRORS: ErrorOut}, tags=["account"]
)
def list_projects(request: HttpRequest) -> ProjectsOut:
    """Your projects, by name."""
    rows = Project.objects.of(get_user(request)).order_by("name", "pk")
    return ProjectsOut(
        items=[ProjectOut(id=row.pk, name=row.name, archived=row.archived) for row in rows]
    )


@router.get("/search", auth=reads, response={200: HitsOut, ERRORS: ErrorOut}, tags=["search"])
def search(
    request: HttpRequest,
    q: Annotated[str, Query(min_length=1, max_length=LONGEST_SEARCH)],
    conversation: UUID | None = None,
    project: UUID | None = None,
    limit: Limit = 20,
) -> HitsOut:
    """The messages that have the words, best first: those of all your conversations, of one, or of
    those of a project."""
    user = get_user(request)
    if conversation:
        find_conversation(request, conversation)  # or 404
    if project:
        Project.objects.of(user).get(pk=project)
    hits = typed_search.find_typed(
        user.pk,
        sanitise_text(q),
        conversation_id=conversation,
        project_ids=[project] if project else None,
        limit=limit,
    )
    return HitsOut(
        items=[
            HitOut(
                conversation=hit.conversation_id,
                title=hit.title,
                number=hit.number,
                role=hit.role,
                active=hit.active,
                whole=hit.whole,
                text=hit.text,
                created_at=hit.created_at,
            )
            for hit in hits
        ]
    )


# --- Files ----------------------------------------------------------------------------------------


@router.post("/files", auth=uploads, response={201: FileOut, ERRORS: ErrorOut}, tags=["files"])
def upload_file(request: HttpRequest, file: File[UploadedFile]) -> Status[FileOut]:
    """Keep a file that a message is to be sent with: an image, a PDF, a text, an office file."""
    # One byte more than may be: enough to say so without reading the rest.
    data = file.read(MAX_FILE_BYTES + 1)
    return Status(201, as_file(attachments.store_unsent(get_user(request), file.name or "", data)))


def _find_file(request: HttpRequest, pk: UUID) -> Attachment:
    return Attachment.objects.get(pk=pk, owner=get_user(request))


@router.get(
    "/files/{uuid:file}", auth=reads, response={200: FileOut, ERRORS: ErrorOut}, tags=["files"]
)
def get_file(request: HttpRequest, file: UUID) -> FileOut:
    """What a file is."""
    return as_file(_find_file(request, file))


@router.get(
    "/files/{uuid:file}/content",
    auth=reads,
    response={200: bytes, ERRORS: ErrorOut},
    tags=["files"],
    openapi_extra={"responses": {200: {"content": {"application/octet-stream": {}}}}},
)
def get_file_content(request: HttpRequest, file: UUID) -> HttpResponse:
    """The file itself."""
    return attachment_views.serve(request, _find_file(request, file))


@router.delete(
    "/files/{uuid:file}", auth=uploads, response={204: None, ERRORS: ErrorOut}, tags=["files"]
)
def delete_file(request: HttpRequest, file: UUID) -> Status[None]:
    """Take back a file that was not sent; one that was stays with its message."""
    attachments.discard_unused(Attachment.objects.filter(pk=_find_file(request, file).pk))
    return Status(204, None)


# --- Usage ----------------------------------------------------------------------------------------


@router.get("/usage", auth=reads_usage, response={200: UsageOut, ERRORS: ErrorOut}, tags=["usage"])
def get_usage(
    request: HttpRequest,
    month: Annotated[str, Query(max_length=7, description="As 2026-11; else this month.")] = "",
) -> UsageOut:
    """What your model calls of a month came to."""
    span = read_month(month) if month else month_of(timezone.localdate())
    if span is None:
        raise ApiError(422, "invalid", gettext("month is a year and a month, as 2026-11."))
    own = spending.load_own(get_user(request), span)
    return UsageOut(
        month=span.key,
        total=_as_sums(own.all),
        days={day.isoformat(): _as_sums(sums) for day, sums in own.by_day.items() if sums.calls},
        models={name: _as_sums(sums) for name, sums in own.by_model.items()},
        kinds={kind: _as_sums(sums) for kind, sums in own.by_kind.items()},
    )


def _as_sums(sums: Sums) -> SumsOut:
    return SumsOut(
        calls=sums.calls,
        input_tokens=sums.read_tokens,
        output_tokens=sums.output_tokens,
        dollars=f"{sums.dollars:f}",
    )
