"""Reading a conversation for its next request, its meter and its snapshot. Writes nothing.

The queries are index ranges: a conversation of 10,000 messages costs what its uncompacted tail
costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import cast
from uuid import UUID

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils import timezone

from agent.compaction.policy import ContextLoad, Policy, Trigger, find_trigger
from agent.context.assemble import Context, Size
from agent.context.request import CACHE_SECONDS, choose_cache_ttl
from agent.context.summary import Summary
from agent.engine import MeteredContext, UsageReport, meter
from agent.messages import Message as AgentMessage
from agent.messages import RawTokens, RealTokens, Role, Usage
from agent.tokens import Limits
from chat.models import Conversation, Message, ModelProfile
from chat.queries.model_profiles import limits_for, load_profile
from chat.queries.model_server import get_counter
from chat.queries.tools import declare_tools

_FIELDS = (
    "number",
    "position",
    "role",
    "blocks",
    "tokens",
    "pasted",
    "sent_in_part",
    "status",
    "stop_reason",
    "model",
    "usage",
    "created_at",
    "turn",
)


@dataclass(frozen=True)
class RequestState:
    """A conversation as its next request sees it."""

    conversation: Conversation
    profile: ModelProfile
    policy: Policy
    metered: MeteredContext
    rows: Sequence[Message]  # those of `context.messages`, in order

    @property
    def context(self) -> Context:
        return self.metered.context

    @property
    def limits(self) -> Limits:
        return self.metered.limits

    @property
    def size(self) -> Size:
        return self.metered.size

    @property
    def used(self) -> RealTokens:
        return self.metered.used

    @property
    def estimated(self) -> bool:
        return self.metered.estimated

    @property
    def doubted(self) -> bool:
        return self.metered.doubted

    @property
    def fits(self) -> bool:
        return self.metered.fits

    @property
    def last_reply(self) -> Message | None:
        """The newest reply whose reported usage still describes the context."""
        return _last_reply(self.rows, self.conversation)

    @property
    def warm(self) -> bool:
        """Whether the server still caches the conversation's last request."""
        reply = self.last_reply
        if reply is None or not settings.PROMPT_CACHING:
            return False
        return (timezone.now() - reply.created_at).total_seconds() < self.cached_seconds

    @property
    def cached_seconds(self) -> float:
        """For how long after it the server keeps the last reply's prompt."""
        reply = self.last_reply
        usage = Usage.from_api(reply.usage if reply else None)
        return CACHE_SECONDS["1h" if usage.ephemeral_1h_input_tokens else "5m"]

    @property
    def pauses(self) -> list[float]:
        """Seconds that the user let pass before each of the newest prompts."""
        return _list_pauses(self.conversation, self.rows)

    @property
    def rounds(self) -> int:
        """Tool rounds since the last compaction, which may have kept some from before it."""
        since = self.conversation.compressed_at
        return sum(
            any(block.get("type") == "tool_use" for block in row.blocks)
            for row in self.rows
            if since is None or row.created_at > since
        )

    def due(self) -> Trigger | None:
        """Why the next request needs a compaction; None where it needs none."""
        load = ContextLoad(self.used, self.limits, self.rounds, len(self.context.messages))
        return find_trigger(load, self.policy)


def policy_for(conversation: Conversation) -> Policy:
    """The settings of compaction for one conversation."""
    values = settings.COMPACTION | conversation.compaction_settings
    values["enabled"] = settings.COMPACTION["enabled"] and conversation.compaction_enabled
    values["keep_first_message"] = conversation.keep_first_message
    return Policy(**values, held=conversation.compaction_held)


def load_state(conversation_id: UUID) -> RequestState:
    """Load what the next request consists of."""
    return load_state_for(Conversation.objects.get(pk=conversation_id))


def load_state_for(conversation: Conversation, profile: ModelProfile | None = None) -> RequestState:
    """`load_state` for a row, and a profile, that were just read: two to four queries, whatever the
    length."""
    profile = profile or load_profile(conversation.model)
    branch = (
        Message.objects.filter(conversation=conversation, active=True)
        .only(*_FIELDS)
        .annotate(turn_ended_at=F("turn__finished_at"))
    )
    through = None
    if conversation.compressed_through_id:
        through = Message.objects.only("number", "position").get(
            pk=conversation.compressed_through_id
        )
    tail = branch.filter(position__gt=through.position) if through else branch
    # The one that is being written is left out here: as a condition it would cost more.
    rows = [row for row in tail.order_by("position") if row.status != Message.Status.STREAMING]
    messages = [to_agent_message(row) for row in rows]
    first = prompt = None
    if through and conversation.keep_first_message:
        first = branch.filter(position=0, role=Message.Role.USER).first()
    if through and messages and not any(message.is_prompt for message in messages):
        prompt = _prompt_before(branch, through)
    policy = policy_for(conversation)
    context = Context(
        model=conversation.model,
        system_prompt=conversation.system_prompt,
        summary=Summary.from_text(conversation.compressed_context or ""),
        pruned_through=conversation.pruned_through,
        summary_through=through.number if through else 0,
        first=to_agent_message(first) if first else None,
        prompt=to_agent_message(prompt) if prompt else None,
        messages=messages,
        limits=limits_for(profile, conversation),
        tools=declare_tools(conversation, profile, automatic=policy.enabled),
        memory=conversation.memory_text,
        thinking_from=_find_own_thinking(conversation, rows),
        show_thinking=profile.show_thinking,
        cache_ttl=choose_cache_ttl(_list_pauses(conversation, rows))
        if settings.CACHE_FOR_AN_HOUR
        else "5m",
    )
    reply = _last_reply(rows, conversation)
    metered = meter(context, get_counter(), _report(reply) if reply else None)
    return RequestState(conversation, profile, policy, metered, rows)


def _find_own_thinking(conversation: Conversation, rows: Sequence[Message]) -> int:
    """The number from which on thinking was written after what is sent now. An imported message
    has no turn: the API took its thinking from another account, after another system prompt."""
    imported = (r.number for r in rows if r.turn_id is None and r.role == Message.Role.ASSISTANT)
    return max(conversation.meter_valid_from, max(imported, default=-1) + 1)


def _prompt_before(branch: QuerySet[Message], through: Message) -> Message | None:
    """The last message of a person up to `through`; the rounds of its turn follow."""
    users = branch.filter(position__lte=through.position, role=Message.Role.USER)
    return users.exclude(blocks__0__type="tool_result").order_by("-position").first()


def _list_pauses(conversation: Conversation, rows: Sequence[Message]) -> list[float]:
    """Seconds from the end of a turn to what the user said next: the long one that is remembered
    from before the last compaction, and those between the rows."""
    earlier = [] if conversation.long_pause is None else [conversation.long_pause]
    return earlier + [
        (row.created_at - _ended_at(before)).total_seconds()
        for before, row in pairwise(rows)
        if to_agent_message(row).is_prompt
    ]


def _ended_at(row: Message) -> datetime:
    """When a message's turn ended; imported ones have none."""
    ended: datetime | None = getattr(row, "turn_ended_at", None)
    return ended or row.created_at


def to_agent_message(row: Message) -> AgentMessage:
    """A message as requests see it: empty, where the model declined to write it."""
    blocks = [] if row.stop_reason == Message.REFUSED else row.blocks
    return AgentMessage(
        row.number,
        cast(Role, row.role),
        blocks,
        _sent_tokens(row),
        row.pasted,
        _thinking(row),
        row.created_at.timestamp(),
    )


def _sent_tokens(row: Message) -> RawTokens:
    """Raw tokens of what is sent of a message."""
    return RawTokens(0 if row.stop_reason == Message.REFUSED else row.tokens)


def _thinking(row: Message) -> RealTokens:
    """What was reported of the thinking that is sent of a message."""
    usage = (row.usage or {}) if row.stop_reason != Message.REFUSED else {}
    details = usage.get("output_tokens_details") or {}
    return RealTokens(int(details.get("thinking_tokens") or 0))


def _last_reply(rows: Sequence[Message], conversation: Conversation) -> Message | None:
    return next((row for row in reversed(rows) if _reports(row, conversation)), None)


def _report(row: Message) -> UsageReport:
    return UsageReport(
        row.number,
        Usage.from_api(row.usage),
        thinking=_thinking(row),
        complete=row.status == Message.Status.COMPLETE,
    )


def _reports(row: Message, conversation: Conversation) -> bool:
    """Whether a message's usage tells the size of the context as it is."""
    return (
        bool(row.usage)
        and row.model == conversation.model
        and row.number >= conversation.meter_valid_from
        and Usage.from_api(row.usage).prompt > 0
    )


def load_head_number(conversation_id: UUID) -> int:
    """The number of the branch's last message, 0 for none."""
    head = (
        Message.objects.filter(conversation=conversation_id, active=True)
        .order_by("-position")
        .values_list(F("number"), flat=True)
        .first()
    )
    return head or 0
