"""One call for one text of a summary: asked for, verified, audited and cut to size."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from agent.audit.audit import Mistake, audit, is_empty
from agent.audit.correction import apply_correction
from agent.audit.evidence import Source
from agent.audit.quotes import NO_QUOTES, GivenQuotes
from agent.compaction.chapters.cutting import cut_at_bullets, cut_to_tokens
from agent.compaction.chapters.statements import list_missing
from agent.compaction.chapters.superseding import drop_empty_sections
from agent.compaction.failures import Declined, SummaryRejected
from agent.compaction.instructions.named import mend_lines, split_instructions
from agent.compaction.reading.notation import Covered
from agent.compaction.reading.record import Record, read_rest
from agent.compaction.reading.replies import (
    BROKE_OFF,
    check_size,
    cover,
    list_needed,
    read_text,
    read_valid_record,
)
from agent.compaction.writing.choice import (
    MOST_CONTINUED,
    MOST_REJECTED,
    choose_max_tokens,
    choose_previous_chapters,
    choose_rest_tokens,
    text_fits,
)
from agent.compaction.writing.continuing import (
    CUT,
    ask_for_rest,
    join_rest,
    list_unwritten,
    read_complete,
)
from agent.compaction.writing.job import Ask, Draft, Job, WrittenSummary, convert_to_raw
from agent.compaction.writing.mending import Correction, plan_correction
from agent.compaction.writing.summary_requests import Form, build_serialised_request
from agent.context.request import Request
from agent.context.shortening.text_previews import shorten_text
from agent.errors import AgentError, gettext_noop
from agent.messages import AgentMessage, RawTokens
from agent.model.reply import Reply
from agent.tokens import TokenCounter

# What a request for the whole has room for of the statements that are wrong or too many: see
# `choice.FORM_TOKENS`.
MOST_MISTAKES, MISTAKE_CHARACTERS = 10, 200
NOT_TYPED = "the user typed no such sentence: answer with the words that they typed"


async def write_part(
    job: Job, result: WrittenSummary, messages: Sequence[AgentMessage], form: Form
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
    source: Sequence[AgentMessage],
    previous: str = "",
) -> str:
    """`write_checked_text` by the summary model, of text requests that fit its window."""

    def build_fitting(form: Form) -> Request:
        request = build(form)
        if not text_fits(job, request):
            raise SummaryRejected(gettext_noop("the request would not fit the window"))
        return request

    build_fitting(form)
    return await write_checked_text(job, result, job.ask, build_fitting, form, source, previous)


async def write_checked_text(
    job: Job,
    result: WrittenSummary,
    ask: Ask | None,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[AgentMessage],
    previous: str = "",
) -> str:
    """One chapter's text, verified and audited. It is asked for again where it is no summary, but
    not where the model declined; where it was cut at its limit, its rest is. Once in a compaction,
    the statements that the audit doubts are given back by themselves; or the whole, where it is too
    long."""
    assert ask, "a job without `ask` can only be looked at"
    return await _Writing(job, result, ask, build, form, source, previous).run()


@dataclass
class _Writing:
    """One text while it is being written: what `write_checked_text` is given."""

    job: Job
    result: WrittenSummary
    ask: Ask
    build: Callable[[Form], Request]
    form: Form
    source: Sequence[AgentMessage]
    previous: str

    async def run(self) -> str:
        result = self.result
        draft = await self._write_in_form()
        if _is_worth_another(draft, result):
            result.draft = draft if self._is_chapter else None
            if draft.findings.cut:
                result.corrected = result.shortened = True
                draft = await self._write_again(draft)
            elif correction := plan_correction(self.job, draft.findings, self.source):
                result.corrected = True
                better = self._correct(draft, correction)
                draft = await _take_better(better, draft, correction.mistakes)
            result.draft = None
        return result.use(draft, self.job.plan.summarise)

    # --- Asking -----------------------------------------------------------------------------------

    async def _write_in_form(self) -> Draft:
        """A text that is a summary, at the second attempt if need be."""
        try:
            return await self._write(self.form)
        except SummaryRejected as error:
            if isinstance(error, Declined) or self.result.extra >= MOST_REJECTED:
                raise
            self.result.corrected = True
            again = replace(self.form, correction=str(error), missing=error.missing)
            return await self._write(again)

    async def _write(self, form: Form) -> Draft:
        corrects = bool(form.correction or form.mistakes or form.too_many)
        reply = await self._send(self.ask, replace(self.build(form), corrects=corrects))
        try:
            if reply.stop_reason in CUT:
                return await self._complete(read_text(reply), form)
            return self._make_draft(
                read_valid_record(reply, self.source, self.previous, self._headings)
            )
        except SummaryRejected:
            self.result.rejected += 1
            raise

    async def _complete(self, text: str, form: Form) -> Draft:
        """A draft of what is whole in a reply that was cut, with its rest if one more request
        brings it; what is missing then is told."""
        result, headings = self.result, self._headings
        record, left = read_complete(text, headings, self._covered)
        if not record.sections:
            raise SummaryRejected(BROKE_OFF, missing=headings)
        if result.extra < MOST_CONTINUED:
            result.continued += 1
            with suppress(SummaryRejected):  # time may be up before there is more
                result.draft = self._make_draft(record.text, left) if self._is_chapter else None
            with suppress(AgentError, SummaryRejected):  # what is missing is told
                record, left = await self._write_rest(record, form, left)
            result.draft = None
        if 2 * len(record.missing) > len(headings):
            raise SummaryRejected(BROKE_OFF, missing=record.missing)
        return self._make_draft(record.text, left)

    async def _write_rest(
        self, record: Record, form: Form, left: list[str]
    ) -> tuple[Record, list[str]]:
        """A record with what was `left` to write of it, and what of that is missing still."""
        request = self.build(ask_for_rest(form, record, left))
        most = min(choose_rest_tokens(form), request.max_tokens)
        reply = await self._send(self.ask, replace(request, max_tokens=most))
        text, still_left = read_text(reply), list[str]()
        if reply.stop_reason in CUT:
            rest, still_left = read_complete(text, self._headings, self._covered)
        else:
            rest = read_rest(text, self._headings, self._covered, left[0])
            if not list_needed(rest):  # all was written again
                return rest, []
        record = join_rest(record, rest, left)
        return record, list_unwritten(record, left, still_left)

    async def _write_again(self, draft: Draft) -> Draft:
        """The draft corrected and shortened as a whole, or as it is where that is no better."""
        given_back = draft.findings.wrong[:MOST_MISTAKES]
        too_many = _shorten(draft.findings.cut[:MOST_MISTAKES])
        form = replace(self.form, mistakes=_shorten(given_back), too_many=too_many)
        better = await _take_better(self._write(form), draft, given_back)
        # What is not named again is not taken back.
        return replace(better, named=list(dict.fromkeys([*better.named, *draft.named])))

    async def _correct(self, draft: Draft, correction: Correction) -> Draft:
        """The draft with what a model answers for the statements that are doubted."""
        assert self.job.ask
        reply = await self._send(self.job.ask, replace(correction.request, corrects=True))
        said = "\n".join(block["text"] for block in reply.blocks if block["type"] == "text")
        text, given = apply_correction(draft.written, correction.mistakes, said)
        named, quoted = apply_correction("\n".join(draft.named), correction.mistakes, said)
        lines = mend_lines(named.splitlines(), quoted)
        better = self._check(text, lines, GivenQuotes(given, self.source))
        better.findings.unwritten = draft.findings.unwritten
        return better

    async def _send(self, ask: Ask, request: Request) -> Reply:
        reply = await ask(request)
        self.result.calls += 1
        return reply

    # --- Checking ---------------------------------------------------------------------------------

    def _make_draft(self, text: str, unwritten: Sequence[str] = ()) -> Draft:
        draft = self._check(*split_instructions(check_size(text, self.source, self.previous)))
        draft.findings.unwritten = [*unwritten]
        return draft

    def _check(self, written: str, named: Sequence[str], given: GivenQuotes = NO_QUOTES) -> Draft:
        whole, findings = audit(written, self._evidence, given)
        unfound = self.result.named.list_unfound(
            named, self.job.plan.summarise, self.result.earlier
        )
        findings.wrong += [Mistake(line, NOT_TYPED) for line in unfound]
        if is_empty(whole):
            raise Declined(gettext_noop("no message bears anything of it out"))
        text, cut = cut_draft(self.job, whole, self.form)
        # Only a hard limit has a text given back.
        findings.cut, findings.too_long = (cut, []) if self.form.hard else ([], cut)
        if is_empty(text):
            raise SummaryRejected(
                gettext_noop("it is too long, and has no bullets that could be left out")
            )
        return Draft(text, findings, named, written, whole)

    @cached_property
    def _evidence(self) -> Source:
        """The messages; what a new chapter replaces stands in those before it."""
        before = self.previous or choose_previous_chapters(self.job, self.result.chapters)
        return Source(self.source, before)

    @property
    def _headings(self) -> Sequence[str]:
        return self.form.skill.headings

    @cached_property
    def _covered(self) -> Covered:
        return cover(self.source)

    @property
    def _is_chapter(self) -> bool:
        """Whether the text is all of the chapter that is to be written, and not a part's."""
        covered = self.job.plan.summarise
        ends = covered[0].number, covered[-1].number
        return bool(self.source) and (self.source[0].number, self.source[-1].number) == ends


def _is_worth_another(draft: Draft, result: WrittenSummary) -> bool:
    """Whether it is given back, once for its mistakes and once for its size."""
    found = draft.findings
    return bool((found.wrong and not result.corrected) or (found.cut and not result.shortened))


async def _take_better(
    corrected: Awaitable[Draft], draft: Draft, mistakes: Sequence[Mistake]
) -> Draft:
    """What came of a correction, or the draft where that is no better."""
    given_back = _shorten(mistakes)
    try:
        better = await corrected
    except (AgentError, SummaryRejected) as error:
        draft.findings.given_back = [*given_back, f"The correction failed: {error}"]
        return draft
    if _weigh(better) > _weigh(draft):
        better = replace(draft, named=better.named)
    better.findings.given_back = given_back
    return better


def _weigh(draft: Draft) -> tuple[int, int, int, int]:
    """How much is wrong with it."""
    found = draft.findings
    return len(found.unwritten), found.failed, len(found.cut), len(found.dropped)


def _shorten(wrong: Sequence[Mistake | str]) -> list[str]:
    return [shorten_text(str(each), MISTAKE_CHARACTERS) for each in wrong]


def cut_draft(job: Job, text: str, form: Form) -> tuple[str, list[str]]:
    """A text within the size of its form, and the statements that it had to lose. A line that alone
    is larger than what was asked for is no statement: a weak model repeats itself in it, and the
    others would give way to it."""
    tokens = convert_to_raw(job, form.most)
    if form.hard:
        return cut_at_bullets(drop_empty_sections(text), tokens, job.counter)
    longest = convert_to_raw(job, form.tokens)
    lines = [line for line in text.splitlines() if job.counter.count(line) <= longest]
    short = cut_to_tokens("\n".join(lines), tokens, job.counter)
    return short, [each.text for each in list_missing(text, short)]


def cut_statements(text: str, tokens: RawTokens, counter: TokenCounter) -> tuple[str, list[str]]:
    """`cut_to_tokens`, and the statements that are not there any more as they were."""
    short = cut_to_tokens(text, tokens, counter)
    return short, [each.text for each in list_missing(text, short)]
