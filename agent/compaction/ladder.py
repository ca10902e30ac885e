"""Writing the next state of a summary, down the ladder: the methods of asking a model in their
order (`agent.compaction.writing.choice.LADDER`), and at its end the extract, which needs none.

Each method writes a chapter and checks it; where one fails, the next is tried. Nothing is stored
here.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from agent.attachments import with_texts
from agent.audit.audit import Findings
from agent.audit.grounding import REPLACED
from agent.audit.quotes import keep_quotes_in
from agent.authorship.typed import read_typed_words, read_written_text
from agent.clock import Days
from agent.compaction.chapters.chapter import Chapter, WrittenPart
from agent.compaction.chapters.merging import keep_own_work, select_statements
from agent.compaction.chapters.standing_pins import keep_edits, retire_pins
from agent.compaction.chapters.statements import (
    add_statements,
    join_statements,
    list_missing,
    list_statements,
)
from agent.compaction.chapters.superseding import (
    drop_empty_sections,
    join_current_work,
    split_current_work,
)
from agent.compaction.extraction.decisions import ValueChange, find_decisions
from agent.compaction.extraction.extract import extract
from agent.compaction.extraction.phrases import Phrases, choose_phrases
from agent.compaction.extraction.touched_files import list_touched_files
from agent.compaction.failures import Failure, SummaryRejected
from agent.compaction.instructions.named import Named
from agent.compaction.instructions.pins import Pin
from agent.compaction.plan import apply_compaction, render_chapters
from agent.compaction.policy import Method, Reason
from agent.compaction.writing.by_rule import record_by_rule
from agent.compaction.writing.choice import (
    MOST_REJECTED,
    Choice,
    choose,
    explain_why_not,
    list_methods_from,
    split_into_parts,
)
from agent.compaction.writing.deadline import OutOfTime, finish_in_time
from agent.compaction.writing.drafting import cut_draft, cut_statements
from agent.compaction.writing.job import Job, WrittenSummary, choose_form, convert_to_raw
from agent.compaction.writing.methods import WRITERS
from agent.compaction.writing.summary_requests import TranscriptPart as RequestPart
from agent.context.assemble import measure
from agent.context.shortening.text_previews import shorten_text
from agent.context.summary import CURRENT_WORK, DECISIONS, FILES
from agent.errors import AgentError, ErrorCode, gettext_noop
from agent.messages import AgentMessage, RawTokens

FILES_SHARE = 0.15  # of a chapter: for the files that tools were given
QUOTED = (500, 250, 120, 60, 30)  # characters: the first that there is room for
# Errors that no other way of asking would avoid.
HOPELESS = frozenset(
    {
        ErrorCode.BAD_KEY,
        ErrorCode.NO_CREDIT,
        ErrorCode.BUDGET_USED,
        ErrorCode.BUDGET_BUSY,
        ErrorCode.NOT_ALLOWED,
        ErrorCode.UNKNOWN_MODEL,
        ErrorCode.RATE_LIMITED,
    }
)


async def summarise(job: Job) -> WrittenSummary:
    """The next state: a new chapter for the plan, and all of them merged where they are too large.

    Goes from method to method down to the extract, which cannot fail, and at once when time is up.
    Raises SummaryRejected where there is nothing to read, or every method failed and no extract is
    wanted: switched off, or nobody waits and the next reply tries again.
    """
    result = await _record_and_write(job)
    if job.chapters:
        _, ended = split_current_work(keep_own_work(job.chapters[-1]).text)
        result.findings.ended = [each.text for each in list_statements(ended)]
    total = convert_to_raw(job, job.policy.total_tokens(job.context.limits))
    result.chapters, result.findings.left = select_statements(result.chapters, total, job.counter)
    return result


async def rewrite(job: Job) -> WrittenSummary:
    """A chapter of messages that a summary covers already, after `job.chapters`, those before it:
    the last one of the result. Raises SummaryRejected as `summarise` does."""
    return await _record_and_write(job, chapters=1)


async def _record_and_write(job: Job, *, chapters: int | None = None) -> WrittenSummary:
    """What came from elsewhere by rule, in so many chapters at most, and what was said since as
    usual."""
    elsewhere = job.elsewhere
    if not elsewhere:
        return await _write(job)
    recorded = await record_by_rule(job, elsewhere, most=chapters)
    if job.is_by_rule:
        result = WrittenSummary(recorded, Method.EXTRACT, Reason.NOT_AGREED)
        result.findings += _find_unread(job)
    else:
        result = await _write(replace(job.without_elsewhere(), chapters=recorded))
    tokens = sum(job.context.limits.factor.apply(message.tokens) for message in elsewhere)
    result.by_rule = {"messages": len(elsewhere), "tokens": tokens}
    return result


async def _write(job: Job) -> WrittenSummary:
    if not job.plan.summarise:
        raise SummaryRejected(gettext_noop("there is nothing to summarise"))
    job = await _with_files(job)
    choice = choose(job)
    result = WrittenSummary(
        list(job.chapters),
        choice.method,
        choice.reason,
        choice.dollars,
        failures=list(choice.skipped),
    )
    try:
        text = await finish_in_time(_ask(job, choice, result), job.time_up)
    except OutOfTime:
        text, result.reason = None, Reason.TIME_UP
        if result.draft:  # only its correction was late
            return _append(job, result, result.use(result.draft, job.plan.summarise))
        result.failures.append(Failure.skipped(result.method, Reason.TIME_UP))
    if text is not None:
        return _append(job, result, text)
    if choice.skipped or choice.method != Method.EXTRACT:  # not by setting
        if not job.policy.extract_on_failure or not await _is_waited_for(job):
            raise SummaryRejected(result.failures[-1].cause, result.failures)
        result.method = Method.EXTRACT
    result.findings += _find_unread(job)
    return _append(job, result, _extract(job, result))


async def _ask(job: Job, choice: Choice, result: WrittenSummary) -> str | None:
    """The plan's chapter by the first method that can; None where none can. What cannot be used is
    asked for at most `MOST_REJECTED` times, and never twice in the same words, except to have it
    corrected."""
    failed: list[Sequence[RequestPart]] = []
    for method in list_methods_from(choice.method):
        parts = [] if method == Method.WARM_PREFIX else split_into_parts(job, method)
        if parts in failed:
            continue
        if method != choice.method and (why := explain_why_not(job, method)):
            result.failures.append(Failure.skipped(method, why))
            continue
        result.method, before = method, result.findings
        try:
            return await WRITERS[method](job, result)
        except (AgentError, SummaryRejected) as error:
            result.findings, result.named = before, Named()
            result.failures.append(Failure.of(method, error))
            result.reason = Reason.FAILURE
            code = error.code if isinstance(error, AgentError) else None
            if code in HOPELESS or result.extra >= MOST_REJECTED:
                break
            if code != ErrorCode.TOO_LONG:  # smaller parts may do
                failed.append(parts)
        except asyncio.CancelledError:
            if not result.draft:
                result.findings, result.named = before, Named()
            raise
    return None


def _extract(job: Job, result: WrittenSummary) -> str:
    form = choose_form(job, result.chapters)
    tokens = convert_to_raw(job, min(form.tokens, form.most))
    text = extract(job.plan.summarise, tokens, job.counter, form.skill.chapter_headings)
    result.whole = text
    text, cut = cut_draft(job, text, form)
    result.findings += Findings(cut=cut)
    return text


def _find_unread(job: Job) -> Findings:
    """All that an extract covers: it quotes a few words of it."""
    covered = job.plan.summarise
    tokens = sum(job.context.limits.factor.apply(message.tokens) for message in covered)
    ends = f"#{covered[0].number}–#{covered[-1].number}"
    return Findings(left_out=[ends], unread_messages=len(covered), unread_tokens=tokens)


async def _is_waited_for(job: Job) -> bool:
    return job.is_waited_for is None or await job.is_waited_for()


async def _with_files(job: Job) -> Job:
    """The job with what attached text files say."""
    if job.read is None:
        return job
    covered = await with_texts(job.plan.summarise, job.read)
    return replace(job, plan=replace(job.plan, summarise=covered))


def _append(job: Job, result: WrittenSummary, text: str) -> WrittenSummary:
    """Add the chapter with the pins and values of the user's messages, and the last request."""
    covered = job.plan.summarise
    prompts = [message for message in covered if message.is_prompt]
    known = [entry for chapter in job.chapters for entry in chapter.index]
    index, changes = find_decisions(prompts, known)
    chapter = Chapter(
        text,
        first=covered[0].number,
        through=covered[-1].number,
        pins=_pins(result, prompts),
        index=tuple(index),
        days=Days.of(covered),
    )
    text, changed = drop_empty_sections(text), [each.render() for each in changes]
    room = _room_for_request(job, result, "\n".join([text, *changed]))
    request = _last_request(job, prompts[-1], room) if prompts else ""
    if not job.policy.is_short:  # that is cut already
        files = _list_files(job, result, text)
        rest = replace(chapter, text="\n".join([*changed, request, *files]))
        text, cut = cut_statements(text, _most(job, result, rest), job.counter)
        result.findings += Findings(too_long=cut)
        text = add_statements(text, FILES, files) if files else text
    text = _add_changes(text, changes)
    missing = list_missing(result.whole, text)
    body, work = split_current_work(text)
    text = join_current_work(body, "\n".join(filter(None, [work, request])))
    if missing:  # what was cut can be put back
        whole = join_statements([*list_statements(text), *missing])
        chapter = replace(chapter, parts=(WrittenPart(chapter.first, chapter.through, whole),))
    earlier = [keep_own_work(each) for each in result.chapters]
    quotes = keep_quotes_in(result.findings.quotes, *(part.text for part in chapter.written), text)
    chapters = [*earlier, replace(chapter, text=text, quotes=quotes)]
    result.chapters = keep_edits(retire_pins(chapters, result.named), job.edited)
    return result


def _list_files(job: Job, result: WrittenSummary, text: str) -> list[str]:
    """The files that the messages' calls touched, as bullets for a chapter with this text."""
    asked = choose_form(job, result.chapters).tokens
    return list_touched_files(
        job.plan.summarise,
        known=text,
        earlier="\n".join(chapter.text for chapter in result.chapters),
        tokens=convert_to_raw(job, int(asked * FILES_SHARE)),
        counter=job.counter,
    )


def _add_changes(text: str, changes: Sequence[ValueChange]) -> str:
    """The text with what the user changed and the model left out: without it, what a chapter says
    of the old value would seem to hold."""
    said = [line for line in text.splitlines() if REPLACED.match(line)]
    missing = [
        each.render()
        for each in changes
        if not any(each.old in line and each.new in line for line in said)
    ]
    return add_statements(text, DECISIONS, missing) if missing else text


def _pins(result: WrittenSummary, prompts: Sequence[AgentMessage]) -> tuple[Pin, ...]:
    """The user's standing instructions: those that the model named, with what it may have
    forgotten; or by their wording."""
    named = result.named
    add = named.add_by_rule if result.method == Method.EXTRACT else named.add_unnamed
    add(prompts, result.earlier)
    return named.in_order


def _room_for_request(job: Job, result: WrittenSummary, text: str) -> float:
    """Raw tokens that a hard limit leaves beside the text of the next chapter."""
    if not job.policy.is_short:
        return inf
    most = convert_to_raw(job, choose_form(job, result.chapters).tokens)
    return most - job.counter.count(f"{text}\n\n{CURRENT_WORK}\n")


def _last_request(job: Job, message: AgentMessage, room: float) -> str:
    """The user's own words in their last message, or where they typed none, what it holds: as many
    as there is room for, "" for none."""
    phrases = choose_phrases(job.plan.summarise)
    lines = (_quote_request(phrases, message, characters) for characters in QUOTED)
    return next((line for line in lines if job.counter.count(line) < room), "")


def _quote_request(phrases: Phrases, message: AgentMessage, characters: int) -> str:
    if own := read_typed_words(message):
        name, words = phrases.last_request, own
    else:
        name, words = phrases.last_sent, read_written_text(message)
    return f"- {name}: “{shorten_text(' '.join(words.split()), characters)}” [#{message.number}]"


def _most(job: Job, result: WrittenSummary, rest: Chapter) -> RawTokens:
    """Size of the next chapter's text beside the `rest` of it: what was asked for, and up to
    twice that while the context stays under its target."""
    asked = choose_form(job, result.chapters).tokens
    limits, policy = job.context.limits, job.policy
    summary = render_chapters([*result.chapters, rest], policy, limits, job.counter)
    after = measure(apply_compaction(job.context, job.plan, summary, policy), job.counter).total
    room = policy.target_tokens(limits) - after
    return convert_to_raw(job, max(asked, min(2 * asked, room)))
