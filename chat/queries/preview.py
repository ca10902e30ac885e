"""Looking at a compaction before it is asked for. Writes nothing."""

from dataclasses import dataclass, replace

from django.conf import settings

from agent.attachments import text_ids, with_files
from agent.compaction.choice import choose
from agent.compaction.plan import Plan
from agent.compaction.policy import Engine
from agent.messages import Usage
from chat.models import Conversation
from chat.queries import attachments, model_server, summaries
from chat.queries.conversation import Loaded, load


@dataclass(frozen=True, slots=True)
class Preview:
    """What `/compact` would do: message numbers and counts, estimated tokens, US dollars, and how
    the summary would be written; None: it is prepared already."""

    first: int
    through: int
    messages: int
    kept: int
    tokens_before: int
    tokens_after: int
    cost: float
    engine: Engine | None


def preview(conversation: Conversation) -> Preview:
    """Look before compacting without a focus. Refused where there is too little to summarise.

    The price is that of the summary, nothing for one that is prepared, and where the server caches
    the conversation now, of caching the new prefix with the next request.
    """
    loaded = load(conversation.pk)
    limits, counter = loaded.limits, model_server.counter()
    cost, engine = 0.0, None
    if prepared := summaries.ready(loaded.conversation):
        planned = summaries.divided(loaded.context.messages, prepared.through.number)
        chapter = limits.factor.apply(counter.count(prepared.summary)) - loaded.size.summary
    else:
        planned = summaries.plan_or_refuse(loaded)
        chapter = loaded.policy.chapter_tokens(limits, loaded.size.summary)
        cost, engine = _choice(loaded, planned)
    read = sum(limits.factor.apply(message.tokens) for message in planned.summarise)
    tokens_after = max(0, loaded.used - read) + chapter
    if loaded.warm:
        cost += loaded.profile.price(Usage(cache_creation_input_tokens=tokens_after))
    return Preview(
        first=planned.summarise[0].number,
        through=planned.summarise[-1].number,
        messages=len(planned.summarise),
        kept=len(planned.keep),
        tokens_before=loaded.used,
        tokens_after=tokens_after,
        cost=cost,
        engine=engine,
    )


def _choice(loaded: Loaded, planned: Plan) -> tuple[float, Engine]:
    """US dollars of writing the summary, and how: as the worker will choose."""
    conversation = loaded.conversation
    files = attachments.read([each for m in planned.summarise for each in text_ids(m.blocks)])
    choice = choose(
        summaries.job_for(
            loaded,
            replace(planned, summarise=with_files(planned.summarise, files)),
            summaries.chapters_of(conversation.compaction),
            model=settings.SUMMARY_MODEL or conversation.model,
        )
    )
    return choice.price, choice.engine
