"""How a summary will be written: by setting, or the cheapest way that fits. Pure, so that the
preview shows what will really run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import takewhile
from math import inf

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.standing_pins import list_standing
from agent.compaction.chapters.superseding import combine, join_current_work
from agent.compaction.failures import Failure
from agent.compaction.policy import Method, Reason
from agent.compaction.skills import INSTRUCTIONS
from agent.compaction.writing.job import Job, choose_form, count_instruction_tokens, make_form
from agent.compaction.writing.summary_requests import (
    NOTES_CHARACTERS,
    Form,
    TranscriptPart,
    build_serialised_request,
    choose_warm_max_tokens,
    count_unsent,
    shorten_message,
    split_messages,
    write_warm_instruction,
)
from agent.context.assemble import measure
from agent.context.request import Request
from agent.context.shortening.previews import sum_sent_tokens
from agent.messages import RealTokens, Usage, plain_text
from agent.tokens import Limits

# The ways to ask a model, from the best to the last resort.
LADDER = (Method.WARM_PREFIX, Method.SERIALISED, Method.CHUNKS, Method.WITHOUT_OVERSIZED)
# Tokens of the writing model's window that are not for reading where it reads in parts: a reply of
# 4,000 at most, 8,000 of thinking, the instruction, and what the estimates of these miss. At most
# this share of a small window.
PART_RESERVE = 20_000
PART_RESERVE_SHARE = 0.20
# Share of the rest that one part takes: the second is for estimates that were too low.
CHUNK_SHARES = (0.40, 0.15)
MARGIN = 1.2
# Shares of the same model's request limit: for the chapters shown with a part, and for all parts'
# records when they are merged.
PREVIOUS_SHARE = 0.20
RECORDS_SHARE = 0.40
FORM_TOKENS = 1_000  # at most: what a request says of its size and focus, and its tags
SMALLEST_RECORD = 150  # tokens; more parts than that allows are given up
# Replies of a chapter that cannot be used, or not without another, before no model is asked any
# more, and before the rest of one that was cut is not asked for.
MOST_REJECTED, MOST_CONTINUED = 3, 2
# Many models think before they write, and their thinking counts as output.
THINKING_TOKENS = 8_000
REST_THINKING_TOKENS = 2_000  # of which the rest of a record needs less


@dataclass(frozen=True, slots=True)
class Choice:
    """The `method` to begin with and why. `skipped`: those before it that do not fit; `dollars`:
    what those that were compared cost, estimated."""

    method: Method
    reason: Reason
    skipped: Sequence[Failure] = ()
    dollars: Mapping[Method, Decimal] = field(default_factory=dict)

    @property
    def price(self) -> Decimal:
        """US dollars of writing, estimated."""
        return self.dollars.get(self.method, Decimal(0))


def choose(job: Job) -> Choice:
    """The first way: the one that is set, else the warm prefix where it is cached, fits and costs
    no more; where that does not fit, the next one that does, down to the extract."""
    if job.policy.engine != Method.AUTO:
        return _first_fitting(job, job.policy.engine, Reason.BY_SETTING)
    if not job.warm:
        return _first_fitting(job, Method.SERIALISED, Reason.NOT_CACHED)
    if why := explain_why_not(job, Method.WARM_PREFIX):
        return _first_fitting(job, Method.SERIALISED, why)
    other = _first_fitting(job, Method.SERIALISED, Reason.PRICE)
    dollars = {Method.WARM_PREFIX: estimate_cost(job, Method.WARM_PREFIX), **other.dollars}
    if other.method == Method.EXTRACT or dollars[Method.WARM_PREFIX] <= other.price:
        return Choice(Method.WARM_PREFIX, Reason.PRICE, dollars=dollars)
    return replace(other, dollars=dollars)


def _first_fitting(job: Job, first: Method, reason: Reason) -> Choice:
    skipped: list[Failure] = []
    for method in list_methods_from(first):
        why = explain_why_not(job, method)
        if why is None:
            return Choice(method, reason, skipped, {method: estimate_cost(job, method)})
        skipped.append(Failure.skipped(method, why))
        reason = why
    return Choice(Method.EXTRACT, reason, skipped)


def list_methods_from(first: Method) -> Sequence[Method]:
    """A method that asks a model and those after it; nothing for the extract."""
    return LADDER[LADDER.index(first) :] if first in LADDER else ()


def explain_why_not(job: Job, method: Method) -> Reason | None:
    """Why a method's requests cannot be sent; None where they can."""
    if method == Method.WARM_PREFIX:
        return _why_not_warm(job)
    parts = split_into_parts(job, method)
    if method == Method.SERIALISED and len(parts) > 1:
        return Reason.TOO_LARGE
    form = choose_part_form(job, job.chapters, len(parts))
    if form is None:
        return Reason.TOO_MANY_PARTS
    return None if all(_fits(job, part, form) for part in parts) else Reason.TOO_LARGE


def _why_not_warm(job: Job) -> Reason | None:
    if job.plan.summarise[0].number <= job.context.summary_through:
        return Reason.NOT_IN_PREFIX
    # The meter may know better than the estimate, or know less of what came last.
    used = max(job.used, measure(job.context, job.counter).total)
    # What no reply has reported is sent where its turn was broken off, and may be more.
    guessed = job.unreported - _count_unsent_tokens(job)
    missed = int((MARGIN - 1) * max(0, guessed))
    fits = used + missed + _warm_tokens(job) <= job.own.limits.request_limit
    return None if fits else Reason.TOO_LARGE


def _count_unsent_tokens(job: Job) -> int:
    """Tokens of the prompts that a warm prefix leaves out."""
    messages = job.context.messages
    unsent = messages[len(messages) - count_unsent(job.context) :]
    return sum_sent_tokens(unsent, job.context.limits)


def _warm_tokens(job: Job) -> RealTokens:
    """Tokens of the instruction after a warm prefix."""
    form = make_form(job, job.policy.summary_max_tokens)
    instruction = write_warm_instruction(job.plan.summarise, form)
    return job.own.limits.factor.apply(job.counter.count(instruction))


def _fits(job: Job, part: TranscriptPart, form: Form) -> bool:
    """Whether one request can hold a part: counted exactly where the estimate is close."""
    limit = job.writer.limits.request_limit
    around = count_instruction_tokens(job) + PREVIOUS_SHARE * limit + FORM_TOKENS
    if MARGIN * part.tokens + around <= limit:
        return True
    previous = choose_previous_chapters(job, job.chapters)
    request = build_serialised_request(
        part.messages,
        previous,
        form,
        model=job.writer.name,
        max_tokens=choose_max_tokens(job, form),
    )
    return text_fits(job, request)


def text_fits(job: Job, request: Request) -> bool:
    """Whether a request of one text fits the summary model's window."""
    (message,) = request.messages
    limits = job.writer.limits
    text = job.skill.text + plain_text(message["content"])
    return limits.factor.apply(job.counter.count(text)) <= limits.request_limit


def choose_max_tokens(job: Job, form: Form) -> int:
    """Limit of the reply: twice what is asked for, because code cuts what is a little too long, and
    room for thinking."""
    return min(2 * form.tokens + THINKING_TOKENS, job.writer.limits.reserve)


def choose_rest_tokens(form: Form) -> int:
    """Limit of a reply that is the rest of one which was cut, with some room for thinking."""
    return form.most + REST_THINKING_TOKENS


def choose_previous_chapters(job: Job, chapters: Sequence[Chapter]) -> str:
    """The newest chapters that leave room for what is to be read: with the small window of some
    summary models, not all of them do."""
    limits = job.writer.limits
    room = int(limits.request_limit * PREVIOUS_SHARE)
    texts, work = combine([chapter.text for chapter in chapters if not chapter.gap])
    room -= limits.factor.apply(job.counter.count(work))
    fitting: list[str] = []
    for text in reversed(texts):
        room -= limits.factor.apply(job.counter.count(text))
        if room < 0:
            break
        fitting.insert(0, text)
    # What the model may name as taken back.
    if standing := list_standing(chapters):
        fitting.append("\n".join([f"## {INSTRUCTIONS}", *(pin.render() for pin in standing)]))
    return join_current_work("\n\n".join(fitting), work)


def split_into_parts(
    job: Job, method: Method, share: float = CHUNK_SHARES[0]
) -> list[TranscriptPart]:
    """What each request of a method reads: together all messages, of which only those are cut that
    alone are too large. `share`: of what can be read, for one chunk."""
    limits = job.writer.limits
    readable = _count_readable(limits)
    cap = job.policy.input_characters or inf  # of a request, where a cheap model reads
    messages = list(job.plan.summarise)
    if cap != inf:
        messages = [shorten_message(each, int(cap) - NOTES_CHARACTERS) for each in messages]
    room = readable * share / MARGIN
    if method == Method.SERIALISED:
        previous = job.counter.count(choose_previous_chapters(job, job.chapters))
        room = limits.request_limit / MARGIN - count_instruction_tokens(job)
        room -= limits.factor.apply(previous)
    elif method == Method.WITHOUT_OVERSIZED:
        most = int(readable * CHUNK_SHARES[-1])
        messages = [shorten_message(message, most // 2) for message in messages]
        room = most / MARGIN
    return split_messages(messages, int(room), limits.factor, job.counter, cap)


def _count_readable(limits: Limits) -> int:
    """Tokens of a window of which parts take their shares."""
    reserve = min(PART_RESERVE, int(PART_RESERVE_SHARE * limits.window))
    return min(limits.request_limit, limits.window - reserve)


def choose_part_form(job: Job, chapters: Sequence[Chapter], parts: int) -> Form | None:
    """The form of the record of each of so many parts; None where the records together could not be
    merged."""
    form = choose_form(job, chapters)
    limits = job.writer.limits
    # A record may be twice as long as asked for, in tokens of the conversation's model.
    factor = limits.factor.value / job.context.limits.factor.value
    most = int(limits.request_limit * RECORDS_SHARE / factor / (2 * parts))
    if most < SMALLEST_RECORD:
        return None
    if parts == 1:
        return form
    # Records that will be merged have no hard limit: what one lacks, no merge brings back.
    return replace(form, tokens=min(form.tokens, most), hard=False)


def estimate_cost(job: Job, method: Method) -> Decimal:
    """US dollars of a summary by a method whose requests fit and whose replies can be used."""
    written = choose_form(job, job.chapters).tokens
    if method == Method.WARM_PREFIX:
        return job.own.prices.dollars(_warm_usage(job, written))
    parts = split_into_parts(job, method)
    read = sum(part.tokens for part in parts) + _count_around(job) * len(parts)
    form = choose_part_form(job, job.chapters, len(parts))
    if form and len(parts) > 1:  # the parts' records are written, read and merged
        records = form.tokens * len(parts)
        read, written = read + records + count_instruction_tokens(job), written + records
    return job.writer.prices.dollars(Usage(read, written))


def estimate_most(job: Job, choice: Choice) -> Decimal:
    """US dollars that a summary may take: the replies at their limit, thinking included, and as
    many more requests as follow where none can be used, or all is given back."""
    methods = list_methods_from(choice.method)
    if not methods:
        return Decimal(0)
    form = choose_form(job, job.chapters)
    whole = sum(_list_prices(job, choice.method, None), Decimal(0))
    again = max(
        max(_list_prices(job, method, choose_rest_tokens(form)))
        for method in methods
        if method == choice.method or explain_why_not(job, method) is None
    )
    return whole + (MOST_REJECTED + int(job.policy.is_short)) * again


def _list_prices(job: Job, method: Method, written: int | None) -> list[Decimal]:
    """US dollars of each request of a method, with replies at their limit for None; or of one that
    follows such a reply, which it may show, with replies of so many tokens."""
    form = choose_form(job, job.chapters)
    if method == Method.WARM_PREFIX:
        most = choose_warm_max_tokens(job.context, form)
        if written is None:
            return [job.own.prices.dollars(_warm_usage(job, most))]
        usage = _warm_usage(job, written)
        return [job.own.prices.dollars(replace(usage, input_tokens=usage.input_tokens + most))]
    most = choose_max_tokens(job, form)
    around = _count_around(job) + FORM_TOKENS
    read = [part.tokens for part in split_into_parts(job, method)]
    if len(read) > 1:
        read.append(int(job.writer.limits.request_limit * RECORDS_SHARE))
    more, wrote = (0, most) if written is None else (most, written)
    return [job.writer.prices.dollars(Usage(tokens + around + more, wrote)) for tokens in read]


def _count_around(job: Job) -> RealTokens:
    """What the summary model reads beside a part: the instruction, and the chapters there are."""
    previous = job.counter.count(choose_previous_chapters(job, job.chapters))
    return RealTokens(count_instruction_tokens(job) + job.writer.limits.factor.apply(previous))


def _warm_usage(job: Job, written: int) -> Usage:
    """What a warm prefix reads and writes: from the cache what the last request held, or into it
    where that has expired; and anew the reply to it with the instruction."""
    messages = job.context.messages
    sent = messages[: len(messages) - count_unsent(job.context)]
    answered = list(takewhile(lambda message: message.role == "assistant", reversed(sent)))
    new = min(job.used, sum_sent_tokens(answered, job.context.limits))
    prefix = max(0, job.used - new - _count_unsent_tokens(job))
    usage = Usage(new + _warm_tokens(job), written)
    if job.warm:
        return replace(usage, cache_read_input_tokens=prefix)
    lasting = prefix if job.context.cache_ttl == "1h" else 0
    return replace(usage, cache_creation_input_tokens=prefix, ephemeral_1h_input_tokens=lasting)
