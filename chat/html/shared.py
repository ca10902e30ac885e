"""Messages as those see them who read a shared conversation.

What is shown is chosen block by block, before anything is drawn: texts, files that were sent, and
calls of tools. Thoughts are not, as they may repeat the system prompt or what is remembered; nor
are arguments and results of our own tools, which hold words of other conversations, of summaries
and of the memory; nor results without the call that would tell whose they are. Nothing is kept in
the cache.
"""

from functools import partial
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe

from chat.engine.tools import OWN_TOOLS
from chat.html.attached import PagePart
from chat.html.content_blocks import draw_block, draw_source_text, join_cut_texts, list_blocks
from chat.html.failsafe import draw_safely
from chat.html.message import unlink_conversations
from chat.html.sanitiser import as_string
from chat.html.tool_row import build_call_part, find_server_results
from chat.models import Message, Share

MOST_PARTS = 500  # of one message: a reply may hold thousands of calls
PRIVATE_TOOLS = {tool.name for tool in OWN_TOOLS}
FILES = ("image", "document")


def render_shared(message: Message, share: Share) -> str:
    """The `<article>` of a message; "" for one that shows nothing, as one that holds the results of
    tools: they stand in the rows of their calls."""
    parts = _list_parts(message, share)
    if not parts:
        return ""

    def draw(parts: list[PagePart]) -> str:
        context = {
            "message": message,
            "parts": parts,
            "owner": share.conversation.owner,
            "is_unfinished": message.status != Message.Status.COMPLETE,
        }
        return render_to_string("chat/shares/message.html", context)

    def source() -> str:
        return draw([draw_source_text(message.text)])

    html = draw_safely(f"shared message {message.pk}", partial(draw, parts), source)
    return mark_safe(unlink_conversations(html))


def _list_parts(message: Message, share: Share) -> list[PagePart]:
    blocks = [block for block in join_cut_texts(list_blocks(message)) if isinstance(block, dict)]
    ended = find_server_results(blocks) | message.calls
    parts: list[PagePart] = []
    for block in blocks:
        if len(parts) == MOST_PARTS:
            break
        kind = as_string(block.get("type"))
        if kind == "text":
            draw = partial(draw_block, block, message.role)
        elif kind in FILES:
            draw = partial(_draw_file, block, message.role, share)
        elif kind.endswith("tool_use"):
            end = ended.get(as_string(block.get("id")))
            if end and end.get("made") is False:
                continue
            draw = partial(_draw_call, block, end)
        else:
            continue
        name = f"block of shared message {message.pk}"
        part = draw_safely(name, draw, partial(draw_source_text, ""))
        if part.get("html") != "":
            parts.append(part)
    return parts


def _draw_file(block: dict[str, Any], role: str, share: Share) -> PagePart:
    """A file at the share's own address."""
    part = draw_block(block, role)
    if part["url"]:
        part["url"] = reverse("shared_file", args=[share.pk, block["source"]["id"]])
    return part


def _draw_call(block: dict[str, Any], ended: PagePart | None) -> PagePart:
    if as_string(block.get("name")) in PRIVATE_TOOLS:
        return {"kind": "private", "name": block["name"]}
    return build_call_part(block, ended, running=False) | {"id": "", "files": []}
