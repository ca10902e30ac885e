"""Looking at a compaction before it is asked for. Writes nothing."""

from dataclasses import dataclass

from django.conf import settings

from chat.models import Conversation
from chat.queries import (
    model_server,
    summaries,
)
from chat.queries.conversation import (
    Loaded,
    load,
)
from chat.queries.model_profiles import profile_for


@dataclass(frozen=True, slots=True)
class Preview:
    """What `/compact` would do: message numbers and counts, estimated tokens, US dollars."""

    first: int
    through: int
    messages: int
    kept: int
    tokens_before: int
    tokens_after: int
    cost: float
    warm: bool


def preview(conversation: Conversation) -> Preview:
    """Look before compacting without a focus. Refused where there is too little to summarise.

    The price is that of the summary, nothing for one that is prepared, and where the server caches
    the conversation now, of caching the new prefix with the next request.
    """
    loaded = load(conversation.pk)
    limits, counter = loaded.limits, model_server.counter()
    if prepared := summaries.ready(loaded.conversation):
        through = prepared.through.number
        planned = summaries.divided(loaded.context.messages, through)
        chapter = limits.factor.apply(counter.count(prepared.summary)) - loaded.size.summary
    else:
        planned = summaries.plan_or_refuse(loaded)
        chapter = loaded.policy.chapter_tokens(limits, loaded.size.summary)
    read = sum(limits.factor.apply(message.tokens) for message in planned.summarise)
    tokens_after = max(0, loaded.used - read) + chapter
    cost, warm = (0.0, loaded.warm) if prepared else _price(loaded, read, chapter)
    if loaded.warm:
        cost += tokens_after * loaded.profile.cache_write_price
    return Preview(
        first=planned.summarise[0].number,
        through=planned.summarise[-1].number,
        messages=len(planned.summarise),
        kept=len(planned.keep),
        tokens_before=loaded.used,
        tokens_after=tokens_after,
        cost=cost / 1_000_000,
        warm=warm,
    )


def _price(loaded: Loaded, read: int, chapter: int) -> tuple[float, bool]:
    """Millionths of a dollar for a chapter from `read` tokens of messages, and whether they would
    be read from the cache: as the engine chooses, whichever costs less."""
    own = loaded.profile
    writer = profile_for(settings.SUMMARY_MODEL) if settings.SUMMARY_MODEL else own
    serialised = read * writer.input_price + chapter * writer.output_price
    cached = loaded.used * own.cache_read_price + chapter * own.output_price
    return (cached, True) if loaded.warm and cached <= serialised else (serialised, False)
