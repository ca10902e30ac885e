"""The models that the server lists, as `GET /v1/models` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.model.rules import EFFORTS

CREATED_AT = "2026-11-01T00:00:00Z"
CREATED_AT_SECONDS = 1793491200


@dataclass(frozen=True)
class ListedModel:
    """One listed model; `window` and `max_output` in tokens. `efforts` and `thinking` are what it
    says that it can be set to."""

    id: str = "everlong-demo"
    window: int = 8192
    max_output: int = 1024
    display_name: str = "Demo (no AI)"
    efforts: Sequence[str] = ()
    thinking: Sequence[str] = ("disabled",)

    def info(self) -> dict[str, Any]:
        """The model in the Messages API's form."""
        return {
            "type": "model",
            "id": self.id,
            "display_name": self.display_name,
            "created_at": CREATED_AT,
            "max_input_tokens": self.window,
            "max_tokens": self.max_output,
            "lifecycle": "active",
            "line": None,
            "deprecated_at": None,
            "retires_at": None,
            "capabilities": _capabilities(self.efforts, self.thinking),
        }

    def openai_info(self) -> dict[str, Any]:
        """The model in the form that Ollama lists, which says nothing about its window."""
        return {
            "id": self.id,
            "object": "model",
            "created": CREATED_AT_SECONDS,
            "owned_by": "library",
        }


DEMO_MODEL = ListedModel()
OLLAMA_MODEL = ListedModel(id="qwen3:8b", window=4096, max_output=4096, display_name="qwen3:8b")


def list_models(models: Sequence[ListedModel], *, ollama: bool) -> dict[str, Any]:
    """The body of `GET /v1/models`."""
    if ollama:
        return {"object": "list", "data": [model.openai_info() for model in models]}
    return {
        "data": [model.info() for model in models],
        "first_id": models[0].id if models else None,
        "last_id": models[-1].id if models else None,
        "has_more": False,
    }


def _capabilities(efforts: Sequence[str], thinking: Sequence[str]) -> dict[str, Any]:
    no, yes = {"supported": False}, {"supported": True}
    kinds = ("adaptive", "between_tools", "disabled", "enabled")
    return {
        "batch": no,
        "citations": no,
        "code_execution": no,
        "context_management": {
            "supported": False,
            "clear_thinking_20251015": no,
            "clear_tool_uses_20250919": no,
            "compact_20260112": no,
        },
        "effort": {
            "supported": bool(efforts),
            **{each: yes if each in efforts else no for each in EFFORTS},
        },
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": False, "code_execution": no, "web_search": no},
        "structured_outputs": no,
        "thinking": {
            "supported": bool({*thinking} - {"disabled"}),
            "types": {kind: yes if kind in thinking else no for kind in kinds},
        },
    }
