"""The content blocks of a message, as its template draws them."""

from collections.abc import Iterable
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from agent.authorship.fences import find_fences
from agent.messages import continues_text
from chat.html.attached import PagePart, draw_attachment
from chat.html.code_blocks import render_code
from chat.html.markdown import render_markdown
from chat.html.render_budget import RenderBudget
from chat.html.sanitiser import as_string, clean_text
from chat.html.tool_row import list_sources
from chat.models import Message


def list_blocks(message: Message) -> list[Any]:
    """The blocks of a message, whatever is stored in their place; each may be anything too."""
    if isinstance(message.blocks, list) and message.blocks:
        return message.blocks
    if isinstance(message.blocks, str) or not message.blocks:
        text = message.blocks or message.text
        return [{"type": "text", "text": text}] if text else []
    return [message.blocks]


def draw_block(block: Any, role: str) -> PagePart:
    """What the template needs of one content block; `kind` selects how it is drawn."""
    if not isinstance(block, dict):
        return _note(gettext("Content of an unknown kind is not shown here."))
    kind = str(block.get("type", ""))
    if kind == "text":
        text = as_string(block.get("text"))
        if role == Message.Role.USER:
            return {"kind": "text", "html": render_user_text(text)}
        rendered = mark_safe(render_markdown(text))
        return {"kind": "text", "html": rendered, "sources": list_sources(block)}
    if kind == "thinking":
        html = render_markdown(as_string(block.get("thinking")))
        return {"kind": "thinking", "html": mark_safe(html)} if html else _note(gettext("Thinking"))
    if kind == "redacted_thinking":
        return _note(gettext("Some of the thinking is encrypted and not shown."))
    if kind in ("image", "document"):
        return draw_attachment(block)
    return _note(
        gettext("Content of type “{kind}” is not shown here.").format(kind=kind[:60] or "unknown")
    )


def draw_source(block: Any) -> PagePart:
    """A block that cannot be drawn: its text, or else its JSON."""
    text = block.get("text") if isinstance(block, dict) else None
    return draw_source_text(text if isinstance(text, str) else str(block))


def render_source(text: str) -> SafeString:
    """A text as it is, for where drawing it failed."""
    return mark_safe(_paragraph(clean_text(text)))


def draw_source_text(text: str) -> PagePart:
    return {"kind": "text", "html": render_source(text)}


def render_user_text(text: str) -> SafeString:
    """A user's text as it was typed: newlines kept, fenced code as code blocks, nothing else.

    People do not mean to write Markdown: `*`, `_` and `#` in their text are shown as they are.
    """
    text = clean_text(text).strip("\n")
    work = RenderBudget()
    out, end = [], 0
    for fence in find_fences(text):
        out.append(_paragraph(text[end : fence.start]))
        language = fence.info.split(maxsplit=1)
        out.append(render_code(fence.code, language[0] if language else "", work))
        end = fence.end
    out.append(_paragraph(text[end:]))
    return mark_safe("".join(out))


def _paragraph(text: str) -> str:
    text = text.strip("\n")
    return f'<p class="plain" dir="auto">{escape(text)}</p>' if text.strip() else ""


def _note(text: str) -> PagePart:
    return {"kind": "note", "text": text}


def join_cut_texts(blocks: Iterable[Any]) -> list[Any]:
    """The blocks, with texts joined that the API has cut at a citation."""
    runs: list[list[Any]] = []
    for block in blocks:
        before = runs[-1][-1] if runs else None
        if isinstance(block, dict) and isinstance(before, dict) and continues_text(before, block):
            runs[-1].append(block)
        else:
            runs.append([block])
    return [_join(run) if len(run) > 1 else run[0] for run in runs]


def _join(texts: list[dict[str, Any]]) -> dict[str, Any]:
    cited = [each for text in texts for each in text.get("citations") or []]
    return texts[0] | {
        "text": "".join(as_string(text.get("text")) for text in texts),
        "citations": cited,
    }


def explain_hidden(count: int) -> PagePart:
    """In place of rows of tools that are too many for a page."""
    words = ngettext(
        "{count} more row of tools is not shown here. The export has it.",
        "{count} more rows of tools are not shown here. The export has them.",
        count,
    )
    return _note(words.format(count=count))


def explain_unmade(count: int) -> PagePart:
    """In place of the calls of a reply that were too many."""
    words = ngettext(
        "{count} more tool call of this reply was not made: it has too many. The model was told.",
        "{count} more tool calls of this reply were not made: it has too many. The model was told.",
        count,
    )
    return _note(words.format(count=count))
