"""Compactions by what became of them, in the lists of the administration."""

from django.db.models import F, Q

from agent.compaction.policy import Method
from chat.admin.base import ConditionFilter
from chat.models import Compaction, Conversation
from chat.queries.site import SLOW_COMPACTION, SLOW_SECONDS

COMPLETED = Q(status=Compaction.Status.COMPLETED)
_CURRENT = Q(pk=F("conversation__compaction"))
# A completed version is current, or was reverted, or gave way to another: a newer one, or that of
# another branch.
STATES = {
    "current": COMPLETED & _CURRENT,
    "superseded": COMPLETED & Q(reverted=False) & ~_CURRENT,
    "reverted": COMPLETED & Q(reverted=True) & ~_CURRENT,
} | {
    str(status): Q(status=status)
    for status in Compaction.Status
    if status != Compaction.Status.COMPLETED
}
# How a summary came to be written, from the best way to the last resort.
WRITTEN = [method for method in Method if method != Method.AUTO]


def describe_state(compaction: Compaction, conversation: Conversation) -> str:
    """The status, with `completed` told apart as in `STATES`."""
    if compaction.status != Compaction.Status.COMPLETED:
        return compaction.status
    if compaction.pk == conversation.compaction_id:
        return "current"
    return "reverted" if compaction.reverted else "superseded"


class StateFilter(ConditionFilter):
    title = "status"
    parameter_name = "state"
    conditions = {state: (state.capitalize(), condition) for state, condition in STATES.items()}


class MethodFilter(ConditionFilter):
    """By the way the summary was written: all known ways, so that not every row has to be read."""

    title = "method"
    parameter_name = "engine"  # as in addresses that were kept
    conditions = {str(each): (each.capitalize(), Q(method=each)) for each in WRITTEN}


class DurationFilter(ConditionFilter):
    title = "duration"
    parameter_name = "duration"
    conditions = {"slow": (f"Over {SLOW_SECONDS} s", SLOW_COMPACTION)}
