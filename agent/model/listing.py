"""What `GET /v1/models` says, in the forms of the API and of local servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Values of two settings, in the order in which people read them.
EFFORTS = ("low", "medium", "high", "xhigh", "max")
THINKING_TYPES = ("adaptive", "enabled", "disabled")


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a server says about a model; None where it says nothing. `efforts` and `thinking`: what
    the API lets choose from, in its order. `temperature`: whether a request may set one."""

    name: str
    display_name: str | None = None
    context_window: int | None = None
    max_output: int | None = None
    efforts: Sequence[str] = ()
    thinking: Sequence[str] = ()
    temperature: bool = False


def read_list(page: Mapping[str, Any]) -> list[ModelInfo]:
    """The models of an answer. OpenAI's form has only ids."""
    return [_read(model) for model in page.get("data") or []]  # null where Ollama has none yet


def _read(model: Mapping[str, Any]) -> ModelInfo:
    return ModelInfo(
        name=model["id"],
        display_name=model.get("display_name") or model["id"],
        context_window=_find_window(model),
        max_output=model.get("max_tokens"),
        efforts=_list_supported(model, "effort", EFFORTS),
        thinking=_list_supported(model, "thinking", THINKING_TYPES),
        # Anthropic's models refuse one, whoever passes the request on to them.
        temperature=model.get("object") == "model" and "claude" not in model["id"],
    )


def _list_supported(model: Mapping[str, Any], name: str, known: Sequence[str]) -> Sequence[str]:
    """Which values of a setting a model says that it has."""
    said = (model.get("capabilities") or {}).get(name) or {}
    values = said.get("types", said)
    return tuple(each for each in known if (values.get(each) or {}).get("supported"))


def _find_window(model: Mapping[str, Any]) -> int | None:
    """The context window where the API, vLLM or llama.cpp tell it; the last one, what it serves."""
    served = (model.get("meta") or {}).get("n_ctx")
    return model.get("max_input_tokens") or model.get("max_model_len") or served
