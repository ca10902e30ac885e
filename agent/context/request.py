"""One Messages API call, and for how long the server keeps its prompt."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from agent.context.thinking import THINKING
from agent.messages import Block

Ttl = Literal["5m", "1h"]
CACHE_SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0}  # the API's two lifetimes


@dataclass(frozen=True)
class Request:
    """One Messages API call. `once`: no later prompt begins like this one, or the server keeps
    none, so writing it to the prompt cache, a quarter dearer than reading it, would be
    wasted. `final`: the model may not call the tools, which stay declared so that the prompt
    begins as before."""

    model: str
    max_tokens: int
    system: Sequence[Block]
    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = ()
    breakpoints: Sequence[int] = (0,)  # system blocks that a cached prefix ends with
    once: bool = False
    aside: bool = False  # no later prompt has the last message: it is not written to the cache
    final: bool = False
    show_thinking: bool = False
    cache_ttl: Ttl = "5m"

    @cached_property
    def data(self) -> bytes:
        """The body as it is sent, to be streamed: encoded once, since it takes some 5 ms a
        megabyte."""
        return encode_body(self.body())

    def body(self) -> dict[str, Any]:
        """The JSON body without `stream`. Unless it is sent `once`, it has breakpoints after the
        static system prompt, the last chapter, the end of the request before this one, and the
        last message: the API's four. From each the server looks back over 20 blocks only, and a
        round of many calls is longer than that."""
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "system": [dict(block) for block in self.system],
            "messages": [dict(message) for message in self.messages],
        }
        if self.tools:
            body["tools"] = list(self.tools)
            if self.final:
                body["tool_choice"] = {"type": "none"}
        if self.show_thinking:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
        if self.once:
            return body
        control = {"type": "ephemeral"}
        if self.cache_ttl != "5m":
            control["ttl"] = self.cache_ttl
        for index in self.breakpoints:
            if index < len(self.system):
                body["system"][index]["cache_control"] = control
        last = () if self.aside else body["messages"][-1:]
        for message in (*last, *_find_last_end(body["messages"])):
            *before, final = message["content"]
            if final["type"] not in THINKING:
                message["content"] = [*before, final | {"cache_control": control}]
        return body


def _find_last_end(messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The message that the request before this one ended with, if there was one: the model's
    newest words answered it."""
    said = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return messages[said[-1] - 1 : said[-1]] if said else ()


def encode_body(body: Mapping[str, Any]) -> bytes:
    """A body as it is sent, to be streamed."""
    streamed = {**body, "stream": True}
    text = json.dumps(streamed, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def choose_cache_ttl(pauses: Sequence[float]) -> Ttl:
    """For how long to ask the server to keep the prompt. `pauses`: seconds before each of the
    user's newest messages.

    To write for an hour costs 1.6 times as much and pays where the user comes back within the
    hour but not within five minutes: all that was sent before is then read, not written anew.
    """
    long = find_long_pause(pauses)
    return "1h" if long and long < CACHE_SECONDS["1h"] else "5m"


def find_long_pause(pauses: Sequence[float]) -> float | None:
    """The newest pause that outlived the shorter lifetime, in seconds; None: there was none."""
    return next((p for p in reversed(pauses) if p >= CACHE_SECONDS["5m"]), None)
