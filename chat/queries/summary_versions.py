"""Reading the versions of a conversation's summary, and what the next one would cover. Writes
nothing."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext

from agent.audit.quotes import Quote
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.plan import Plan
from agent.compaction.policy import Extent, Origin, Trigger
from agent.compaction.writing.job import Job
from agent.engine import plan_next
from agent.messages import AgentMessage
from agent.tokens import Model
from chat.db.rows import read_values
from chat.engine import model_server
from chat.engine.model_profiles import limits_for, load_profile
from chat.engine.recent_messages import to_agent_message
from chat.engine.state import RequestState
from chat.errors import RefusalCode, Refused
from chat.models import Compaction, Conversation, Message
from chat.queries import records

# Of the tokens that a compaction by hand would read: with this much, nobody needs to wait for more.
PREPARED_ENOUGH = 0.8


def plan_for(
    state: RequestState, trigger: Trigger = Trigger.AUTO, extent: Extent = Extent.THOROUGH
) -> Plan | None:
    """What a compaction would summarise and keep now; None: too little to summarise."""
    if records.is_record_due(state):
        return records.plan_due_record(state)
    return plan_next(state.metered, state.policy, trigger, extent)


def make_job(
    state: RequestState, planned: Plan, chapters: list[Chapter], *, model: str, focus: str = ""
) -> Job:
    """A compaction as the engine sees it, for a preview: the worker adds the clients that write it.
    `model`: the id of the one that writes."""
    own = state.profile
    writer = own if model == own.name else load_profile(model)
    return Job(
        context=state.context,
        plan=planned,
        chapters=chapters,
        used=state.used,
        unreported=state.metered.unreported,
        policy=records.choose_policy(state, planned),
        counter=model_server.get_counter(),
        own=Model(own.name, state.limits, own.prices),
        writer=Model(writer.name, limits_for(writer, state.conversation), writer.prices),
        warm=state.warm and not state.context.reply.changes_prefix,
        focus=focus,
        by_rule_through=records.find_by_rule_through(state),
    )


def plan_or_refuse(state: RequestState, extent: Extent = Extent.THOROUGH) -> Plan:
    """What a compaction by hand would do; Refused where there is too little to summarise."""
    planned = plan_for(state, Trigger.MANUAL, extent)
    if planned is not None:
        return planned
    if not state.recent.rows and not state.context.summary:
        reason = gettext("There is nothing to compact yet: the conversation is empty.")
    else:
        reason = gettext(
            "There is nothing to compact yet: the last exchange always stays as it is."
        )
    raise Refused(RefusalCode.NOTHING_TO_COMPACT, reason)


def load_current_summary(conversation: Conversation) -> Compaction | None:
    """The version that is current, with the messages that it begins and ends with; None where there
    is none, or its text was removed."""
    if conversation.compaction_id is None:
        return None
    versions = Compaction.objects.filter(pk=conversation.compaction_id).exclude(summary="")
    return versions.select_related("first", "through").first()


def split_at(messages: Sequence[AgentMessage], through: int) -> Plan:
    """The messages up to a number, and those after it."""
    return Plan(
        [message for message in messages if message.number <= through],
        [message for message in messages if message.number > through],
    )


def find_running(conversation: Conversation) -> Compaction | None:
    """The compaction that is being written; not a version that makes no room."""
    return Compaction.objects.filter(
        conversation=conversation, status=Compaction.Status.RUNNING, origin=Origin.COMPACTION
    ).first()


def find_ready(conversation: Conversation) -> Compaction | None:
    """A prepared version that still extends the current one."""
    return (
        Compaction.objects.filter(
            conversation=conversation,
            status=Compaction.Status.READY,
            replaces=conversation.compaction_id,
            origin=Origin.COMPACTION,
        )
        .select_related("first", "through")
        .order_by("-pk")
        .first()
    )


def has_ready(conversation: Conversation) -> bool:
    """Whether there is one."""
    ready = read_values(
        Compaction,
        ["replaces"],
        conversation=conversation.pk,
        status=Compaction.Status.READY,
        origin=Origin.COMPACTION,
    )
    return (conversation.compaction_id,) in ready


def find_ready_by_hand(
    state: RequestState, planned: Plan, extent: Extent = Extent.THOROUGH
) -> Compaction | None:
    """A prepared version, if it reads most of what a person's own compaction would; a gentle one
    keeps all that it promises."""
    ready = find_ready(state.conversation)
    if ready is None:
        return None
    prepared = split_at(state.context.messages, ready.through.number).summarise
    if extent == Extent.GENTLE and len(prepared) > len(planned.summarise):
        return None
    wanted = sum(message.tokens for message in planned.summarise)
    return ready if sum(m.tokens for m in prepared) >= PREPARED_ENOUGH * wanted else None


def read_chapters(compaction: Compaction | None) -> list[Chapter]:
    """The chapters of a version, oldest first."""
    return [Chapter.from_dict(data) for data in compaction.chapters] if compaction else []


def list_quotes(compaction: Compaction | None) -> list[Quote]:
    """What bears statements of a version out."""
    return [quote for chapter in read_chapters(compaction) for quote in chapter.quotes]


def find_written(version: Compaction) -> Compaction:
    """The version as a model wrote it: an edit covers the same messages again."""
    while version.origin == Origin.EDIT and version.previous:
        version = version.previous
    return version


def read_chapters_before(version: Compaction) -> list[Chapter]:
    """The chapters before the newest of a version, for writing that again: as its user has edited
    them, or where they were made one with it, as they were before."""
    begins = version.first.number
    now = read_chapters(version)
    if any(chapter.first < begins <= chapter.through for chapter in now):
        now = read_chapters(find_written(version).previous)
    return [chapter for chapter in now if chapter.through < begins]


def plan_rewrite(state: RequestState, version: Compaction) -> Plan:
    """What writing the current version again would read; all later messages stay."""
    covered = [to_agent_message(row) for row in load_covered(version)]
    return Plan(covered, state.context.messages)


def load_covered(compaction: Compaction) -> QuerySet[Message]:
    """The messages that a compaction reads: those of the branch in its range."""
    return load_messages_between(
        compaction.conversation_id, compaction.first.position, compaction.through.position
    )


def load_numbered(conversation: Conversation, first: int, last: int) -> QuerySet[Message]:
    """The branch's messages from one number through another."""
    return Message.objects.filter(
        conversation=conversation, active=True, number__range=(first, last)
    ).order_by("position")


def load_messages_between(conversation_id: UUID, first: int, last: int) -> QuerySet[Message]:
    """The branch's messages from one position through another."""
    return Message.objects.filter(
        conversation=conversation_id, active=True, position__range=(first, last)
    ).order_by("position")
