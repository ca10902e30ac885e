"""Is this a request that the Messages API would accept? Independent of the code that builds one.

Only the standard library is used, so that a mistake in request assembly cannot hide here. Two
rules are the product's and stricter than some models': no thinking of finished turns for models
that ignore it, and no prefill at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent.model.message_rules import Rules, find_message_violations

MAX_BODY_BYTES = 32 * 1024 * 1024
API_VERSION = "2026-10-21"
MAX_BREAKPOINTS = 4
KNOWN_FIELDS = {
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "thinking",
    "tool_choice",
    "tools",
    "user_profile_id",
}
FIELDS_OF_COUNTING = KNOWN_FIELDS - {"max_tokens", "stream", "metadata", "stop_sequences"}
SAMPLING_FIELDS = ("temperature", "top_p", "top_k")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MODEL_5 = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-5(?:-|$)")
ALWAYS_THINKS = re.compile(r"claude-(?:opus-5-5|fable-5|mythos-5)(?:-|$)")
# Opus since 4.5, Sonnet since 4.6, and all of version 5 and later.
KEEPS_THINKING = re.compile(
    r"claude-(?:opus-4-(?:[5-9]|\d\d)|sonnet-4-(?:[6-9]|\d\d)|[a-z]+-(?:[5-9]|\d\d))(?:-|$)"
)


def find_violations(
    request_body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    window: int | None = None,
    request_tokens: int | None = None,
    body_bytes: int | None = None,
    counting: bool = False,
    resumed: bool = False,
    sampling: bool = False,
) -> list[str]:
    """Every rule that the request breaks, one line each; an empty list means valid.

    headers: checked if given (any case). window: tokens; request + max_tokens must fit into it.
    request_tokens: its count, by default a quarter of its bytes. body_bytes: the size as
    sent, by default that of compact JSON. counting: judge it as a count_tokens request. resumed:
    it sends a paused reply back, and may end with the assistant's words. sampling: its server takes
    a temperature, as local ones do.
    """
    found = list(_top_level(request_body, counting))
    found += _sampling(request_body, allowed=sampling)
    if headers is not None:
        found += _headers(headers)
    found += _system(request_body.get("system"))
    found += _tools(request_body)
    keeps_thinking = bool(KEEPS_THINKING.match(str(request_body.get("model"))))
    rules = Rules(_tool_names(request_body), resumed, keeps_thinking)
    found += find_message_violations(request_body.get("messages"), rules)
    found += _thinking_setting(request_body)
    found += _breakpoints(request_body)
    found += _size(request_body, window, request_tokens, body_bytes)
    return found


def _top_level(body: Mapping[str, Any], counting: bool) -> Iterator[str]:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        yield "model: a non-empty string is required"
    if not counting:
        limit = body.get("max_tokens")
        if not isinstance(limit, int) or isinstance(limit, bool):
            yield "max_tokens: an integer is required"
        elif limit < 1:
            yield "max_tokens: must be at least 1"
    if not isinstance(body.get("stream", False), bool):
        yield "stream: must be a boolean"
    allowed = FIELDS_OF_COUNTING if counting else KNOWN_FIELDS
    for name in body:
        if name not in allowed and name not in SAMPLING_FIELDS:
            yield f"{name}: Extra inputs are not permitted"
    stops = body.get("stop_sequences") or []
    if not isinstance(stops, list) or not all(isinstance(s, str) and s.strip() for s in stops):
        yield "stop_sequences: must be a list of strings that are not blank"


def _sampling(body: Mapping[str, Any], *, allowed: bool) -> Iterator[str]:
    for name in SAMPLING_FIELDS:
        if name in body and not (allowed and name == "temperature"):
            yield f"{name}: sampling parameters are not supported"
    temperature = body.get("temperature", 0.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        yield "temperature: a number is required"
    elif not 0 <= temperature <= 2:
        yield "temperature: must be from 0 to 2"


def _headers(headers: Mapping[str, str]) -> Iterator[str]:
    lower = {name.lower(): value for name, value in headers.items()}
    if lower.get("anthropic-version") != API_VERSION:
        yield f"headers: anthropic-version must be {API_VERSION}"
    bearer = lower.get("authorization", "")
    has_bearer = bool(re.fullmatch(r"[Bb]earer \S+", bearer))
    if not has_bearer and not lower.get("x-api-key"):
        yield "headers: Authorization: Bearer or x-api-key is required"


def _system(system: Any) -> Iterator[str]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield "system: must be a string or a list of text blocks"
        return
    for index, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            yield f"system.{index}: must be a text block"
        elif not isinstance(block.get("text"), str) or not block["text"].strip():
            yield f"system.{index}: text must not be empty"


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        yield "tools: must be a list"
        return
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            yield f"tools.{index}: name must match ^{TOOL_NAME.pattern}$"
            continue
        if name in seen:
            yield f"tools.{index}: tool names must be unique: {name}"
        seen.add(name)
        # A tool with a versioned type is the server's own and brings its schema.
        schema = tool.get("input_schema")
        if tool.get("type", "custom") == "custom" and (
            not isinstance(schema, dict) or schema.get("type") != "object"
        ):
            yield f"tools.{index}: input_schema must be an object schema"
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not isinstance(choice, dict) or choice.get("type") not in ("auto", "none", "any", "tool"):
        yield "tool_choice: unknown type"
    elif choice["type"] in ("any", "tool"):
        yield f"tool_choice: forcing a tool ({choice['type']}) is not supported"
    elif not tools:
        yield "tool_choice: may only be given with tools"


def _tool_names(body: Mapping[str, Any]) -> frozenset[str]:
    tools = body.get("tools")
    if not isinstance(tools, list):
        return frozenset()
    return frozenset(
        tool["name"]
        for tool in tools
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    )


def _thinking_setting(body: Mapping[str, Any]) -> Iterator[str]:
    config = body.get("output_config", {})
    if not isinstance(config, dict) or config.get("effort", "low") not in EFFORTS:
        yield f"output_config: effort must be one of {', '.join(EFFORTS)}"
    setting = body.get("thinking")
    if setting is None:
        return
    kind = setting.get("type") if isinstance(setting, dict) else None
    if kind not in ("adaptive", "enabled", "disabled", "between_tools"):
        yield "thinking: unknown type"
        return
    model = str(body.get("model"))
    if kind == "disabled" and ALWAYS_THINKS.match(model):
        yield "thinking: disabled is not supported by this model"
    if MODEL_5.match(model):
        if "budget_tokens" in setting:
            yield "thinking: budget_tokens is not supported by this model"
    elif kind == "enabled":
        budget, limit = setting.get("budget_tokens"), body.get("max_tokens")
        if not isinstance(budget, int) or budget < 1024:
            yield "thinking: budget_tokens must be at least 1024"
        elif isinstance(limit, int) and budget >= limit:
            yield "thinking: budget_tokens must be less than max_tokens"


def _breakpoints(body: Mapping[str, Any]) -> Iterator[str]:
    """Rules of cache_control, in the order in which the API reads the request."""
    number, shorter_came = 0, False
    for place, block in _cacheable(body):
        control = block.get("cache_control")
        if control is None:
            continue
        number += 1
        if not isinstance(control, dict) or control.get("type") != "ephemeral":
            yield f"{place}: cache_control type must be ephemeral"
            continue
        ttl = control.get("ttl", "5m")
        if ttl not in ("5m", "1h"):
            yield f"{place}: cache_control ttl must be 5m or 1h"
        if ttl == "1h" and shorter_came:
            yield f"{place}: a 1h cache_control must not come after a 5m one"
        shorter_came = shorter_came or ttl == "5m"
        if block.get("type") in ("thinking", "redacted_thinking"):
            yield f"{place}: cache_control is not allowed on thinking"
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            yield f"{place}: cache_control cannot be set for empty text blocks"
    if number > MAX_BREAKPOINTS:
        yield f"cache_control: {number} breakpoints, at most {MAX_BREAKPOINTS} are allowed"


def _cacheable(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for section in ("tools", "system"):
        value = body.get(section)
        for index, block in enumerate(value if isinstance(value, list) else []):
            if isinstance(block, dict):
                yield f"{section}.{index}", block
    messages = body.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else []):
        content = message.get("content") if isinstance(message, dict) else None
        for at, block in enumerate(content if isinstance(content, list) else []):
            if not isinstance(block, dict):
                continue
            inner = block.get("content")
            for nested in inner if isinstance(inner, list) else []:
                if isinstance(nested, dict):
                    yield f"messages.{index}.content.{at}.content", nested
            yield f"messages.{index}.content.{at}", block
    if body.get("cache_control") is not None:
        yield "cache_control", {"cache_control": body["cache_control"]}


def _size(
    body: Mapping[str, Any], window: int | None, request_tokens: int | None, body_bytes: int | None
) -> Iterator[str]:
    size = body_bytes
    if size is None:
        size = _json_bytes(dict(body))
    if size > MAX_BODY_BYTES:
        yield f"body: {size} bytes exceed the maximum of {MAX_BODY_BYTES}"
    if window is None:
        return
    if request_tokens is None:
        parts = {name: body.get(name) for name in ("system", "tools", "messages")}
        request_tokens = _json_bytes(parts) // 4
    limit = body.get("max_tokens")
    limit = limit if isinstance(limit, int) else 0
    if request_tokens > window:
        yield f"prompt is too long: {request_tokens} tokens > {window} maximum"
    elif request_tokens + limit > window:
        yield f"prompt ({request_tokens}) and max_tokens ({limit}) exceed the window ({window})"


def _json_bytes(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "surrogatepass"))
