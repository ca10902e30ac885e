"""What `GET /v1/models` says, in the forms of the API and of local servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Values of two settings, in the order in which people read them.
EFFORTS = ("low", "medium", "high", "xhigh", "max")
LONGEST_ID = 160  # characters
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
    listed = page.get("data") or []  # null where Ollama has none yet
    entries = listed if isinstance(listed, list) else []
    return [_read(each) for each in entries if isinstance(each, dict) and _is_id(each.get("id"))]


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and 0 < len(value) <= LONGEST_ID


def _read(model: Mapping[str, Any]) -> ModelInfo:
    return ModelInfo(
        name=model["id"],
        display_name=_clean(str(model.get("display_name") or model["id"])),
        context_window=_find_window(model),
        max_output=_find_tokens(model.get("max_tokens")),
        efforts=_list_supported(model, "effort", EFFORTS),
        thinking=_list_supported(model, "thinking", THINKING_TYPES),
        # Anthropic's models refuse one, whoever passes the request on to them.
        temperature=model.get("object") == "model" and "claude" not in model["id"],
    )


def _list_supported(model: Mapping[str, Any], name: str, known: Sequence[str]) -> Sequence[str]:
    """Which values of a setting a model says that it has."""
    said = _object(_object(model.get("capabilities")).get(name))
    values = _object(said.get("types", said))
    return tuple(each for each in known if _object(values.get(each)).get("supported") is True)


def _clean(text: str) -> str:
    return "".join(filter(str.isprintable, text))[:LONGEST_ID]


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _find_tokens(*values: object) -> int | None:
    """The first that is a number of tokens, and not more than a table holds."""
    return next((each for each in values if isinstance(each, int) and 0 < each < 2**31), None)


def _find_window(model: Mapping[str, Any]) -> int | None:
    """The context window where the API, vLLM or llama.cpp tell it; the last one, what it serves."""
    served = _object(model.get("meta")).get("n_ctx")
    return _find_tokens(model.get("max_input_tokens"), model.get("max_model_len"), served)
