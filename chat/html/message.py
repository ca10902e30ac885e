"""Messages as HTML: the same bytes over the socket and on a reload.

Nothing here depends on who looks or when, only on the active language, so a finished message is
rendered once for each language and cached.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import astuple
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from django.core.cache import cache
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy, gettext_noop

from agent.messages import result_text
from chat.html import kept
from chat.html.answer_details import AnswerDetails
from chat.html.attached import PagePart
from chat.html.content_blocks import (
    draw_block,
    draw_source,
    draw_source_text,
    explain_hidden,
    explain_unmade,
    join_cut_texts,
    list_blocks,
)
from chat.html.failsafe import draw_safely
from chat.html.sanitiser import as_string
from chat.html.tool_row import (
    RESULT_SUFFIX,
    build_call_part,
    build_result_part,
    find_server_results,
)
from chat.models import Conversation, Message, Turn
from chat.queries.tree import Variants

MOST_ROWS = 500  # of tools in one message

# What is said of a message that its author did not write in the page.
SOURCES: dict[str, Promise] = {
    Message.Source.API: gettext_lazy("By the API"),
    Message.Source.SLACK: gettext_lazy("In Slack"),
    Message.Source.SCHEDULE: gettext_lazy("As scheduled"),
}

# As `chat.html.markdown.link_numbers` makes them.
_ELSEWHERE = re.compile(r'<a href="[^"]*/([0-9a-f-]{36})/#message-\d+">(#\d+)</a>')


def render_message(
    message: Message, variants: Variants | None = None, details: AnswerDetails | None = None
) -> str:
    """`_render_article`, marked where the message is left out: that is no part of what is cached,
    and the page changes it without another article."""
    html = _render_article(message, variants, details)
    if message.left_out:
        html = mark_safe(html.replace("<article", "<article data-left-out", 1))
    return html


def _render_article(
    message: Message, variants: Variants | None = None, details: AnswerDetails | None = None
) -> str:
    """The `<article>` of one message, with the way to its siblings where it has any. Assistant
    messages are read with `message.turn`. `details`: of a page that it is a part of."""
    turn = message.turn if message.role == Message.Role.ASSISTANT else None
    key = None
    if message.status != Message.Status.STREAMING and message.pk:
        state = f"{turn.status}:{turn.notice}:{crc32(turn.notice_about.encode())}" if turn else ""
        # The neighbours too: one of them may be deleted, and another one written.
        among = ":".join(str(each) for each in astuple(variants)) if variants else ""
        shown = f"{message.status}:{message.sent_in_part}:{state}:{among}"
        key = kept.make_key(message.conversation_id, f"message:{message.pk}:{shown}")
        if html := cache.get(key):
            return mark_safe(html)

    def article() -> str:
        return render_to_string(
            "chat/transcript/message.html",
            _message_context(message, turn, variants, details or AnswerDetails([message])),
        )

    html = draw_safely(f"message {message.pk}", article, lambda: _source_article(message))
    # Without the space around it, which parsers place differently.
    html = mark_safe(_without_strangers(html, message).strip())
    if key and not (turn and turn.status in Turn.ACTIVE):
        kept.keep(key, html)
    return html


def _source_article(message: Message) -> str:
    """A message that cannot be drawn in any other way, as its text."""
    parts = [draw_source_text(message.text)]
    context = {"message": message, "parts": parts, "copyable": True}
    return render_to_string("chat/transcript/message.html", context)


def _without_strangers(html: str, message: Message) -> str:
    """The article without links to conversations that are not its owner's."""
    cited = {match[1] for match in _ELSEWHERE.finditer(html)}
    if not cited:
        return html
    owned = Conversation.objects.filter(
        pk__in=cited, owner__conversations=message.conversation_id
    ).values_list("pk", flat=True)
    return unlink_conversations(html, but=set(map(str, owned)))


def unlink_conversations(html: str, but: Collection[str] = ()) -> str:
    """The HTML with plain numbers in place of links to other conversations than those with these
    ids."""
    return _ELSEWHERE.sub(lambda match: match[0] if match[1] in but else match[2], html)


def _message_context(
    message: Message, turn: Turn | None, variants: Variants | None, details: AnswerDetails
) -> dict[str, Any]:
    parts = _parts(message, turn)
    context: dict[str, Any] = {
        "message": message,
        "parts": parts,
        "variants": variants,
        "copyable": any(part["kind"] == "text" and part["html"] for part in parts),
        "only_tools": _holds_only_results(message),
        "details": details.describe(message),
        "source": SOURCES.get(message.source, ""),
    }
    if turn is None:
        return context
    unfinished = message.status in (Message.Status.FAILED, Message.Status.INTERRUPTED)
    if turn.status == Turn.Status.CANCELLED and (
        unfinished or message.stop_reason in ("", "stopped", "cancelled")
    ):
        context["stopped"] = True
    elif unfinished:
        context["error"] = _error(turn, message)
    if message.stop_reason != "tool_use":
        context["notice"] = turn.notice_text
    return context


def _holds_only_results(message: Message) -> bool:
    return bool(message.blocks) and all(
        isinstance(block, dict) and str(block.get("type", "")).endswith(RESULT_SUFFIX)
        for block in list_blocks(message)
    )


def _parts(message: Message, turn: Turn | None) -> list[PagePart]:
    """The message's blocks as the template draws them. The results of our own tools are shown with
    their calls, and the message that holds the results shows nothing."""
    blocks = join_cut_texts(list_blocks(message))
    if message.turn_id and message.role == Message.Role.USER and _holds_only_results(message):
        return []
    ended = find_server_results(blocks) | _find_ends(message, blocks)
    running = turn is not None and turn.status in Turn.ACTIVE
    left_out = [block for block in blocks if _is_unmade(block, ended)]

    def part(block: Any) -> PagePart | None:
        kind = str(block.get("type", "")) if isinstance(block, dict) else ""
        if kind.endswith("tool_use"):
            if _is_unmade(block, ended):
                return explain_unmade(len(left_out)) if block is left_out[0] else None
            call_id = as_string(block.get("id"))
            more = whole_row_url(message, call_id)
            return build_call_part(block, ended.get(call_id), running=running, more=more)
        if kind.endswith(RESULT_SUFFIX):
            if kind != RESULT_SUFFIX and _has_call(block, blocks):
                return None
            return build_result_part(
                block, whole_row_url(message, as_string(block.get("tool_use_id")))
            )
        return draw_block(block, message.role)

    parts = (
        draw_safely(
            f"block of message {message.pk}", partial(part, block), partial(draw_source, block)
        )
        for block in blocks
    )
    return _bound([each for each in parts if each])


def _bound(parts: list[PagePart]) -> list[PagePart]:
    """The parts without rows of tools above MOST_ROWS, which are only counted: no page could draw
    thousands."""
    rows = [index for index, part in enumerate(parts) if part["kind"] in ("tool", "result")]
    if len(rows) <= MOST_ROWS:
        return parts
    hidden = {*rows[MOST_ROWS:]}
    kept = [part for index, part in enumerate(parts) if index not in hidden]
    return [*kept, explain_hidden(len(hidden))]


def _find_ends(message: Message, blocks: Iterable[Any]) -> dict[str, Any]:
    """How the message's calls ended, by id, as far as they have."""
    calls = {as_string(b.get("id")) for b in blocks if isinstance(b, dict) and _calls_us(b)}
    ended: dict[str, Any] = message.calls
    if message.turn_id and message.pk and calls - ended.keys():
        ended = dict(message.call_ends.values_list("call", "shown")) | ended
    return ended


def _calls_us(block: dict[str, Any]) -> bool:
    return block.get("type") == "tool_use"


def _is_unmade(block: Any, ended: dict[str, Any]) -> bool:
    """Whether a call was one too many of its reply."""
    end = ended.get(as_string(block.get("id"))) if isinstance(block, dict) else None
    return end is not None and end.get("made") is False


def whole_row_url(message: Message, call_id: str) -> str:
    """Where a row is that shows all of a call and its result."""
    if not message.pk:
        return ""
    address = reverse("message_row", args=[message.conversation_id, message.pk])
    return f"{address}?{urlencode({'call': call_id})}"


def render_whole_row(message: Message, call_id: str) -> str | None:
    """The row of a call, or of a result without its call, with nothing left out; None where the
    message has neither."""
    blocks = [block for block in list_blocks(message) if isinstance(block, dict)]
    call = next((b for b in blocks if _is_call(b, call_id)), None)
    if call:
        ended = find_server_results(blocks).get(call_id) or message.calls.get(call_id)
        if result := _result_after(message, call_id):
            ended = (ended or {}) | {"text": result_text(result), "omitted": 0}
        part = build_call_part(call, ended, running=False, most=None)
        return render_to_string("chat/transcript/tool_row.html", {"part": part})
    for block in blocks:
        if as_string(block.get("tool_use_id")) == call_id:
            part = build_result_part(block, most=None)
            return render_to_string("chat/transcript/tool_result.html", {"part": part})
    return None


def _is_call(block: dict[str, Any], call_id: str) -> bool:
    return str(block.get("type", "")).endswith("tool_use") and as_string(block.get("id")) == call_id


def _result_after(message: Message, call_id: str) -> dict[str, Any] | None:
    """The result of a call of a message's, where our own loop has stored it."""
    for following in message.children.filter(turn__isnull=False, role=Message.Role.USER):
        for block in following.blocks:
            if block.get("type") == RESULT_SUFFIX and block.get("tool_use_id") == call_id:
                found: dict[str, Any] = block
                return found
    return None


def _has_call(result: dict[str, Any], blocks: Iterable[Any]) -> bool:
    wanted = result.get("tool_use_id")
    return any(isinstance(b, dict) and b.get("id") == wanted for b in blocks)


def _error(turn: Turn, message: Message) -> dict[str, Any]:
    """What the error card says: `message`, `code`, `retryable`, `retry_at` (datetime or None)."""
    error = dict(turn.error or {})
    if not error.get("message"):
        error["message"] = (
            gettext_noop("The answer was interrupted. What had arrived is kept.")
            if message.status == Message.Status.INTERRUPTED
            else gettext_noop("The answer failed.")
        )
        error.setdefault("retryable", True)
    error["retry_at"] = None
    seconds = error.get("retry_after")
    if isinstance(seconds, int | float) and turn.finished_at:
        error["retry_at"] = turn.finished_at + timedelta(seconds=min(float(seconds), 86_400.0))
    return error
