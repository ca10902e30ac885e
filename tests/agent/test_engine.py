"""The engine as a whole: conversations of any shape, a summariser that fails in any way, edits and
other models in between."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from agent.audit.evidence import UNVERIFIED
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.ladder import summarise
from agent.compaction.plan import apply_compaction, find_protected_first, plan_compaction
from agent.compaction.policy import METHODS, ContextLoad, Policy, Trigger, find_trigger
from agent.compaction.skills import HEADINGS
from agent.compaction.writing.job import Job
from agent.context.assemble import Context, assemble, measure
from agent.context.request import Request
from agent.context.shortening.pruning import plan_pruning
from agent.context.shortening.trimming import trim
from agent.context.summary import Summary
from agent.errors import AgentError
from agent.messages import AgentMessage, Block, Usage, plain_text
from agent.model.reply import Reply
from agent.model.rules import find_violations
from agent.tokens import Limits, Model, Prices
from tests.agent.conversations import COUNTER, TOOLS, call, limits, message, result, sizes, text

SUMMARY = "\n".join(f"## {heading}\n- Something was said." for heading in HEADINGS)


def replied(*blocks: Block, stop_reason: str = "end_turn") -> Reply:
    return Reply(list(blocks), stop_reason, usage=Usage(100, 10), complete=True)


def refused(code: str) -> Callable[[], Reply]:
    def fail() -> Reply:
        raise AgentError(code, f"The server says: {code}.", retryable=code == "overloaded")

    return fail


OUTCOMES: dict[str, Callable[[], Reply]] = {
    "good": lambda: replied(text(SUMMARY)),
    "good again": lambda: replied(text(SUMMARY)),
    "invented": lambda: replied(text(SUMMARY + "\n- The port is 48151 [#1]")),
    "empty": lambda: replied(),
    "no headings": lambda: replied(text("They talked.")),
    "a tool call": lambda: replied(call("x"), stop_reason="tool_use"),
    # In few bullets: the audit looks at each, which would be most of what the test costs.
    "far too long": lambda: replied(text(SUMMARY + f"\n- {'blah ' * 24}" * 400)),
    "refusal": lambda: replied(stop_reason="refusal"),
    "too long": refused("too_long"),
    "overloaded": refused("overloaded"),
    "no credit": refused("no_credit"),
}


@dataclass
class Summariser:
    """A model whose replies are drawn by chance; every request is checked as the API would."""

    limits: Limits
    chance: random.Random

    async def complete(self, request: Request) -> Reply:
        assert_acceptable(request, self.limits)
        name = self.chance.choice(list(OUTCOMES))
        event(f"the summariser's reply: {name}")
        return OUTCOMES[name]()


def assert_acceptable(request: Request, limits: Limits) -> None:
    assert find_violations(request.body()) == []
    raw = sum(COUNTER.count(block["text"]) for block in request.system)
    raw += sum(COUNTER.count_blocks(m["content"]) for m in request.messages)
    assert limits.factor.apply(raw) + request.max_tokens <= limits.window


@dataclass
class Conversation:
    """What the services keep in the database: all messages, and each version of the summary with
    the number of the last message that it covers."""

    limits: Limits
    policy: Policy
    chance: random.Random
    said: list[AgentMessage] = field(default_factory=list)
    versions: list[tuple[int, list[Chapter]]] = field(default_factory=list)
    pruned_through: int = 0
    next_number: int = 1

    @property
    def context(self) -> Context:
        through, chapters = self.versions[-1] if self.versions else (0, [])
        keeps_first = through and self.policy.keep_first_message
        return Context(
            model="claude-test",
            limits=self.limits,
            summary=render_summary(chapters, pin_tokens=500, index_tokens=500, counter=COUNTER)
            if chapters
            else Summary(),
            summary_through=through,
            first=self.said[0] if keeps_first else None,
            messages=[m for m in self.said if m.number > through],
            pruned_through=self.pruned_through,
        )

    def say(self, role: str, blocks: list[Block]) -> None:
        self.said.append(
            message(self.next_number, "user" if role == "user" else "assistant", blocks)
        )
        self.next_number += 1

    def edit(self, index: int) -> None:
        """Another branch from a prompt on; only summaries of what it still holds count."""
        prompts = [i for i, m in enumerate(self.said) if m.is_prompt]
        if prompts:
            del self.said[prompts[index % len(prompts)] :]
            last = self.said[-1].number if self.said else 0
            self.versions = [v for v in self.versions if v[0] <= last]
            event("edited")

    def switch(self, new: Limits) -> None:
        if measure(self.context, COUNTER).total > new.request_limit:
            self.compact("model_switch")
        self.limits = new

    def compact(self, trigger: Trigger) -> bool:
        context, size = self.context, measure(self.context, COUNTER)
        made = plan_compaction(
            context.messages,
            self.policy,
            self.limits,
            fixed=size.system + size.summary,
            first=find_protected_first(context, self.policy),
            trigger=trigger,
        )
        if made is None:
            return False
        assert [*made.summarise, *made.keep] == list(context.messages)
        writer = Model("claude-test", self.limits, Prices.of(2.0, cache_read=0.2))
        ask = Summariser(self.limits, self.chance).complete
        chapters = self.versions[-1][1] if self.versions else []
        job = Job(
            context=context,
            plan=made,
            chapters=chapters,
            used=size.total,
            policy=self.policy,
            counter=COUNTER,
            own=writer,
            writer=writer,
            warm=self.chance.random() < 0.5,
            ask=ask,
            ask_own=ask,
        )
        written = asyncio.run(summarise(job))
        event(f"engine: {written.method}")
        after = render_summary(written.chapters, pin_tokens=500, index_tokens=500, counter=COUNTER)
        new = measure(apply_compaction(context, made, after, self.policy), COUNTER)
        if new.total >= size.total:
            event("rejected: not smaller")
            return False
        covered = [(c.first, c.through) for c in written.chapters]
        assert covered[-1] == (made.summarise[0].number, made.summarise[-1].number)
        assert all(a[1] < b[0] for a, b in zip(covered, covered[1:], strict=False))
        lines = [line for chapter in written.chapters for line in chapter.text.splitlines()]
        assert all(line.endswith(UNVERIFIED) for line in lines if "48151" in line)
        texts = "\n\n".join(chapter.text for chapter in written.chapters)
        total = self.policy.total_tokens(self.limits)
        assert self.limits.factor.apply(COUNTER.count(texts)) <= total + len(covered)
        # The last request's line, pins and index come on top of what was planned.
        target = self.policy.target_tokens(self.limits) + self.limits.factor.apply(1_300)
        if sum(m.is_prompt for m in made.keep) > 1:
            assert new.total <= target
            event("under the target")
        self.versions.append((covered[-1][1], written.chapters))
        return True

    def ask(self) -> None:
        """The next request, as a turn makes it."""
        context = self.context
        size = measure(context, COUNTER).total
        pruning = plan_pruning(
            context.messages,
            self.pruned_through,
            self.limits,
            COUNTER,
        )
        if pruning and find_trigger(ContextLoad(size, self.limits), self.policy):
            self.pruned_through = pruning.through
        for _ in range(self.policy.overflow_tries):
            trigger = find_trigger(
                ContextLoad(measure(self.context, COUNTER).total, self.limits), self.policy
            )
            if trigger is None or not self.compact(trigger):
                break
        context = trim(self.context, COUNTER)
        if measure(context, COUNTER).total <= self.limits.request_limit:
            assert_acceptable(assemble(replace(context, tools=TOOLS)), self.limits)
        else:
            event("the last turn alone does not fit")


@dataclass(frozen=True)
class Said:
    """A long text in few words, so that a failing example can be read."""

    words: str
    tokens: int

    @property
    def text(self) -> str:
        return self.words * max(1, self.tokens * 7 // (2 * len(self.words.encode())))


def said(high: int = 300_000) -> st.SearchStrategy[Said]:
    """Up to so many tokens of text."""
    words = st.sampled_from(["word ", "日本", "db-1 port 5433 ", "Always do x. "])
    return st.builds(Said, words, sizes(1, high))


steps = st.one_of(
    st.tuples(st.just("exchange"), said(), said(20_000)),
    st.tuples(st.just("exchange"), said(2_000), said(20_000)),
    st.tuples(st.just("tools"), st.integers(1, 6), said()),
    st.tuples(st.just("edit"), st.integers(0, 100)),
    st.tuples(st.just("switch"), limits(16_000)),
    st.tuples(st.just("compact")),
)


policies = st.builds(
    Policy,
    keep_first_message=st.booleans(),
    engine=st.sampled_from(METHODS),
    input_characters=st.sampled_from([0, 0, 20_000]),
)


@given(
    st.lists(steps, min_size=2, max_size=14),
    limits(16_000),
    policies,
    st.integers(0, 2**32),
)
@settings(max_examples=150)
def test_whatever_happens_requests_are_valid_nothing_is_lost_and_it_ends(
    script: list[tuple], window: Limits, policy: Policy, seed: int
) -> None:
    conversation = Conversation(window, policy, random.Random(seed))
    for kind, *values in script:
        match kind:
            case "exchange":
                conversation.say("user", [text(values[0].text)])
                conversation.ask()
                conversation.say("assistant", [text(values[1].text)])
            case "tools":
                conversation.say("user", [text("Look it up.")])
                for number in range(values[0]):
                    call_id = f"c{conversation.next_number}-{number}"
                    conversation.say("assistant", [call(call_id)])
                    conversation.say("user", [result(call_id, values[1].text)])
                    conversation.ask()
                conversation.say("assistant", [text("Found.")])
            case "edit":
                conversation.edit(values[0])
            case "switch":
                conversation.switch(values[0])
            case "compact":
                before = [plain_text(m.blocks) for m in conversation.said]
                conversation.compact("manual")
                assert [plain_text(m.blocks) for m in conversation.said] == before
    event(f"{min(len(conversation.versions), 4)} versions")
