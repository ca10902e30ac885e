"""The API: what is taken along as a file, sent while it is read."""

from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Router

from chat.api.auth import exports, get_user
from chat.api.schemas import ERRORS, ErrorOut
from chat.db.threads import in_db
from chat.services.library import conversations, projects
from chat.web.account import send_account
from chat.web.exports import send_conversation, send_project

router = Router(tags=["exports"])


def sent_as(*kinds: str) -> dict[str, Any]:
    """The files that are answered with, for the document."""
    file = {"schema": {"type": "string", "format": "binary"}}
    return {"responses": {200: {"description": "The file", "content": dict.fromkeys(kinds, file)}}}


@router.get(
    "/conversations/{uuid:conversation}/export",
    auth=exports,
    response={ERRORS: ErrorOut},
    openapi_extra=sent_as("application/json", "application/zip", "text/markdown", "text/html"),
)
async def export_conversation(
    request: HttpRequest, conversation: UUID, form: Literal["zip", "json", "md", "html"] = "zip"
) -> HttpResponseBase:
    """A conversation: `zip` has all of it and can be imported again, `json` is that without the
    files, `md` and `html` are to be read."""
    user = get_user(request)
    row = await in_db(conversations.load_conversation, user, conversation)
    return send_conversation(request, user, row, form)


@router.get(
    "/projects/{uuid:project}/export",
    auth=exports,
    response={ERRORS: ErrorOut},
    openapi_extra=sent_as("application/zip"),
)
async def export_project(request: HttpRequest, project: UUID) -> HttpResponseBase:
    """A project with its conversations and files."""
    user = get_user(request)
    return send_project(user, await in_db(projects.load_project, user, project))


@router.get(
    "/account/export",
    auth=exports,
    response={ERRORS: ErrorOut},
    openapi_extra=sent_as("application/zip"),
)
async def export_account(request: HttpRequest) -> HttpResponseBase:
    """All that is yours; one at a time."""
    return await send_account(get_user(request))
