"""Tool calls as the transcript shows them: one folded row for each, with how it ended."""

import json
from collections.abc import Iterable
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, gettext_noop

from agent.messages import Block
from agent.tools.mcp_names import read_own_name
from chat.html.attached import PagePart, draw_stored
from chat.html.failsafe import draw_safely
from chat.html.figures import format_seconds
from chat.html.markdown import link_numbers
from chat.html.sanitiser import as_string, clean_text

MAX_TOOL_TEXT = 4_000  # characters of arguments or a result that the page shows
MAX_ROW_SUMMARY = 100
# Content types of the API that carry the outcome of a tool, whoever ran it.
RESULT_SUFFIX = "tool_result"


def render_call_row(call: Block, ended: PagePart | None = None, more: str = "") -> str:
    """The row of a call: running, or as it `ended` (see `Message.calls`)."""

    def row() -> str:
        part = build_call_part(call, ended, running=True, more=more)
        return render_to_string("chat/transcript/tool_row.html", {"part": part})

    def source() -> str:
        bare = {
            "kind": "tool",
            "id": as_string(call.get("id")),
            "name": as_string(call.get("name")),
        }
        return render_to_string(
            "chat/transcript/tool_row.html", {"part": bare | {"text": str(call)[:MAX_TOOL_TEXT]}}
        )

    return draw_safely("tool call", row, source)


def build_call_part(
    call: Block,
    ended: PagePart | None,
    *,
    running: bool,
    more: str = "",
    most: int | None = MAX_TOOL_TEXT,
) -> PagePart:
    """What the row's template needs. Without `ended` the call is running, or its end is unknown:
    then its result may be in the next message. `more` is the address of the row without the
    limit of `most` characters."""
    arguments = call.get("input")
    text = "" if arguments in (None, {}, "") else _pretty(arguments)
    part = {
        "kind": "tool",
        "id": as_string(call.get("id")),
        "name": _shown_name(as_string(call.get("name"))) or gettext("tool"),
        "status": gettext_noop("running") if running else "",
        "summary": _one_line(arguments),
        "more": more,
        **_truncated(text, most),
    }
    if ended is not None:
        result = _truncated(as_string(ended.get("text")), most)
        part |= {
            "status": gettext_noop("failed") if ended.get("failed") else gettext_noop("done"),
            "seconds": _seconds(ended.get("seconds")),
            "result": mark_safe(link_numbers(escape(result["text"]))),
            "result_omitted": result["omitted"] + int(ended.get("omitted") or 0),
            "links": ended.get("links") or [],
            "files": draw_stored(ended.get("files")),
        }
    return part


def _shown_name(name: str) -> str:
    """A tool of an MCP server by the server's own name for it."""
    server, joined, tool = name.partition("__")
    return f"{server}: {read_own_name(tool)}" if joined else name


def find_server_results(blocks: Iterable[Any]) -> dict[str, PagePart]:
    """How the calls ended that the model's server ran itself, by id: their results are in the
    same message."""
    return {
        as_string(block.get("tool_use_id")): {
            "text": _without_links(block.get("content")),
            "failed": has_failed(block),
            "links": _links(block.get("content")),
        }
        for block in blocks
        if isinstance(block, dict) and as_string(block.get("type")).endswith("_" + RESULT_SUFFIX)
    }


def build_result_part(block: Block, more: str = "", most: int | None = MAX_TOOL_TEXT) -> PagePart:
    """A result on its own: of an imported conversation, or without its call."""
    kind = as_string(block.get("type"))
    text = render_result_text(block)
    name = kind.removesuffix(RESULT_SUFFIX).rstrip("_").replace("_", " ")
    return {
        "kind": "result",
        "name": gettext("Result of {name}").format(name=name) if name else gettext("Tool result"),
        "failed": has_failed(block),
        "summary": text.strip().partition("\n")[0][:MAX_ROW_SUMMARY],
        "files": draw_stored(block.get("content")),
        "more": more,
        **_truncated(text, most),
    }


def list_sources(block: Block) -> list[PagePart]:
    """What a text cites, each source once: {title, url}; the url is "" where there is none."""
    found: dict[str, PagePart] = {}
    for citation in block.get("citations") or []:
        url = _http(citation.get("url"))
        title = citation.get("title") or citation.get("document_title") or url
        if title:
            title = clean_text(as_string(title))[:200]
            found.setdefault(url or title, {"title": title, "url": url})
    return list(found.values())


def has_failed(block: Block) -> bool:
    """Whether a result block reports a failure."""
    content = block.get("content")
    return bool(block.get("is_error")) or (
        isinstance(content, dict) and as_string(content.get("type")).endswith("_error")
    )


def render_result_text(block: Block) -> str:
    """A result as a person reads it."""
    return _text_of(block.get("content"))


def _text_of(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text_of(part) for part in content)
    if isinstance(content, dict):
        if content.get("type") == "text":
            return as_string(content.get("text"))
        if content.get("type") == "web_fetch_result":
            return _text_of(content.get("content"))
        if content.get("type") in ("image", "document"):
            source = content.get("source")
            if isinstance(source, dict) and source.get("type") == "text":
                return as_string(source.get("data"))
            return f"[{content['type']}]"
    return _pretty(content)


def _without_links(content: Any) -> str:
    """What a server's tool returned besides the pages that `_links` gives."""
    return "" if isinstance(content, list) and _links(content) else _text_of(content)


def _links(content: Any) -> list[PagePart]:
    """The pages that a web search found, or the one that was fetched."""
    pages = content if isinstance(content, list) else []
    if isinstance(content, dict) and content.get("type") == "web_fetch_result":
        document = content.get("content")
        title = document.get("title") if isinstance(document, dict) else None
        pages = [{"url": content.get("url"), "title": title}]
    return [
        {"title": clean_text(as_string(page.get("title")))[:200] or url, "url": url}
        for page in pages
        if isinstance(page, dict) and (url := _http(page.get("url")))
    ]


def _http(url: Any) -> str:
    """The address, if it is one that may be linked."""
    text = clean_text(as_string(url))
    return text if text.startswith(("http://", "https://")) else ""


def _seconds(value: Any) -> str:
    return format_seconds(value) if isinstance(value, int | float) else ""


def _truncated(text: str, most: int | None) -> PagePart:
    """The start of a long text, and how many characters were left out."""
    text = clean_text(text)
    return {"text": text[:most], "omitted": len(text) - len(text[:most])}


def _one_line(arguments: Any) -> str:
    """The arguments' values in a few words, for the folded row."""
    if isinstance(arguments, dict):
        text = ", ".join(v if isinstance(v, str) else _compact(v) for v in arguments.values())
    else:
        text = as_string(arguments)
    text = " ".join(clean_text(text[: MAX_ROW_SUMMARY * 4]).split())
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
