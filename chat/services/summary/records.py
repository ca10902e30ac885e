"""A giant that came from elsewhere is recorded by rule, for nothing, and a model reads it when its
owner has agreed to the price: chapter by chapter, in the background.

What is said here since is summarised as usual, all the while.
"""

from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from agent.compaction.policy import Trigger
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Compaction, Conversation, Turn
from chat.queries import records, summary_versions
from chat.services.summary import compactions
from chat.services.turns import asking

log = structlog.get_logger(__name__)


def begin_record(conversation_id: UUID) -> int | None:
    """After an import: begin the record, which `chat.jobs.summary.write_summary` then writes: the
    id of the compaction. None where there is no giant, or somebody is at work on it: the next turn
    has it recorded."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().get(pk=conversation_id)
        if not records.may_be_giant(row):
            return None
        active = Turn.objects.filter(conversation=row, status__in=Turn.ACTIVE)
        if active.exists() or compactions.is_writing(row) or summary_versions.find_ready(row):
            return None
        state = load_state(row.pk)
        imported = state.recent.imported_through
        if not records.is_giant(state, imported):
            return None
        state.conversation.record_through = imported
        state.conversation.record_agreed_at = None
        planned = records.plan_due_record(state)
        if planned is None:
            return None
        previous = state.conversation.compaction
        return compactions.begin(
            state, planned, Trigger.PREPARED, turn_id=None, previous=previous
        ).pk


def use_record(conversation_id: UUID) -> None:
    """Make a record that is ready the current summary, unless a turn runs, which does it itself."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().filter(pk=conversation_id).first()
        if row is None:
            return
        if not Turn.objects.filter(conversation=row, status__in=Turn.ACTIVE).exists():
            compactions.commit_ready(load_state(row.pk))


def agree(compaction_id: int) -> None:
    """Let a model read what the current record stands for, from now on. The caller has the chapters
    written (`chat.tasks.rebuild`). It counts for the owner as one answer.

    Refused where there is no such record any more, where the model is barred, and above the limits.
    """
    with transaction.atomic():
        version, conversation = _lock(compaction_id)
        if records.find_offer(version) is None:
            _refuse()
        writer = compactions.choose_writer(conversation)
        asking.permit(conversation, writer, counted_for=conversation.owner_id)
        _set_agreed(conversation, agreed=True)
        compactions.tell_change(version)
    log.info("record to be read", conversation=str(conversation.pk))


def decline(conversation_id: UUID, *, why: str = "by its owner") -> None:
    """Stop having a record read: what is written stays, the rest is by rule. A chapter that is
    being written is given up."""
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().filter(pk=conversation_id).first()
        if conversation is None or conversation.record_agreed_at is None:
            return
        _set_agreed(conversation, agreed=False)
        compactions.discard_preparations(conversation)
        if conversation.compaction:
            compactions.tell_change(conversation.compaction)
    log.info("record not read any further", conversation=str(conversation_id), reason=why)


def decline_after_failure(compaction_id: int) -> None:
    """Stop where a chapter could not be written: its owner decides anew. Not where something else
    took its place, as a summary that a turn waited for: the end of that turn goes on."""
    row = Compaction.objects.get(pk=compaction_id)
    if row.status == Compaction.Status.FAILED:
        decline(row.conversation_id, why=row.error)


def _set_agreed(conversation: Conversation, *, agreed: bool) -> None:
    conversation.record_agreed_at = timezone.now() if agreed else None
    conversation.save(update_fields=["record_agreed_at"])


def _lock(compaction_id: int) -> tuple[Compaction, Conversation]:
    """The current version and its conversation, which may have a turn that runs."""
    version = Compaction.objects.get(pk=compaction_id)
    conversation = Conversation.objects.select_for_update().get(pk=version.conversation_id)
    if conversation.compaction_id != version.pk:
        _refuse()
    version.conversation = conversation
    return version, conversation


def _refuse() -> None:
    raise Refused(
        RefusalCode.NOT_CURRENT,
        gettext("This summary has changed meanwhile. Look at it again, then decide."),
    )
