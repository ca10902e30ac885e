"""Files as the transcript shows them: of a message, and those that a tool returned."""

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy

from agent.attachments import find_reference
from agent.messages import Block
from chat.html.sanitiser import as_string

KINDS = {"image": gettext_lazy("Image"), "document": gettext_lazy("Document")}

PagePart = dict[str, Any]


def draw_attachment(block: Block) -> PagePart:
    """What the template needs of an image or a document."""
    kind = as_string(block.get("type"))
    source = block.get("source")
    media_type = as_string(source.get("media_type")) if isinstance(source, dict) else ""
    name = as_string(block.get("title")) or KINDS[kind]
    stored = find_reference(block)
    return {
        "kind": "attachment",
        "type": kind,
        "name": str(name)[:120],
        "media_type": media_type[:80],
        "url": reverse("attachment", args=[stored["id"]]) if stored else "",
        "size": (stored.get("original_bytes") or stored["bytes"]) if stored else 0,
        "as_text": bool(stored and stored.get("original_bytes")),
        "encoding": as_string(stored.get("encoding"))[:40] if stored else "",
    }


def draw_stored(blocks: Any) -> list[PagePart]:
    """Those of some blocks that are kept here; whatever is stored in their place."""
    parts = blocks if isinstance(blocks, list) else []
    return [draw_attachment(b) for b in parts if isinstance(b, dict) and find_reference(b)]
