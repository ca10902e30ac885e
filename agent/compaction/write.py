"""One call for one text of a summary: asked for, verified, audited and cut to size."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from agent.compaction.borne_out import NO_QUOTES, GivenQuotes
from agent.compaction.chapters import cut_to_tokens
from agent.compaction.choice import (
    MOST_REJECTED,
    choose_max_tokens,
    choose_previous_chapters,
    does_text_fit,
)
from agent.compaction.correction import Correction, apply_correction, plan_correction
from agent.compaction.cutting import cut_at_bullets, drop_unfinished
from agent.compaction.evidence import Source
from agent.compaction.failures import Declined, SummaryRejected
from agent.compaction.instructions import list_unfound, mend_lines, split_instructions
from agent.compaction.job import Ask, Draft, Job, WrittenSummary, convert_to_raw
from agent.compaction.newer import drop_empty_sections
from agent.compaction.requests import Form, build_serialised_request
from agent.compaction.skills import HEADINGS
from agent.compaction.statements import list_statements
from agent.compaction.verify import Mistake, audit, is_empty
from agent.context.pruning import shorten_text
from agent.context.request import Request
from agent.errors import AgentError, gettext_noop
from agent.messages import Message, RawTokens, plain_text
from agent.model.reply import Reply
from agent.tokens import TokenCounter

CUT = ("max_tokens", "model_context_window_exceeded")
# What a request for the whole has room for of the statements that are wrong or too many: see
# `choice.FORM_TOKENS`.
MOST_MISTAKES, MISTAKE_CHARACTERS = 10, 200
NOT_TYPED = "the user typed no such sentence: answer with the words that they typed"


async def write_part(
    job: Job, result: WrittenSummary, messages: Sequence[Message], form: Form
) -> str:
    """A chapter of some messages by the summary model."""
    previous = choose_previous_chapters(job, result.chapters)

    def build(form: Form) -> Request:
        return build_serialised_request(
            messages, previous, form, model=job.writer.name, max_tokens=choose_max_tokens(job, form)
        )

    return await write_text(job, result, build, form, messages)


async def write_text(
    job: Job,
    result: WrittenSummary,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[Message],
    previous: str = "",
) -> str:
    """`write_checked_text` by the summary model, of a text request that fits its window."""
    if not does_text_fit(job, build(form)):
        raise SummaryRejected(gettext_noop("the request would not fit the window"))
    return await write_checked_text(job, result, job.ask, build, form, source, previous)


async def write_checked_text(
    job: Job,
    result: WrittenSummary,
    ask: Ask | None,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[Message],
    previous: str = "",
) -> str:
    """One chapter's text, verified and audited. It is asked for again where it is no summary, but
    not where the model declined. Once in a compaction, the statements that the audit doubts are
    given back by themselves; or the whole, where it is too long."""
    assert ask, "a job without `ask` can only be looked at"
    # What a new chapter replaces stands in those before it.
    evidence = Source(source, previous or choose_previous_chapters(job, result.chapters))

    def check(written: str, named: Sequence[str], given: GivenQuotes = NO_QUOTES) -> Draft:
        text, findings = audit(written, evidence, given)
        unfound = list_unfound(named, job.plan.summarise, result.earlier)
        findings.wrong += [Mistake(line, NOT_TYPED) for line in unfound]
        if is_empty(text):
            raise Declined(gettext_noop("no message bears anything of it out"))
        text, cut = cut_text(job, text, form)
        # Only a hard limit has a text given back.
        findings.cut, findings.too_long = (cut, []) if form.hard else ([], cut)
        if is_empty(text):
            raise SummaryRejected(
                gettext_noop("it is too long, and has no bullets that could be left out")
            )
        return Draft(text, findings, named, written)

    async def write(form: Form) -> Draft:
        reply = await ask(build(form))
        result.calls += 1
        try:
            text, named = split_instructions(verify(reply, source, previous, form.skill.headings))
            if form.hard and reply.stop_reason in CUT:
                text = drop_unfinished(text)
            return check(text, named)
        except SummaryRejected:
            result.rejected += 1
            raise

    async def correct(draft: Draft, correction: Correction) -> Draft:
        assert job.ask
        reply = await job.ask(correction.request)
        result.calls += 1
        text, given = apply_correction(draft.written, correction.mistakes, reply)
        named, quoted = apply_correction("\n".join(draft.named), correction.mistakes, reply)
        lines = mend_lines(named.splitlines(), quoted)
        return check(text, lines, GivenQuotes(given, source))

    draft = await _write_in_form(write, form, result)
    if _is_worth_another(draft, result):
        result.draft = draft if covers(job, source) else None
        if draft.findings.cut:
            result.corrected = result.shortened = True
            draft = await _write_again(write, form, draft)
        elif correction := plan_correction(job, draft.findings, source):
            result.corrected = True
            draft = await _take_better(correct(draft, correction), draft, correction.mistakes)
        result.draft = None
    return result.use(draft, job.plan.summarise)


def cut_text(job: Job, text: str, form: Form) -> tuple[str, list[str]]:
    """A text within the size of its form, and the statements that it had to lose. A line that alone
    is larger than what was asked for is no statement: a weak model repeats itself in it, and the
    others would give way to it."""
    tokens = convert_to_raw(job, form.most)
    if form.hard:
        return cut_at_bullets(drop_empty_sections(text), tokens, job.counter)
    longest = convert_to_raw(job, form.tokens)
    lines = [line for line in text.splitlines() if job.counter.count(line) <= longest]
    return cut_statements("\n".join(lines), tokens, job.counter)


def cut_statements(text: str, tokens: RawTokens, counter: TokenCounter) -> tuple[str, list[str]]:
    """`cut_to_tokens`, and the statements that are not there any more as they were."""
    short = cut_to_tokens(text, tokens, counter)
    kept = {each.text for each in list_statements(short)}
    return short, [each.text for each in list_statements(text) if each.text not in kept]


def _is_worth_another(draft: Draft, result: WrittenSummary) -> bool:
    """Whether it is given back, once for its mistakes and once for its size."""
    found = draft.findings
    return bool((found.wrong and not result.corrected) or (found.cut and not result.shortened))


async def _write_in_form(
    write: Callable[[Form], Awaitable[Draft]], form: Form, result: WrittenSummary
) -> Draft:
    """A text that is a summary, at the second attempt if need be."""
    try:
        return await write(form)
    except SummaryRejected as error:
        if isinstance(error, Declined) or result.rejected >= MOST_REJECTED:
            raise
        result.corrected = True
        return await write(replace(form, correction=str(error)))


async def _write_again(
    write: Callable[[Form], Awaitable[Draft]], form: Form, draft: Draft
) -> Draft:
    """The draft corrected and shortened as a whole, or as it is where that is no better."""
    wrong = draft.findings.wrong
    given_back = wrong[:MOST_MISTAKES]
    too_many = shorten_mistakes(draft.findings.cut[:MOST_MISTAKES])
    again = write(replace(form, mistakes=shorten_mistakes(given_back), too_many=too_many))
    better = await _take_better(again, draft, given_back)
    # What is not named again is not taken back.
    return replace(better, named=list(dict.fromkeys([*better.named, *draft.named])))


async def _take_better(
    corrected: Awaitable[Draft], draft: Draft, mistakes: Sequence[Mistake]
) -> Draft:
    """What came of a correction, or the draft where that is no better."""
    given_back = shorten_mistakes(mistakes)
    try:
        better = await corrected
    except (AgentError, SummaryRejected) as error:
        draft.findings.given_back = [*given_back, f"The correction failed: {error}"]
        return draft
    if _weigh(better) > _weigh(draft):
        better = replace(draft, named=better.named)
    better.findings.given_back = given_back
    return better


def _weigh(draft: Draft) -> tuple[int, int, int]:
    """How much is wrong with it."""
    return draft.findings.failed, len(draft.findings.cut), len(draft.findings.dropped)


def covers(job: Job, source: Sequence[Message]) -> bool:
    """Whether a text of some messages is all of the chapter that is to be written."""
    ends = job.plan.summarise[0].number, job.plan.summarise[-1].number
    return bool(source) and (source[0].number, source[-1].number) == ends


def shorten_mistakes(wrong: Sequence[Mistake | str]) -> list[str]:
    return [shorten_text(str(each), MISTAKE_CHARACTERS) for each in wrong]


def verify(
    reply: Reply,
    source: Sequence[Message],
    previous: str = "",
    headings: Sequence[str] = HEADINGS,
) -> str:
    """The chapter's text, or `SummaryRejected`: refused, a tool call, empty, without the headings,
    or not smaller than what it replaces: the source, and the `previous` records that it merges."""
    if reply.stop_reason == "refusal":
        raise Declined(gettext_noop("the model refused to summarise this part"))
    if any(block["type"] == "tool_use" for block in reply.blocks):
        raise SummaryRejected(gettext_noop("it calls a tool instead of being a summary"))
    text = "\n\n".join(b["text"] for b in reply.blocks if b["type"] == "text").strip()
    if not text:
        raise SummaryRejected(gettext_noop("it is empty"))
    found = {line[3:].strip().casefold() for line in text.splitlines() if line.startswith("## ")}
    missing = [heading for heading in headings if heading.casefold() not in found]
    # A summary cut at its limit lacks the last headings only, and what it has is worth keeping.
    if missing and (reply.stop_reason not in CUT or len(missing) > len(headings) // 2):
        raise SummaryRejected(f"the heading “{missing[0]}” is missing")
    replaced = len(previous) + sum(len(plain_text(message.blocks)) for message in source)
    if len(text) > max(replaced, 2_000):
        raise SummaryRejected(gettext_noop("it is longer than what it replaces"))
    return text
