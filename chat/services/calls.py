"""Model calls as the site books them (`spending.calls`): what each can cost, what it has cost, and
who pays: the owner of its conversation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent.context.request import Request, Ttl
from agent.messages import RealTokens, Usage
from agent.model.reply import Reply
from agent.model.unreported import count_request, estimate_usage, was_refused
from agent.model_names import join_name
from agent.tokens import SEARCH_DOLLARS, Factor, Prices
from chat.engine.model_profiles import load_profile
from chat.engine.model_server import get_counter
from chat.models import Compaction, ModelProfile, Turn
from spending.amounts import FREE, Bound
from spending.calls import (
    CallDetails,
    CallEnd,
    OpenedCall,
    end_call,
    lose_call,
    note_progress,
    open_call,
)
from spending.models import ModelCall

# In the usage that a checkpoint keeps: the call that it is of.
KEPT_CALL = "call"
# A title takes seconds; this one's process is gone.
LONGEST_CALL = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class BookedCall:
    """A call whose row is open, and what it takes to end it, or to open the row of the next post of
    the same request."""

    opened: OpenedCall
    details: CallDetails
    bound: Bound
    prices: Prices
    factor: Factor
    search_dollars: Decimal = Decimal(0)  # of the bound: searches of the web

    @property
    def max_tokens(self) -> int:
        return self.opened.max_tokens

    @property
    def request_tokens(self) -> RealTokens:
        return RealTokens(self.bound.request_tokens)


def book_call(
    details: CallDetails,
    profile: ModelProfile,
    tokens: int,
    max_tokens: int,
    ttl: Ttl,
    searches: int = 0,
) -> BookedCall:
    """Open the row of a call: of so many estimated tokens of its request, at most so many of its
    reply, and as many searches of the web. In the caller's transaction, as its last statements."""
    prices = profile.prices
    request_dollars = prices.dearest(tokens, ttl if settings.PROMPT_CACHING else None)
    search_dollars = searches * SEARCH_DOLLARS
    bound = Bound(tokens, request_dollars + search_dollars, max_tokens, prices.dollars_per_written)
    factor = Factor(profile.token_factor, profile.token_samples)
    return BookedCall(open_call(details, bound), details, bound, prices, factor, search_dollars)


def book_request(details: CallDetails, request: Request) -> BookedCall:
    """Open the row of a call for a whole reply."""
    profile = load_profile(request.model)
    factor = Factor(profile.token_factor, profile.token_samples)
    if details.kind == ModelCall.Kind.COUNT:
        with transaction.atomic():
            return BookedCall(open_call(details, FREE), details, FREE, profile.prices, factor)
    tokens = factor.apply(count_request(request, get_counter()))
    with transaction.atomic():
        return book_call(details, profile, tokens, request.max_tokens, request.cache_ttl)


def book_again(call: BookedCall) -> BookedCall:
    """Open the row of another post of the same request."""
    with transaction.atomic():
        return replace(call, opened=open_call(call.details, call.bound))


def resize(call: BookedCall, tokens: RealTokens) -> BookedCall:
    """The call of a request that has so many tokens by now."""
    searches = call.search_dollars
    each = (call.bound.request_dollars - searches) / max(1, call.bound.request_tokens)
    bound = replace(call.bound, request_tokens=tokens, request_dollars=each * tokens + searches)
    return replace(call, bound=bound)


def describe_end(call: BookedCall, reply: Reply, error: BaseException | None) -> CallEnd:
    """How a call ended that was posted. Counts tokens where the server did not: then for a
    thread."""
    if reply.settled or was_refused(reply, error):
        return CallEnd(call.opened, reply.usage, call.prices, request_id=reply.request_id)
    usage = estimate_usage(reply, call.request_tokens, call.factor, get_counter())
    return CallEnd(call.opened, usage, call.prices, is_lost=True, request_id=reply.request_id)


def describe_unposted(call: BookedCall) -> CallEnd:
    """The end of a call that was never posted."""
    return CallEnd(call.opened, Usage(), call.prices)


def end_booked(end: CallEnd) -> None:
    """End a call by itself."""
    with transaction.atomic():
        end_call(end)


def keep_progress(call: BookedCall, reply: Reply) -> None:
    """Keep what a call that is out has used so far. Counts tokens."""
    usage = estimate_usage(reply, call.request_tokens, call.factor, get_counter())
    note_progress(call.opened.pk, usage)


def lose_open_of_turn(turn_id: int, checkpoint: Mapping[str, Any] | None) -> None:
    """End the open calls of a turn whose holder is gone, with the usage of its last `checkpoint`,
    which names the call that it is of. In the caller's transaction, as its last statements."""
    kept = checkpoint or {}
    for row in ModelCall.objects.filter(turn=turn_id, state=ModelCall.State.OPEN):
        known = Usage.from_api(kept) if kept.get(KEPT_CALL) == row.pk else None
        lose_call(row, _load_prices(row), known)


def lose_open_of_compaction(compaction_id: int) -> None:
    """The same of a compaction whose worker is gone."""
    for row in ModelCall.objects.filter(compaction=compaction_id, state=ModelCall.State.OPEN):
        lose_call(row, _load_prices(row))


def lose_abandoned() -> None:
    """End the open calls whose turn or compaction is over: their holder died between a post and its
    end. Of others, which nothing is kept of, those that are too old to run still."""
    rows = ModelCall.objects.filter(
        state=ModelCall.State.OPEN,
        opened_at__lt=timezone.now() - timedelta(seconds=settings.LEASE_SECONDS),
    )
    running = Compaction.objects.filter(status=Compaction.Status.RUNNING).values("pk")
    active = Turn.objects.filter(status__in=Turn.ACTIVE).values("pk")
    of_nothing = Q(turn=None, compaction=None, opened_at__gt=timezone.now() - LONGEST_CALL)
    wanted = Q(turn__in=active) | Q(compaction__in=running) | of_nothing
    for row in rows.exclude(wanted):
        with transaction.atomic():
            lose_call(row, _load_prices(row))


def _load_prices(row: ModelCall) -> Prices:
    return load_profile(join_name(row.provider, row.model)).prices
