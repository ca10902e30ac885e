"""Looking at a compaction before it is asked for. Writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from django.conf import settings

from agent.attachments import list_text_file_ids, with_files
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.plan import Plan, find_protected_first
from agent.compaction.policy import Extent, Method
from agent.compaction.writing.choice import choose, estimate_most
from agent.messages import Usage
from chat.engine import attachment_contents, model_server
from chat.engine.model_profiles import has_prices, load_profile
from chat.engine.state import RequestState, load_state
from chat.models import Compaction, Conversation
from chat.queries import summary_versions

# A chapter is taken to be at most this share of what it reads: one that makes the context larger is
# not used.
CHAPTER_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Preview:
    """What `/compact` to an extent would do: message numbers and counts, estimated tokens, US
    dollars (None: no price is known), also at `most` where replies have to be corrected, and how
    the summary would be written (None: it is prepared already)."""

    extent: Extent
    first: int
    through: int
    messages: int
    kept: int
    tokens_before: int
    tokens_after: int
    cost: Decimal | None
    most: Decimal | None
    method: Method | None


@dataclass(frozen=True, slots=True)
class RewritePreview:
    """What writing a summary again would read and cost; units as in `Preview`."""

    tokens: int
    cost: Decimal | None
    most: Decimal | None
    method: Method


class _Price(NamedTuple):
    """US dollars of writing a summary, also at `most`, and how."""

    cost: Decimal
    most: Decimal
    method: Method | None


def preview_rewrite(version: Compaction) -> RewritePreview | None:
    """Look before writing a summary again. None: it is not the current one."""
    if version.conversation.compaction_id != version.pk:
        return None
    state = load_state(version.conversation_id)
    planned = summary_versions.plan_rewrite(state, version)
    before = summary_versions.read_chapters_before(version)
    price = _price(state, planned, before, version.focus)
    known = _has_prices(state)
    assert price.method is not None
    return RewritePreview(
        tokens=sum(state.limits.factor.apply(message.tokens) for message in planned.summarise),
        cost=price.cost if known else None,
        most=price.most if known else None,
        method=price.method,
    )


def preview_compactions(conversation: Conversation) -> Sequence[Preview]:
    """Look before compacting without a focus: the thorough way first, then the gentle one where it
    keeps more. Refused where there is too little to summarise."""
    state = load_state(conversation.pk)
    thorough, gentle = (_preview(state, extent) for extent in (Extent.THOROUGH, Extent.GENTLE))
    return [thorough, gentle] if gentle.kept > thorough.kept else [thorough]


def _preview(state: RequestState, extent: Extent) -> Preview:
    """The price covers the summary (nothing for a prepared one) and, where the server caches the
    conversation now, caching the new prefix with the next request."""
    planned = summary_versions.plan_or_refuse(state, extent)
    if prepared := summary_versions.find_ready_by_hand(state, planned, extent):
        planned = summary_versions.split_at(state.context.messages, prepared.through.number)
    previous = summary_versions.read_chapters(state.conversation.compaction)
    price = _Price(Decimal(0), Decimal(0), None) if prepared else _price(state, planned, previous)
    tokens_after = _estimate_after(state, planned, prepared)
    cached = Decimal(0)
    if state.warm:
        cached = state.profile.price(Usage(cache_creation_input_tokens=tokens_after))
    known = _has_prices(state)
    return Preview(
        extent=extent,
        first=planned.summarise[0].number,
        through=planned.summarise[-1].number,
        messages=len(planned.summarise),
        kept=len(planned.keep),
        tokens_before=state.used,
        tokens_after=tokens_after,
        cost=price.cost + cached if known else None,
        most=price.most + cached if known else None,
        method=price.method,
    )


def _estimate_after(state: RequestState, planned: Plan, prepared: Compaction | None) -> int:
    """Tokens of the context with the summary in place of what it reads."""
    factor = state.limits.factor
    kept = find_protected_first(state.context, state.policy)
    read = sum(factor.apply(m.tokens) for m in planned.summarise if m != kept)
    if prepared:
        written = model_server.get_counter().count(prepared.summary)
        chapter = factor.apply(written) - state.size.summary
    else:
        asked = state.policy.chapter_tokens(state.limits, state.size.summary)
        chapter = min(asked, int(CHAPTER_SHARE * read))
    return max(0, state.used - read) + chapter


def _has_prices(state: RequestState) -> bool:
    writer = settings.SUMMARY_MODEL
    return has_prices(state.profile) and (not writer or has_prices(load_profile(writer)))


def _price(state: RequestState, planned: Plan, previous: list[Chapter], focus: str = "") -> _Price:
    """Of writing the summary after previous chapters: as the worker will choose."""
    files = attachment_contents.read_files(
        [each for m in planned.summarise for each in list_text_file_ids(m.blocks)]
    )
    job = summary_versions.make_job(
        state,
        replace(planned, summarise=with_files(planned.summarise, files)),
        previous,
        model=settings.SUMMARY_MODEL or state.conversation.model,
        focus=focus,
    )
    job = job.without_elsewhere()
    if not job.plan.summarise:  # nothing is asked for that is recorded by rule
        return _Price(Decimal(0), Decimal(0), Method.EXTRACT)
    choice = choose(job)
    return _Price(choice.price, estimate_most(job, choice), choice.method)
