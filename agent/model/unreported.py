"""What a call has cost whose server has not said so, because it runs still, was stopped, or broke
off: its request, and what was written until then, by our own count."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.context.request import Request
from agent.errors import AgentError, ErrorCode
from agent.messages import RawTokens, RealTokens, Usage
from agent.model.reply import Reply
from agent.tokens import Factor, TokenCounter

# The field of a stored usage that marks an estimate: of the output alone, or of the request too.
ESTIMATED = "estimated"
ONLY_OUTPUT, WHOLE_USAGE = "output", "all"
# After these nobody knows what the server made of the request.
_UNSURE = (ErrorCode.CONNECTION_LOST, ErrorCode.TIMEOUT, ErrorCode.STREAM_CUT)


def was_refused(reply: Reply, error: BaseException | None) -> bool:
    """Whether a call ended before the server began to answer, in a way that costs nothing."""
    return not reply.begun and isinstance(error, AgentError) and error.code not in _UNSURE


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
    return replace(
        reported,
        output_tokens=max(reported.output_tokens, written),
        web_search_requests=max(reported.web_search_requests, reply.searches),
    )


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
    return usage.as_dict() | {ESTIMATED: ONLY_OUTPUT if request_known else WHOLE_USAGE}
