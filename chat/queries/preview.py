"""Looking at a compaction before it is asked for. Writes nothing."""

from dataclasses import dataclass, replace

from django.conf import settings

from agent.attachments import list_text_file_ids, with_files
from agent.compaction.choice import choose
from agent.compaction.plan import Plan, find_protected_first
from agent.compaction.policy import Engine
from agent.messages import Usage
from chat.models import Conversation
from chat.queries import attachments, model_server, summaries
from chat.queries.conversation import RequestState, load_state
from chat.queries.model_profiles import has_prices, load_profile


@dataclass(frozen=True, slots=True)
class Preview:
    """What `/compact` would do: message numbers and counts, estimated tokens, US dollars (None: no
    price is known), and how the summary would be written (None: it is prepared already)."""

    first: int
    through: int
    messages: int
    kept: int
    tokens_before: int
    tokens_after: int
    cost: float | None
    engine: Engine | None


def preview_compaction(conversation: Conversation) -> Preview:
    """Look before compacting without a focus. Refused where there is too little to summarise.

    The price covers the summary (nothing for a prepared one) and, where the server caches the
    conversation now, caching the new prefix with the next request.
    """
    state = load_state(conversation.pk)
    limits, counter = state.limits, model_server.get_counter()
    cost, engine = 0.0, None
    planned = summaries.plan_or_refuse(state)
    if prepared := summaries.find_ready_by_hand(state, planned):
        planned = summaries.split_at(state.context.messages, prepared.through.number)
        chapter = limits.factor.apply(counter.count(prepared.summary)) - state.size.summary
    else:
        chapter = state.policy.chapter_tokens(limits, state.size.summary)
        cost, engine = _choice(state, planned)
    kept = find_protected_first(state.context, state.policy)
    gone = [message for message in planned.summarise if message != kept]
    read = sum(limits.factor.apply(message.tokens) for message in gone)
    tokens_after = max(0, state.used - read) + chapter
    if state.warm:
        cost += state.profile.price(Usage(cache_creation_input_tokens=tokens_after))
    return Preview(
        first=planned.summarise[0].number,
        through=planned.summarise[-1].number,
        messages=len(planned.summarise),
        kept=len(planned.keep),
        tokens_before=state.used,
        tokens_after=tokens_after,
        cost=cost if _has_prices(state) else None,
        engine=engine,
    )


def _has_prices(state: RequestState) -> bool:
    writer = settings.SUMMARY_MODEL
    return has_prices(state.profile) and (not writer or has_prices(load_profile(writer)))


def _choice(state: RequestState, planned: Plan) -> tuple[float, Engine]:
    """US dollars of writing the summary, and how: as the worker will choose."""
    conversation = state.conversation
    files = attachments.read_files(
        [each for m in planned.summarise for each in list_text_file_ids(m.blocks)]
    )
    choice = choose(
        summaries.make_job(
            state,
            replace(planned, summarise=with_files(planned.summarise, files)),
            summaries.read_chapters(conversation.compaction),
            model=settings.SUMMARY_MODEL or conversation.model,
        )
    )
    return choice.price, choice.engine
