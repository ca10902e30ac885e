"""A conversation as one HTML file that needs no other: styles and pictures are in it, and no
script. What people and models wrote is drawn and sanitised as in the page."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from chat.db.threads import in_db
from chat.html.attached import PagePart
from chat.html.content_blocks import draw_block, draw_source_text, join_cut_texts, list_blocks
from chat.html.failsafe import draw_safely
from chat.html.markdown import render_markdown
from chat.html.message import unlink_conversations
from chat.html.sanitiser import as_string
from chat.html.tool_row import (
    RESULT_SUFFIX,
    build_call_part,
    build_result_part,
    find_server_results,
)
from chat.models import Attachment, Compaction, Conversation, Message
from chat.queries.summary_versions import load_current_summary

PAGE = 20  # messages that are held at once, with their pictures
STYLES = ("css/base.css", "css/prose.css", "css/saved_page.css")
PLACE = "<!-- messages -->"
# The typeface is another file, and so are the icons.
_OTHER_FILES = re.compile(r"@font-face\s*\{[^}]*\}|[^{};]+:\s*url\([^;]+;")


async def export_html(conversation: Conversation) -> AsyncIterator[str]:
    """The shown branch, with what its summary says by now."""
    head, _, tail = (await in_db(_render_frame, conversation)).partition(PLACE)
    yield head
    # A slow reader may ask for the next page after the conversation was handed to somebody else.
    owned = conversation.messages.filter(conversation__owner=conversation.owner_id, active=True)
    current = await in_db(load_current_summary, conversation)
    position = -1
    while rows := await in_db(_load_page, owned, position):
        yield await in_db(_draw_page, rows, current)
        position = rows[-1].position
    yield tail


def _render_frame(conversation: Conversation) -> str:
    context = {"conversation": conversation, "styles": _read_styles()}
    return render_to_string("chat/print/saved_page.html", context)


@cache
def _read_styles() -> SafeString:
    """Those of the page that a file can have for itself."""
    files = (Path(str(finders.find(name))) for name in STYLES)
    return mark_safe("\n".join(_OTHER_FILES.sub("", file.read_text()) for file in files))


def _load_page(rows: QuerySet[Message], after: int) -> list[Message]:
    return list(rows.filter(position__gt=after).order_by("position")[:PAGE])


def _draw_page(rows: Sequence[Message], current: Compaction | None) -> str:
    files = Attachment.objects.filter(messages__in=rows).distinct()
    pictures = {str(file.pk): file for file in files if file.kind == Attachment.Kind.IMAGE}
    parts = []
    for row in rows:
        parts.append(_draw_message(row, pictures))
        if current and current.through_id == row.pk:
            parts.append(_draw_summary(current))
    return "".join(parts)


def _draw_summary(version: Compaction) -> str:
    context = {"version": version, "text": mark_safe(render_markdown(version.summary))}
    return unlink_conversations(render_to_string("chat/print/saved_summary.html", context))


def _draw_message(message: Message, pictures: Mapping[str, Attachment]) -> str:
    def draw(parts: list[PagePart]) -> str:
        context = {"message": message, "parts": parts}
        return render_to_string("chat/print/saved_message.html", context)

    def source() -> str:
        return draw([draw_source_text(message.text)])

    def article() -> str:
        return draw(_list_parts(message, pictures))

    return unlink_conversations(draw_safely(f"saved message {message.pk}", article, source))


def _list_parts(message: Message, pictures: Mapping[str, Attachment]) -> list[PagePart]:
    blocks = [block for block in join_cut_texts(list_blocks(message)) if isinstance(block, dict)]
    ended = find_server_results(blocks) | message.calls
    parts = []
    for block in blocks:
        draw = partial(_draw_part, block, message, ended, pictures)
        part = draw_safely(
            f"block of saved message {message.pk}", draw, partial(draw_source_text, "")
        )
        if part and part.get("html") != "":
            parts.append(part)
    return parts


def _draw_part(
    block: dict[str, Any],
    message: Message,
    ended: Mapping[str, Any],
    pictures: Mapping[str, Attachment],
) -> PagePart | None:
    kind = as_string(block.get("type"))
    if kind.endswith("tool_use"):
        end = ended.get(as_string(block.get("id")))
        unmade = end is not None and end.get("made") is False
        return None if unmade else build_call_part(block, end, running=False, most=None)
    if kind == RESULT_SUFFIX:
        return build_result_part(block, most=None)
    if kind.endswith(RESULT_SUFFIX):
        return None  # it stands with its call
    part = draw_block(block, message.role)
    if part["kind"] == "attachment":
        source = block.get("source")
        part["url"] = _embed(pictures.get(str(source.get("id")))) if source else ""
    return part


def _embed(picture: Attachment | None) -> str:
    """A picture as an address that holds it; "" where it is gone, and for other files."""
    if picture is None:
        return ""
    try:
        with picture.file.open() as file:
            data = b64encode(file.read()).decode()
    except FileNotFoundError:
        return ""
    return f"data:{picture.media_type};base64,{data}"
