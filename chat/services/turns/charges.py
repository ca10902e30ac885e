"""What model calls outside answers cost: summaries, preparations, titles. It is added to the totals
of their conversation once, whoever tells of it first, and corrected where more is known later."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agent.messages import Usage
from agent.model.unreported import Spent, mark
from agent.tokens import Factor
from chat.engine.model_profiles import load_profiles
from chat.engine.model_server import get_counter
from chat.models import Compaction, Conversation

UNBOOKED = "unbooked"  # a field of a compaction's usage that is not in the totals yet


def add_up(spent: Spent) -> tuple[Usage, float]:
    """What calls have used so far, and its cost in US dollars; estimated for those whose server has
    not reported it. The calls may go on meanwhile, in another thread: they are listed once."""
    calls, opened = [*spent], [*spent.open]
    profiles = load_profiles({model for model, _ in calls} | {c.request.model for c in opened})
    for call in opened:
        profile = profiles[call.request.model]
        factor = Factor(profile.token_factor, profile.token_samples)
        calls.append((profile.name, call.estimate(factor, get_counter())))
    cost = sum(profiles[model].price(usage) for model, usage in calls)
    return sum((usage for _, usage in calls), Usage()), cost


def charge_conversation(conversation_id: UUID, spent: Spent) -> None:
    """Add calls that belong to no compaction to the totals."""
    usage, cost = add_up(spent)
    _add(conversation_id, usage.request_tokens, usage.output_tokens, cost)


def describe_unbooked(spent: Spent) -> dict[str, Any]:
    """The columns of a compaction that keep what its worker has spent so far: if that dies,
    `charge_kept` charges it."""
    usage, cost = add_up(spent)
    if not usage.total:
        return {}
    return {"usage": mark(usage, request_known=False) | {UNBOOKED: True}, "cost": cost}


def charge_spent(compaction: Compaction, spent: Spent) -> float:
    """Charge calls to the compaction and its conversation, in place of what `charge_kept` may have
    charged; US dollars."""
    usage, cost = add_up(spent)
    stored = mark(usage, request_known=False) if spent.open else usage.as_dict()
    with transaction.atomic():
        row = _lock(compaction.pk)
        if row is None or not (usage.total or row.usage):  # None: deleted with its conversation
            return cost
        known = Usage() if _is_unbooked(row) else Usage.from_api(row.usage)
        charged = row.cost if known.total else 0.0
        _add(
            row.conversation_id,
            usage.request_tokens - known.request_tokens,
            usage.output_tokens - known.output_tokens,
            cost - charged,
            compaction=True,
        )
        row.usage, row.cost = stored if usage.total else None, cost
        row.save(update_fields=["usage", "cost"])
    return cost


def charge_kept(compaction_id: int) -> None:
    """Charge what the worker of a compaction that has ended had spent by its last heartbeat, unless
    it has charged that itself."""
    with transaction.atomic():
        row = _lock(compaction_id)
        if row is None or not _is_unbooked(row):
            return
        usage = Usage.from_api(row.usage)
        _add(
            row.conversation_id,
            usage.request_tokens,
            usage.output_tokens,
            row.cost,
            compaction=True,
        )
        row.usage = mark(usage, request_known=False)
        row.save(update_fields=["usage"])


def _lock(compaction_id: int) -> Compaction | None:
    """The row, locked after its conversation, as where a summary is handed in."""
    rows = Compaction.objects.filter(pk=compaction_id)
    conversations = Conversation.objects.select_for_update(no_key=True)
    list(conversations.filter(pk__in=rows.values("conversation")))
    return rows.select_for_update(of=("self",)).first()


def _is_unbooked(row: Compaction) -> bool:
    return bool(row.usage and row.usage.get(UNBOOKED))


def _add(
    conversation_id: UUID, read: int, output: int, cost: float, *, compaction: bool = False
) -> None:
    Conversation.objects.filter(pk=conversation_id).update(
        input_tokens=F("input_tokens") + read,
        output_tokens=F("output_tokens") + output,
        cost=F("cost") + cost,
        compaction_cost=F("compaction_cost") + (cost if compaction else 0),
    )
