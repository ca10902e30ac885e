"""One compaction as it is asked for, and the result that it returns."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any

from agent.attachments import Read
from agent.audit.audit import Findings
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.standing_pins import list_pins
from agent.compaction.failures import Failure
from agent.compaction.instructions.named import Named
from agent.compaction.instructions.pins import Pin
from agent.compaction.plan import Plan, apply_compaction
from agent.compaction.policy import Method, Policy, Reason
from agent.compaction.skills import SKILLS, Skill
from agent.compaction.writing.summary_requests import Form
from agent.context.assemble import Context, measure
from agent.context.request import Request
from agent.messages import AgentMessage, RawTokens, RealTokens
from agent.model.reply import Reply
from agent.tokens import Model, TokenCounter

Ask = Callable[[Request], Awaitable[Reply]]  # as `agent.model.client.Client.complete`


@dataclass(frozen=True, slots=True)
class Job:
    """One compaction: what to read and what is already there.

    `warm` says that the server still caches the conversation's last request. `ask` sends requests
    to the summary model and `ask_own` to the conversation's; without them a job can be looked at
    (`agent.compaction.writing.choice.choose`), but not done. `read` gives the bytes of attached
    files. `is_waited_for` tells whether anybody waits for the summary by now; without it, somebody
    does. `time_up` returns when nobody should wait any longer; without it, there is time.
    `edited`: pins that the user changed on the page. `by_rule_through`: what has a number up to
    that is recorded by rule, and no model reads it.
    """

    context: Context
    plan: Plan
    chapters: Sequence[Chapter]
    used: RealTokens  # of the context now
    policy: Policy
    counter: TokenCounter
    own: Model  # the conversation's
    writer: Model  # the one that writes the summary; may be the same
    warm: bool = False
    focus: str = ""
    ask: Ask | None = None
    ask_own: Ask | None = None
    progress: Callable[[str], Awaitable[None]] | None = None
    read: Read | None = None
    is_waited_for: Callable[[], Awaitable[bool]] | None = None
    time_up: Callable[[], Awaitable[None]] | None = None
    edited: Sequence[Pin] = ()
    unreported: RealTokens = RealTokens(0)  # how much of `used` is an estimate
    by_rule_through: int = 0

    @property
    def elsewhere(self) -> Sequence[AgentMessage]:
        """What is to be summarised by rule."""
        return [each for each in self.plan.summarise if each.number <= self.by_rule_through]

    @property
    def is_by_rule(self) -> bool:
        """Whether all of it is, so that no model is asked."""
        return bool(self.by_rule_through) and len(self.elsewhere) == len(self.plan.summarise)

    def without_elsewhere(self) -> "Job":
        """The part of it that a model is asked for."""
        rest = [each for each in self.plan.summarise if each.number > self.by_rule_through]
        return replace(self, plan=replace(self.plan, summarise=rest))

    @property
    def skill(self) -> Skill:
        """The form that is set, with what it asks for."""
        return SKILLS[self.policy.summary_form]


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that a model wrote, what the audit found in it, the user's instructions that it names,
    the text as it was `written`, before the audit, and the `whole` of it, before it was cut."""

    text: str
    findings: Findings
    named: Sequence[str]
    written: str = ""
    whole: str = ""


@dataclass
class WrittenSummary:
    """A new state of the summary, how it was made and what it took. `dollars`: what the methods
    that were compared would cost, estimated. `draft`: the chapter while it is being corrected;
    `whole`: its text before it was cut."""

    chapters: list[Chapter]
    method: Method
    reason: Reason
    dollars: Mapping[Method, Decimal] = field(default_factory=dict)
    calls: int = 0  # of a model; a ledger books what they cost
    rejected: int = 0  # replies for this chapter that could not be used
    continued: int = 0  # replies that were cut at their limit, whose rest was asked for
    failures: list[Failure] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    named: Named = field(default_factory=Named)  # of the user's standing instructions
    corrected: bool = False  # whether a text was given back for correction: once is enough
    shortened: bool = False  # whether one was given back because it was too long
    draft: Draft | None = None
    whole: str = ""
    by_rule: Mapping[str, int] = field(
        default_factory=dict
    )  # how many messages, of how many tokens

    @property
    def extra(self) -> int:
        """Requests that were made, or will be, because of replies that were no whole summary."""
        return self.rejected + self.continued

    def use(self, draft: Draft, covered: Sequence[AgentMessage]) -> str:
        """Take a draft's findings and instructions over; its text."""
        self.named.add(draft.named, covered, self.earlier)
        self.findings += draft.findings
        self.whole = draft.whole
        return draft.text

    @property
    def earlier(self) -> Sequence[Pin]:
        """The pins of the chapters before the one that is being written."""
        return list_pins(self.chapters)

    @property
    def audit(self) -> dict[str, Any]:
        return self.findings.as_dict() | {
            "failures": [asdict(each) for each in self.failures],
            "not_pinned": self.named.not_pinned,
            "dollars": {method: float(dollars) for method, dollars in self.dollars.items()},
            "calls": self.calls,
            **({"by_rule": dict(self.by_rule)} if self.by_rule else {}),
        }


def count_instruction_tokens(job: Job) -> RealTokens:
    """Tokens of the instruction itself."""
    return job.writer.limits.factor.apply(job.counter.count(job.skill.text + job.focus))


def choose_form(job: Job, chapters: Sequence[Chapter]) -> Form:
    """The form of the next chapter: smaller where the kept messages leave less room
    under the target than planned."""
    limits = job.context.limits
    kept = measure(
        apply_compaction(job.context, job.plan, job.context.summary, job.policy), job.counter
    )
    room = job.policy.target_tokens(limits) - kept.total
    written = count_chapter_tokens(job, chapters)
    return make_form(job, job.policy.chapter_tokens(limits, written, room))


def make_form(job: Job, tokens: int) -> Form:
    """What is asked for, with a size in tokens."""
    return Form(tokens, job.focus, skill=job.skill, hard=job.policy.is_short)


def count_chapter_tokens(job: Job, chapters: Sequence[Chapter]) -> RealTokens:
    """Tokens of chapters, for the conversation's model."""
    text = "\n\n".join(chapter.text for chapter in chapters)
    return job.context.limits.factor.apply(job.counter.count(text))


def convert_to_raw(job: Job, real: int) -> RawTokens:
    """How many raw tokens fill so many of the conversation's model."""
    return job.context.limits.factor.raw(real)
