"""Reading a conversation for its next request, its meter and its snapshot. Writes nothing.

The queries are index ranges: a conversation of 10,000 messages costs what those after its summary
cost.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from accounts.policies import load_all_rights
from agent.compaction.policy import ContextLoad, Policy, Trigger, find_trigger
from agent.context.assemble import Context, Size
from agent.context.request import CACHE_SECONDS, Ttl, choose_cache_ttl, count_bridged
from agent.context.summary import Summary
from agent.engine import MeteredContext, UsageReport, meter
from agent.messages import RawTokens, RealTokens, Usage
from agent.model.unreported import ESTIMATED, WHOLE_USAGE
from agent.tokens import Limits
from chat.engine.model_profiles import limits_for, load_profile, reply_settings_for
from chat.engine.model_server import get_counter
from chat.engine.projects import make_files_message
from chat.engine.recent_messages import (
    RecentMessages,
    find_thinking,
    load_recent_messages,
    read_recent_messages,
)
from chat.engine.tools import declare_tools
from chat.models import Conversation, Message, ModelProfile


@dataclass(frozen=True)
class RequestState:
    """A conversation as its next request sees it."""

    conversation: Conversation
    profile: ModelProfile
    policy: Policy
    metered: MeteredContext
    recent: RecentMessages

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
    def ratio(self) -> float:
        """The meter: the share of the budget that is used."""
        return self.used / self.limits.budget

    @property
    def last_reply(self) -> Message | None:
        """The newest reply whose reported usage still describes the context."""
        return _last_reply(self.recent.rows, self.conversation, self.profile.name)

    @property
    def warm(self) -> bool:
        """Whether the server still caches the conversation's last request."""
        reply = self.last_reply
        if reply is None or not settings.PROMPT_CACHING:
            return False
        return (timezone.now() - reply.created_at).total_seconds() < self.cached_seconds

    @property
    def cached_seconds(self) -> float:
        """For how long after it the server keeps the last reply's request."""
        reply = self.last_reply
        usage = Usage.from_api(reply.usage if reply else None)
        return CACHE_SECONDS["1h" if usage.ephemeral_1h_input_tokens else "5m"]

    @property
    def pauses(self) -> list[float]:
        """Seconds that the user let pass before each of the newest prompts."""
        return _list_pauses(self.conversation, self.recent)

    @property
    def rounds(self) -> int:
        """Tool rounds since the last compaction, which may have kept some from before it."""
        since = self.conversation.compressed_at
        messages = self.recent.messages
        return sum(
            any(block.get("type") == "tool_use" for block in messages[index].blocks)
            for index in messages.aggregates.mixed
            if since is None or self.recent.rows[index].created_at > since
        )

    def due(self) -> Trigger | None:
        """Why the next request needs a compaction; None where it needs none."""
        load = ContextLoad(self.used, self.limits, self.rounds, self.context.recent_count)
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


def load_states(ids: Collection[UUID]) -> dict[UUID, RequestState]:
    """`load_state` of several conversations, those that are gone left out: in five queries, one
    more for each model, and those that `read_recent_messages` and MCP servers need for single
    ones. What is read is not kept: it would take the place of what is in use."""
    rows = list(Conversation.objects.filter(pk__in=ids))
    load_all_rights({row.owner_id for row in rows})  # `declare_tools` asks for each
    profiles = {name: load_profile(name) for name in {row.model for row in rows}}
    recent = read_recent_messages(rows)
    return {row.pk: load_state_for(row, profiles[row.model], recent[row.pk]) for row in rows}


def load_state_for(
    conversation: Conversation,
    profile: ModelProfile | None = None,
    recent: RecentMessages | None = None,
) -> RequestState:
    """`load_state` for a row, and what belongs to it, that were just read; see
    `chat.engine.recent_messages`. The `profile` is another model's where that answers once."""
    profile = profile or load_profile(conversation.model)
    recent = recent or load_recent_messages(conversation)
    policy = policy_for(conversation)
    limits = limits_for(profile, conversation)
    context = Context(
        model=profile.name,
        system_prompt=conversation.system_prompt,
        summary=Summary.from_text(conversation.compressed_context or ""),
        pruned_through=conversation.pruned_through,
        summary_through=recent.through[1] if recent.through else 0,
        first=recent.first if conversation.keep_first_message else None,
        prompt=recent.prompt,
        messages=recent.messages,
        limits=replace(limits, reply=conversation.reply_settings.get("max_tokens")),
        tools=declare_tools(conversation, profile, automatic=policy.enabled),
        memory=conversation.memory_text,
        project=conversation.project_parts.get("instructions", ""),
        files=make_files_message(conversation),
        thinking_from=_find_own_thinking(conversation, recent),
        show_thinking=profile.show_thinking,
        reply=reply_settings_for(profile, conversation),
        cache_ttl=_choose_cache_ttl(conversation, recent, policy, limits),
    )
    reply = _last_reply(recent.rows, conversation, profile.name)
    metered = meter(context, get_counter(), _report(reply) if reply else None)
    return RequestState(conversation, profile, policy, metered, recent)


def _find_own_thinking(conversation: Conversation, recent: RecentMessages) -> int:
    """The number from which on thinking was written after what is sent now. That of an imported
    message the API took from another account, after another system prompt."""
    return max(conversation.meter_valid_from, recent.imported_through + 1)


def _choose_cache_ttl(
    conversation: Conversation, recent: RecentMessages, policy: Policy, limits: Limits
) -> Ttl:
    if not settings.CACHE_FOR_AN_HOUR:
        return "5m"
    newest = recent.messages.aggregates.tokens
    written = limits.factor.apply(RawTokens(conversation.tokens_covered + newest))
    bridged = conversation.pauses_covered + count_bridged(recent.pauses)
    pauses, trigger = _list_pauses(conversation, recent), policy.trigger_tokens(limits)
    return choose_cache_ttl(pauses, written, bridged, trigger)


def _list_pauses(conversation: Conversation, recent: RecentMessages) -> list[float]:
    """Seconds from the end of a turn to what the user said next: the long one that is remembered
    from before the last compaction, and those of the recent messages."""
    earlier = [] if conversation.long_pause is None else [conversation.long_pause]
    return [*earlier, *recent.pauses]


def _last_reply(rows: Sequence[Message], conversation: Conversation, model: str) -> Message | None:
    reported = (row for row in reversed(rows) if row.usage)
    return next((row for row in reported if _reports(row, conversation, model)), None)


def _report(row: Message) -> UsageReport:
    return UsageReport(
        row.number,
        Usage.from_api(row.usage),
        thinking=find_thinking(row),
        complete=row.status == Message.Status.COMPLETE,
    )


def _reports(row: Message, conversation: Conversation, model: str) -> bool:
    """Whether a message's usage tells the size of the context as a model gets it."""
    return (
        row.model == model
        and row.number >= conversation.meter_valid_from
        and Usage.from_api(row.usage).request_tokens > 0
        and (row.usage or {}).get(ESTIMATED) != WHOLE_USAGE
    )


def find_number_since(conversation_id: UUID, time: datetime) -> int | None:
    """The number of the branch's first message written at a time or later, None where there is none
    any more."""
    rows = Message.objects.filter(
        conversation=conversation_id, active=True, created_at__gte=time
    ).order_by("created_at", "position")
    return rows.values_list("number", flat=True).first()


def load_head_number(conversation_id: UUID) -> int:
    """The number of the branch's last message, 0 for none."""
    head = (
        Message.objects.filter(conversation=conversation_id, active=True)
        .order_by("-position")
        .values_list(F("number"), flat=True)
        .first()
    )
    return head or 0
