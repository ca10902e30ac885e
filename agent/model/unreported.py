"""What a call has cost whose server has not said so, because it runs still, was stopped, or broke
off: its request, and what was written until then, by our own count."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agent.context.request import Request
from agent.messages import RawTokens, RealTokens, Usage
from agent.model.reply import Reply
from agent.tokens import Factor, TokenCounter

# The field of a stored usage that marks an estimate: of the output alone, or of the request too.
ESTIMATED = "estimated"
OUTPUT, ALL = "output", "all"


def estimate_usage(
    reply: Reply, requested: RealTokens, factor: Factor, counter: TokenCounter
) -> Usage:
    """The usage of a reply's last call: never less than what its server reported. Exact where the
    report is final."""
    reported = reply.usage
    if reply.settled:
        return reported
    written = factor.apply(reply.written.count(counter))
    if not reported.request_tokens:
        reported = replace(reported, input_tokens=requested)
    return replace(reported, output_tokens=max(reported.output_tokens, written))


def count_request(request: Request, counter: TokenCounter) -> RawTokens:
    """Raw tokens of a request, all in all."""
    parts = [[*request.system], *(list(each["content"]) for each in request.messages)]
    tools = json.dumps(list(request.tools), ensure_ascii=False) if request.tools else ""
    return RawTokens(sum(map(counter.count_blocks, parts)) + counter.count(tools))


def is_estimated(usage: Mapping[str, Any] | None) -> bool:
    """Whether a stored usage was not reported in full."""
    return ESTIMATED in (usage or {})


def mark(usage: Usage, *, request_known: bool) -> dict[str, Any]:
    """An estimated usage as it is stored."""
    return usage.as_dict() | {ESTIMATED: OUTPUT if request_known else ALL}


@dataclass(eq=False)
class OpenCall:
    """A call for a whole reply whose last report has not come."""

    request: Request
    reply: Reply
    _counted: RawTokens | None = field(default=None, init=False)

    def estimate(self, factor: Factor, counter: TokenCounter) -> Usage:
        return estimate_usage(self.reply, factor.apply(self._count(counter)), factor, counter)

    def _count(self, counter: TokenCounter) -> RawTokens:
        if self._counted is None:
            self._counted = count_request(self.request, counter)
        return self._counted


class Spent(list[tuple[str, Usage]]):
    """The model and the reported usage of each call that has ended, also of those that were
    repeated; `open` are those that run, or broke off before their server had said what they cost
    in the end."""

    def __init__(self, calls: Iterable[tuple[str, Usage]] = ()) -> None:
        super().__init__(calls)
        self.open: list[OpenCall] = []
