"""Messages and dividers as HTML: the same bytes over the socket and on a reload.

Nothing here depends on who looks or when, so a finished message is rendered once and cached.
"""

import json
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from zlib import crc32

from django.core.cache import cache
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from chat import markdown
from chat.models import Compaction, Message, Turn

VERSION = 2  # of the HTML; count up when it changes, so that cached pages are rendered anew
CACHE_SECONDS = 7 * 24 * 3600
MAX_TOOL_TEXT = 4_000  # characters of arguments or a result that the page shows
MAX_ROW_SUMMARY = 100

_FENCED = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1`*[ \t]*(?:\n|\Z)", re.M | re.S)
_PROVENANCE = re.compile(r"\[(#\d+(?:[ ,]+#\d+)*)\]")
_MESSAGE_NUMBER = re.compile(r"#(\d+)")
# Content types of the API that carry the outcome of a tool, whoever ran it.
_RESULT_SUFFIX = "tool_result"

Part = dict[str, Any]


def render_message(message: Message) -> str:
    """The `<article>` of one message. Assistant messages are read with `message.turn`."""
    turn = message.turn if message.role == Message.Role.ASSISTANT else None
    key = None
    if message.status != Message.Status.STREAMING and message.pk:
        state = f"{turn.status}:{crc32(turn.notice.encode())}" if turn else ""
        key = f"message:{VERSION}:{message.pk}:{message.status}:{state}"
        if html := cache.get(key):
            return mark_safe(html)
    html = render_to_string("chat/_message.html", _message_context(message, turn))
    if key and not (turn and turn.status in Turn.ACTIVE):
        cache.set(key, html, CACHE_SECONDS)
    return html


def render_divider(compaction: Compaction) -> str:
    """The divider of a completed compaction, with its summary folded inside."""
    summary = markdown.render(compaction.summary)
    return render_to_string(
        "chat/_divider.html",
        {
            "compaction": compaction,
            "before": format_tokens(compaction.tokens_before),
            "after": format_tokens(compaction.tokens_after),
            "trigger": compaction.get_trigger_display().lower().replace("_", " "),
            "summary": mark_safe(_link_numbers(summary)),
        },
    )


def format_tokens(count: int | None) -> str:
    """`161k`, `9.2k`, `812`."""
    count = count or 0
    if count < 1_000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}".removesuffix(".0") + "k"
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def _message_context(message: Message, turn: Turn | None) -> dict[str, Any]:
    parts = [_part(block, message.role) for block in _blocks(message)]
    context: dict[str, Any] = {
        "message": message,
        "parts": parts,
        "copyable": any(part["kind"] == "text" and part["html"] for part in parts),
        "only_tools": bool(parts) and all(part["kind"] == "result" for part in parts),
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
        context["notice"] = turn.notice
    return context


def _blocks(message: Message) -> Iterable[Any]:
    if isinstance(message.blocks, list) and message.blocks:
        return message.blocks
    if isinstance(message.blocks, str) or not message.blocks:
        text = message.blocks or message.text
        return [{"type": "text", "text": text}] if text else []
    return [message.blocks]


def _error(turn: Turn, message: Message) -> dict[str, Any]:
    """What the error card says: `message`, `code`, `retryable`, `retry_at` (datetime or None)."""
    error = dict(turn.error or {})
    if not error.get("message"):
        error["message"] = (
            "The answer was interrupted. What had arrived is kept."
            if message.status == Message.Status.INTERRUPTED
            else "The answer failed."
        )
        error.setdefault("retryable", True)
    error["retry_at"] = None
    seconds = error.get("retry_after")
    if isinstance(seconds, int | float) and turn.finished_at:
        error["retry_at"] = turn.finished_at + timedelta(seconds=min(float(seconds), 86_400.0))
    return error


# --- Content blocks -------------------------------------------------------------------------------


def _part(block: Any, role: str) -> Part:
    """What the template needs of one content block; `kind` selects how it is drawn."""
    if not isinstance(block, dict):
        return _note("Content of an unknown kind is not shown here.")
    kind = str(block.get("type", ""))
    if kind == "text":
        text = _string(block.get("text"))
        if role == Message.Role.USER:
            return {"kind": "text", "html": user_text(text)}
        return {"kind": "text", "html": mark_safe(markdown.render(text))}
    if kind == "thinking":
        html = markdown.render(_string(block.get("thinking")))
        return {"kind": "thinking", "html": mark_safe(html)} if html else _note("Thinking")
    if kind == "redacted_thinking":
        return _note("Some of the thinking is encrypted and not shown.")
    if kind.endswith("tool_use"):
        return _tool_use(block)
    if kind.endswith(_RESULT_SUFFIX):
        return _tool_result(block, kind)
    if kind in ("image", "document"):
        return _attachment(block, kind)
    return _note(f"Content of type “{kind[:60] or 'unknown'}” is not shown here.")


def user_text(text: str) -> SafeString:
    """A user's text as it was typed: newlines kept, fenced code as code blocks, nothing else.

    People do not write Markdown by intention: `*`, `_` and `#` in their text mean themselves.
    """
    text = markdown.clean_text(text).strip("\n")
    out, end = [], 0
    for match in _FENCED.finditer(text):
        out.append(_paragraph(text[end : match.start()]))
        language = match[2].split(maxsplit=1)
        out.append(markdown.render_code(match[3], language[0] if language else ""))
        end = match.end()
    out.append(_paragraph(text[end:]))
    return mark_safe("".join(out))


def _paragraph(text: str) -> str:
    text = text.strip("\n")
    return f'<p class="plain">{escape(text)}</p>' if text.strip() else ""


def _note(text: str) -> Part:
    return {"kind": "note", "text": text}


def _tool_use(block: dict[str, Any]) -> Part:
    arguments = block.get("input")
    text = "" if arguments in (None, {}, "") else _pretty(arguments)
    return {
        "kind": "tool",
        "name": _string(block.get("name")) or "tool",
        "summary": _one_line(arguments),
        **_truncated(text),
    }


def _tool_result(block: dict[str, Any], kind: str) -> Part:
    content = block.get("content")
    failed = bool(block.get("is_error")) or (
        isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
    )
    text = _result_text(content)
    name = kind.removesuffix(_RESULT_SUFFIX).rstrip("_").replace("_", " ")
    return {
        "kind": "result",
        "name": f"Result of {name}" if name else "Tool result",
        "failed": failed,
        "summary": text.strip().partition("\n")[0][:MAX_ROW_SUMMARY],
        **_truncated(text),
    }


def _result_text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_result_text(part) for part in content)
    if isinstance(content, dict):
        if content.get("type") == "text":
            return _string(content.get("text"))
        if content.get("type") in ("image", "document"):
            return f"[{content['type']}]"
    return _pretty(content)


def _attachment(block: dict[str, Any], kind: str) -> Part:
    source = block.get("source")
    media_type = _string(source.get("media_type")) if isinstance(source, dict) else ""
    name = _string(block.get("title")) or kind.capitalize()
    return {"kind": "attachment", "type": kind, "name": name[:120], "media_type": media_type[:80]}


def _truncated(text: str) -> Part:
    """The start of a long text, and how many characters were left out."""
    text = markdown.clean_text(text)
    return {"text": text[:MAX_TOOL_TEXT], "omitted": max(0, len(text) - MAX_TOOL_TEXT)}


def _one_line(arguments: Any) -> str:
    """The arguments' values in a few words, for the folded row."""
    if isinstance(arguments, dict):
        text = ", ".join(v if isinstance(v, str) else _compact(v) for v in arguments.values())
    else:
        text = _string(arguments)
    text = " ".join(markdown.clean_text(text[: MAX_ROW_SUMMARY * 4]).split())
    return text if len(text) <= MAX_ROW_SUMMARY else text[: MAX_ROW_SUMMARY - 1] + "…"


def _pretty(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _link_numbers(html: str) -> str:
    """Make `[#12 #15]` in sanitised HTML links to the messages.

    A `[` cannot stand inside an attribute here: URLs come percent-encoded, and no other
    attribute takes text from the model.
    """

    def links(match: re.Match[str]) -> str:
        return _MESSAGE_NUMBER.sub(r'<a href="#message-\1">#\1</a>', match[0])

    return _PROVENANCE.sub(links, html)
