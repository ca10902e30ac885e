"""Reading a conversation for its next request, its meter and its snapshot. Writes nothing.

The queries are index ranges: a conversation of 10,000 messages costs what its uncompacted tail
costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db.models import F

from agent.compaction import Policy, Trigger, due
from agent.context import Context, Limits, Size, measure
from agent.messages import Message as AgentMessage
from agent.messages import Role, Usage
from chat.llm import counter
from chat.models import Conversation, Message, ModelProfile
from chat.profiles import limits_for, profile_for

_FIELDS = ("number", "position", "role", "blocks", "tokens", "status", "model", "usage")


@dataclass(frozen=True)
class Loaded:
    """A conversation as its next request sees it. `used` is the meter in real tokens."""

    conversation: Conversation
    profile: ModelProfile
    policy: Policy
    context: Context
    size: Size
    used: int
    estimated: bool
    rows: Sequence[Message]  # those of `context.messages`, in order

    @property
    def limits(self) -> Limits:
        return self.context.limits

    def due(self) -> Trigger | None:
        """Whether the next request needs a compaction; after a revert only where it would not fit
        the window."""
        if self.conversation.compaction_held and self.used <= self.limits.prompt_limit:
            return None
        return due(self.used, self.limits, self.policy)


def policy_for(conversation: Conversation) -> Policy:
    """The settings of compaction for one conversation."""
    return Policy(
        enabled=conversation.compaction_enabled,
        threshold_ratio=settings.COMPACTION_THRESHOLD,
        keep_first_message=conversation.keep_first_message,
        keep_recent_messages=settings.COMPACTION_KEEP_MESSAGES,
    )


def load(conversation_id: UUID) -> Loaded:
    """Load what the next request consists of. Four queries, whatever the length."""
    conversation = Conversation.objects.select_related("compressed_through").get(pk=conversation_id)
    profile = profile_for(conversation.model)
    through = conversation.compressed_through
    branch = Message.objects.filter(conversation=conversation, active=True).only(*_FIELDS)
    rows = list(
        branch.filter(position__gt=through.position if through else -1)
        .exclude(status=Message.Status.STREAMING)
        .order_by("position")
    )
    first = None
    if through and conversation.keep_first_message:
        first = branch.filter(position=0, role=Message.Role.USER).first()
    context = Context(
        model=conversation.model,
        system_prompt=conversation.system_prompt,
        summary=conversation.compressed_context or "",
        summary_through=through.number if through else 0,
        first=agent_message(first) if first else None,
        messages=[agent_message(row) for row in rows],
        limits=limits_for(profile, conversation),
    )
    size = measure(context, counter())
    used, estimated = _meter(conversation, rows, context.limits, size)
    return Loaded(
        conversation=conversation,
        profile=profile,
        policy=policy_for(conversation),
        context=context,
        size=size,
        used=used,
        estimated=estimated,
        rows=rows,
    )


def agent_message(row: Message) -> AgentMessage:
    return AgentMessage(row.number, cast(Role, row.role), row.blocks, row.tokens)


def _meter(
    conversation: Conversation, rows: Sequence[Message], limits: Limits, size: Size
) -> tuple[int, bool]:
    """Context tokens, and whether they are only estimated: the last reply's reported usage plus an
    estimate of what came after; an estimate of everything where no report is still valid."""
    newer = 0
    for row in reversed(rows):
        if (
            row.usage
            and row.model == conversation.model
            and row.number >= conversation.meter_valid_from
            and (usage := Usage.from_api(row.usage)).prompt
        ):
            details = row.usage.get("output_tokens_details") or {}
            if row.status != Message.Status.COMPLETE:
                # The report came with the first event, before most of the text.
                return usage.prompt + limits.factor.apply(row.tokens) + newer, True
            # Thinking of a finished turn is not sent again.
            thinking = int(details.get("thinking_tokens") or 0)
            return usage.total - thinking + newer, newer > 0
        newer += limits.factor.apply(row.tokens)
    return size.total, True


def usage_event(loaded: Loaded) -> dict[str, Any]:
    """The `context.usage` event of docs/protocol.md."""
    conversation, limits = loaded.conversation, loaded.limits
    note = ""
    if counter().encoding is None:
        note = "The token vocabulary is missing: counts are estimated from bytes."
    return {
        "type": "context.usage",
        "used": loaded.used,
        "budget": limits.budget,
        "window": limits.window,
        "ratio": loaded.used / limits.budget,
        "trigger": settings.COMPACTION_THRESHOLD,
        "estimated": loaded.estimated,
        "note": note,
        "breakdown": {
            "system": loaded.size.system,
            "summary": loaded.size.summary,
            "conversation": max(0, loaded.used - loaded.size.system - loaded.size.summary),
            "reserve": limits.reserve,
        },
        "totals": {
            "input_tokens": conversation.input_tokens,
            "output_tokens": conversation.output_tokens,
            "cost": conversation.cost,
            "compactions": conversation.compactions_completed,
            "compaction_cost": conversation.compaction_cost,
        },
    }


def head_number(conversation_id: UUID) -> int:
    """The number of the branch's last message, 0 for none."""
    head = (
        Message.objects.filter(conversation=conversation_id, active=True)
        .order_by("-position")
        .values_list(F("number"), flat=True)
        .first()
    )
    return head or 0
