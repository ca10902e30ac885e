"""One Messages API call, and for how long the server keeps its request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf
from typing import Any, Literal

from agent.context.thinking import THINKING
from agent.messages import ApiMessage, Block, encode_json
from agent.model_names import find_id

Ttl = Literal["5m", "1h"]
CACHE_SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0}  # the API's two lifetimes
# Of the trigger: tokens between two pauses. The surcharge is 0.75 of the input price for all that
# is written, after compactions too; it saves 1.2 for the context of a pause, of which a summary
# that is prepared in the pause leaves about a quarter of the trigger.
HOUR_WORTH = 0.3


LEAST_THINKING = 1_024  # tokens: the API's least budget for models that take one
LEAST_REPLY = 2 * LEAST_THINKING  # tokens of a reply that leaves room for it


@dataclass(frozen=True, slots=True)
class ReplySettings:
    """How a person wants replies; what is empty is not sent, and the model does as it does by
    itself. `thinking` is one of the API's types."""

    effort: str = ""
    thinking: str = ""
    temperature: float | None = None

    @property
    def changes_prefix(self) -> bool:
        """Whether the server caches the messages apart from those of a request without it."""
        return bool(self.effort or self.thinking)

    def body(self, max_tokens: int, *, show_thinking: bool) -> dict[str, Any]:
        """The fields of a request for a reply of so many tokens."""
        fields: dict[str, Any] = {}
        if thinking := self._thinking(max_tokens, show=show_thinking):
            fields["thinking"] = thinking
        if self.effort:
            fields["output_config"] = {"effort": self.effort}
        if self.temperature is not None:
            fields["temperature"] = self.temperature
        return fields

    def _thinking(self, max_tokens: int, *, show: bool) -> dict[str, Any] | None:
        if self.thinking == "disabled":
            return {"type": "disabled"}
        if self.thinking == "enabled":
            # Older models want to know how much; too short a reply leaves no room for it.
            enough = max_tokens >= LEAST_REPLY
            return {"type": "enabled", "budget_tokens": max_tokens // 2} if enough else None
        if self.thinking or show:
            return {"type": "adaptive", "display": "summarized"}
        return None


@dataclass(frozen=True)
class Request:
    """One Messages API call. `once`: no later request begins like this one, or the server keeps
    none, so writing it to the prompt cache, a quarter dearer than reading it, would be
    wasted. `final`: the model may not call the tools, which stay declared so that the prompt
    begins as before. `container`: where the server's tools go on that it ran in this turn."""

    model: str
    max_tokens: int
    system: Sequence[Block]
    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = ()
    breakpoints: Sequence[int] = (0,)  # system blocks that a cached prefix ends with
    once: bool = False
    aside: bool = False  # no later request has the last message: it is not written to the cache
    final: bool = False
    corrects: bool = False  # it gives a text back to be corrected
    show_thinking: bool = False
    cache_ttl: Ttl = "5m"
    reply: ReplySettings = ReplySettings()
    container: str = ""

    @cached_property
    def data(self) -> bytes:
        """The body as it is sent, to be streamed: encoded once, since it takes some 5 ms a
        megabyte."""
        return encode_body(self.body())

    @property
    def is_encoded(self) -> bool:
        return "data" in self.__dict__

    def body(self) -> dict[str, Any]:
        """The JSON body without `stream`. Unless it is sent `once`, it has breakpoints after the
        static system prompt, the last chapter, the end of the request before this one, and the
        last message: the API's four. From each the server looks back over 20 blocks only, and a
        round of many calls is longer than that."""
        body: dict[str, Any] = {
            "model": find_id(self.model),
            "max_tokens": self.max_tokens,
            "system": [dict(block) for block in self.system],
            "messages": list(self.messages),
        }
        if self.tools:
            body["tools"] = list(self.tools)
            if self.final:
                body["tool_choice"] = {"type": "none"}
        if self.container:
            body["container"] = self.container
        body |= self.reply.body(self.max_tokens, show_thinking=self.show_thinking)
        if self.once:
            return body
        control = {"type": "ephemeral"}
        if self.cache_ttl != "5m":
            control["ttl"] = self.cache_ttl
        for index in self.breakpoints:
            if index < len(self.system):
                body["system"][index]["cache_control"] = control
        for index in self._list_ends():
            message = body["messages"][index]
            *before, final = message["content"]
            if final["type"] not in THINKING:
                content = [*before, final | {"cache_control": control}]
                body["messages"][index] = message | {"content": content}
        return body

    def _list_ends(self) -> set[int]:
        """Where the messages stand that requests end with: this one, unless no later one begins
        like it, and the one before it, if there was one, which the model's newest words
        answered."""
        last = len(self.messages) - 1
        said = (i for i in range(last, 0, -1) if self.messages[i]["role"] == "assistant")
        ends = {index - 1 for index in islice(said, 1)}
        return ends if self.aside or last < 0 else ends | {last}


def encode_body(body: Mapping[str, Any]) -> bytes:
    """A body as it is sent, to be streamed."""
    # Those that stay the same were encoded for an earlier request.
    messages = [m.data if isinstance(m, ApiMessage) else encode_json(m) for m in body["messages"]]
    rest = encode_json({name: value for name, value in body.items() if name != "messages"})
    return b'{"stream":true,"messages":[%b],%b' % (b",".join(messages), rest[1:])


def choose_cache_ttl(
    pauses: Sequence[float], written: int = 0, bridged: int = 0, trigger: float = inf
) -> Ttl:
    """For how long to ask the server to keep the request. `pauses`: seconds before each of the
    user's newest messages; of the whole conversation: `written`, the tokens of its messages, and
    `bridged`, its pauses that only an hour outlives; `trigger`: tokens at which it is compacted.

    To write for an hour costs 1.6 times as much and pays where the user comes back within the
    hour but not within five minutes: all that was sent before is then read, not written anew. Not
    where so much is written between two such pauses, as by an agent, that its surcharge is more.
    """
    long = find_long_pause(pauses)
    much = written > max(trigger, HOUR_WORTH * trigger * bridged)
    return "1h" if long and long < CACHE_SECONDS["1h"] and not much else "5m"


def count_bridged(pauses: Sequence[float]) -> int:
    """How many pauses an hour's cache outlives and the shorter one does not."""
    return sum(CACHE_SECONDS["5m"] <= pause < CACHE_SECONDS["1h"] for pause in pauses)


def find_long_pause(pauses: Sequence[float]) -> float | None:
    """The newest pause that outlived the shorter lifetime, in seconds; None: there was none."""
    return next((p for p in reversed(pauses) if p >= CACHE_SECONDS["5m"]), None)
