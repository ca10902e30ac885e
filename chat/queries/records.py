"""Records by rule: of what came from elsewhere no model reads anything before its owner agrees to
the price. Writes nothing; `chat.services.summary.records` does."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.db.models import QuerySet, Sum

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.plan import Plan, plan_record
from agent.compaction.policy import Origin, Policy, Reason, Trigger
from agent.compaction.writing.by_rule import (
    FIRST_SHARE,
    estimate_reading,
    make_frugal,
    share_out,
)
from agent.messages import RawTokens, RealTokens, Usage
from chat.engine.model_profiles import has_prices, limits_for, load_profile
from chat.engine.state import RequestState, policy_for
from chat.models import Compaction, Conversation, Message, ModelProfile

# US dollars. The first turn after an import costs ten cents at most: the request half of that, the
# answer has the rest.
FIRST_REQUEST = Decimal("0.05")
MILLION = 1_000_000
# Tokens that a record and the recent messages have beside the system prompt and the tools,
# whatever the model costs.
LEAST_ROOM = 2_000
# What is longer is a giant also where nothing is known to be paid for it, as a model of one's own
# would read for hours; and where nobody said that it came from elsewhere.
GIANT = 500_000


def find_by_rule_through(state: RequestState) -> int:
    """The number up to which no model reads the messages before their owner agrees; 0: there are no
    such messages."""
    conversation = state.conversation
    if conversation.record_agreed_at:
        return 0
    if conversation.record_through:
        return conversation.record_through
    imported = state.recent.imported_through
    return imported if _count_through(state, imported) > GIANT else 0


def is_record_due(state: RequestState) -> bool:
    """Whether so much of what no model reads yet lies after the summary that it is recorded, in a
    form that the first turn can afford."""
    return is_giant(state, find_by_rule_through(state))


def may_be_giant(conversation: Conversation) -> bool:
    """Whether it is over the trigger with all its messages: asked of each that is imported, so that
    not all of them are loaded."""
    raw = _sum_tokens(Message.objects.filter(conversation=conversation, active=True))
    limits = limits_for(load_profile(conversation.model), conversation)
    return limits.factor.apply(raw) >= policy_for(conversation).trigger_tokens(limits)


def is_giant(state: RequestState, through: int) -> bool:
    """Whether those messages after the summary that have numbers up to `through` are over the
    trigger by themselves, and to have them read costs more than a first request may."""
    tokens = _count_through(state, through)
    if tokens < state.policy.trigger_tokens(state.limits):
        return False
    return tokens > GIANT or state.profile.price(Usage(tokens)) > FIRST_REQUEST


def _sum_tokens(rows: QuerySet[Message]) -> RawTokens:
    return RawTokens(rows.aggregate(tokens=Sum("tokens"))["tokens"] or 0)


def _count_through(state: RequestState, through: int) -> RealTokens:
    rows = (row for row in state.recent.rows if row.number <= through)
    return state.limits.factor.apply(RawTokens(sum(row.tokens for row in rows)))


def find_room(state: RequestState) -> RealTokens:
    """Tokens that a record and the recent messages may have together, so that a request of them
    costs no more than `FIRST_REQUEST`, written to the cache as it is."""
    size, prices = state.size, state.profile.prices
    fixed = size.system + size.tools + size.project
    room = state.policy.target_tokens(state.limits) - fixed
    price = prices.dearest(MILLION, state.context.cache_ttl if settings.PROMPT_CACHING else None)
    if price:
        room = min(room, max(LEAST_ROOM, int(FIRST_REQUEST / price * MILLION) - fixed))
    return RealTokens(room)


def is_too_dear(state: RequestState) -> bool:
    """Whether nothing was said since a record that was written for a cheaper model, so that it can
    still be written anew for this one."""
    version = state.conversation.compaction
    if version is None or version.method_reason != Reason.NOT_AGREED or version.previous_id:
        return False
    through = find_by_rule_through(state)
    since = any(row.number > through for row in state.recent.rows)
    if since or count_by_rule(version) < len(version.chapters):
        return False
    size = state.size
    return size.summary + size.conversation > find_room(state)


def choose_policy(state: RequestState, planned: Plan) -> Policy:
    """How a plan is carried out: frugally where it is a record that `is_record_due`; and where its
    owner agreed to have a chapter of one read, so that all of them fit."""
    if is_record_due(state):
        return _choose_frugal_policy(state)
    conversation = state.conversation
    if conversation.record_agreed_at and planned.summarise[0].number <= conversation.record_through:
        chapters = len(state.context.summary.chapters)
        return share_out(state.policy, state.limits, max(1, chapters))
    return state.policy


def _choose_frugal_policy(state: RequestState) -> Policy:
    return make_frugal(state.policy, state.limits, find_room(state))


def plan_due_record(state: RequestState) -> Plan | None:
    """What a record that `is_record_due` covers, and the few messages that stay."""
    policy = _choose_frugal_policy(state)
    return plan_record(state.context.messages, state.limits, RealTokens(policy.keep_recent_tokens))


def keeps_first(state: RequestState) -> bool:
    """Whether the first message is short enough to be sent with a record."""
    first = state.context.first or next(iter(state.context.messages), None)
    if first is None:
        return True
    return state.limits.factor.apply(first.tokens) <= FIRST_SHARE * find_room(state)


# --- The offer ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordOffer:
    """What it takes to have a model read what a record stands for: its `model`, how many
    `chapters` are left of `total`, and US dollars, None where no price is known. `agreed`: it is
    being done; else `stopped` is the attempt at which it stopped, if it did."""

    model: ModelProfile
    chapters: int
    total: int
    cost: Decimal | None
    agreed: bool
    stopped: Compaction | None = None


def count_by_rule(version: Compaction) -> int:
    """How many chapters of a version no model has written, because nobody agreed to the price."""
    return sum(chapter.get("by_rule", False) for chapter in version.chapters)


def find_offer(version: Compaction) -> RecordOffer | None:
    """For the current version of a summary; None where a model has read all of it."""
    if not count_by_rule(version):
        return None
    conversation = version.conversation
    if not conversation.record_through or conversation.compaction_id != version.pk:
        return None
    chapters = [Chapter.from_dict(data) for data in version.chapters]
    left = [chapter for chapter in chapters if chapter.by_rule]
    attempts = conversation.compactions.filter(origin=Origin.REBUILT, trigger=Trigger.MANUAL)
    last = None if conversation.record_agreed_at else attempts.order_by("-pk").first()
    model = load_profile(settings.SUMMARY_MODEL or conversation.model)
    return RecordOffer(
        model,
        len(left),
        len(chapters),
        _estimate(conversation, model, left, len(chapters)) if has_prices(model) else None,
        conversation.record_agreed_at is not None,
        last if last and last.status == Compaction.Status.FAILED else None,
    )


def _estimate(
    conversation: Conversation, model: ModelProfile, left: Sequence[Chapter], total: int
) -> Decimal:
    """US dollars of writing the chapters that are left, each after those before it."""
    numbers = left[0].first, left[-1].through
    rows = Message.objects.filter(conversation=conversation, active=True, number__range=numbers)
    limits = limits_for(model, conversation)
    usage = estimate_reading(
        limits.factor.apply(_sum_tokens(rows)),
        chapters=len(left),
        total=total,
        policy=policy_for(conversation),
        limits=limits,
    )
    return model.price(usage)
