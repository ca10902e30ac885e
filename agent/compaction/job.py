"""One compaction as the engine gets it, and what it gives back."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent.attachments import Read
from agent.compaction.chapters import Chapter
from agent.compaction.plan import (
    Plan,
    Policy,
    compacted,
)
from agent.compaction.requests import (
    PROMPT,
    Form,
)
from agent.compaction.verify import Findings
from agent.context.assemble import (
    Context,
    measure,
)
from agent.context.request import Request
from agent.limits import Limits
from agent.messages import Message
from agent.model.reply import Reply
from agent.tokens import TokenCounter


class Completes(Protocol):
    """What is needed of `agent.model.client.Client`."""

    async def complete(self, request: Request) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that can write summaries. Prices in US dollars per million tokens."""

    client: Completes
    model: str
    limits: Limits
    input_price: float = 0.0
    cache_read_price: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """One compaction: what to read and what is already there.

    `warm` says that the server still caches the conversation's last request. `originals` gives
    the messages of earlier chapters back, for a merge, and `read` the bytes of attached files.
    `waited_for` tells whether anybody waits for the summary by now; without it, somebody does.
    """

    context: Context
    plan: Plan
    chapters: Sequence[Chapter]
    used: int  # tokens of the context now
    policy: Policy
    counter: TokenCounter
    own: Writer  # the conversation's model
    writer: Writer  # the summary model; may be the same
    warm: bool = False
    focus: str = ""
    originals: Callable[[int, int], Awaitable[Sequence[Message]]] | None = None
    progress: Callable[[str], Awaitable[None]] | None = None
    read: Read | None = None
    waited_for: Callable[[], Awaitable[bool]] | None = None


@dataclass
class Result:
    """A new state of the summary, how it was made and what it took. `failures` names the rungs that
    failed before, each with its reason."""

    chapters: list[Chapter]
    engine: str
    reason: str
    calls: int = 0  # of a model; `agent.model.client.Client` books what they cost
    failures: list[str] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)

    @property
    def audit(self) -> dict[str, Any]:
        return self.findings.as_dict() | {"failures": self.failures, "calls": self.calls}


def instruction_tokens(job: Job) -> int:
    """Real tokens of the instruction itself."""
    return job.writer.limits.factor.apply(job.counter.count(PROMPT + job.focus))


def next_form(job: Job, result: Result) -> Form:
    """The next chapter's, after those that there are: smaller where the kept messages leave less
    room under the target than planned."""
    limits = job.context.limits
    kept = measure(compacted(job.context, job.plan, job.context.summary, job.policy), job.counter)
    room = job.policy.target_tokens(limits) - kept.total
    written = tokens_of(job, result.chapters)
    return Form(job.policy.chapter_tokens(limits, written, room), job.focus)


def tokens_of(job: Job, chapters: Sequence[Chapter]) -> int:
    """Real tokens of chapters."""
    text = "\n\n".join(chapter.text for chapter in chapters)
    return job.context.limits.factor.apply(job.counter.count(text))
