"""A summary that is written again: for an administrator it waits beside the current one until
somebody has compared the two and decided, for its owner it takes the place of one that no model
wrote."""

from django.db import transaction
from django.utils.translation import gettext

from agent.compaction.policy import Method, Origin, Reason
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Compaction, Conversation, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit
from chat.queries import summary_versions
from chat.services.library.conversations import refuse_if_busy
from chat.services.summary import compactions
from chat.services.summary.summaries import CompactionTurn, lock_current
from chat.services.turns import asking
from chat.services.turns.turns import begin_turn

_Status = Compaction.Status


def begin_rewrite(compaction_id: int, *, by: int | None = None) -> int:
    """Begin to write the current summary's newest version again, from the same messages, in the
    background: the id of the new one. It counts for `by`, the id of the user who wants it, or else
    for the conversation's owner.

    Refused for versions that are not current, while a turn runs, where the model is barred, and
    above the limits.
    """
    with transaction.atomic():
        old, conversation = lock_current(compaction_id)
        writer = compactions.choose_writer(conversation)
        asking.permit(conversation, writer, counted_for=by or conversation.owner_id)
        compactions.discard_preparations(conversation)  # one is written at a time
        return _begin(old, conversation).pk


def open_rewrite_turn(compaction_id: int, *, holder: str) -> CompactionTurn:
    """Have a summary that was written by rule, because no model could, written by the model: a turn
    like `/compact`, and what comes of it takes the place of the other at once. If no model can this
    time either, nothing changes.

    Refused for other summaries, for versions that are not current, while a turn runs, and above the
    limits.
    """
    with transaction.atomic():
        old, conversation = lock_current(compaction_id)
        if old.method != Method.EXTRACT or old.method_reason == Reason.NOT_AGREED:
            raise Refused(
                RefusalCode.NOT_CURRENT,
                gettext("Only a summary that was written by rule can be tried again."),
            )
        asking.permit(conversation, compactions.choose_writer(conversation))
        turn = begin_turn(conversation, Turn.Kind.COMPACT, holder)
        return CompactionTurn(turn, _begin(old, conversation, turn.pk).pk)


def _begin(old: Compaction, conversation: Conversation, turn_id: int | None = None) -> Compaction:
    state = load_state(conversation.pk)
    planned = summary_versions.plan_rewrite(state, old)
    # The new version is measured against the context without the old one.
    freed = sum(state.limits.factor.apply(message.tokens) for message in planned.summarise)
    return compactions.begin(
        state,
        planned,
        origin=Origin.REWRITE,
        turn_id=turn_id,
        previous=summary_versions.find_written(old).previous,
        focus=old.focus,
        tokens_before=state.used + freed,
    )


def use_rewrite(compaction_id: int) -> None:
    """Put a summary that was written again in the place of the one that it was compared with.

    Refused while a turn runs, for what is no such summary, and where the conversation has moved on.
    """
    with transaction.atomic():
        rewrite, conversation = _lock_rewrite(compaction_id)
        refuse_if_busy(conversation)
        state = load_state(conversation.pk)
        if (
            conversation.compaction_id != rewrite.replaces_id
            or not compactions.covers_what_it_read(rewrite)
            or not compactions.end(rewrite, _Status.COMPLETED, of=(_Status.READY,))
        ):
            raise Refused(
                RefusalCode.NOT_CURRENT,
                gettext(
                    "The conversation has moved on since this was written: its summary or its "
                    "messages have changed. Nothing was replaced; write the summary again."
                ),
            )
        compactions.make_current(conversation, rewrite, written_for=state)
        compactions.discard_preparations(conversation)  # they extend the old one
        compactions.announce_end(rewrite)
        usage = from_rows.context_usage(load_state(conversation.pk))
        emit(conversation_group(conversation.pk), usage)


def discard_rewrite(compaction_id: int) -> None:
    """Give it up, also while it is written. Refused for what does not wait any more."""
    with transaction.atomic():
        rewrite, _ = _lock_rewrite(compaction_id)
        waiting = (_Status.RUNNING, _Status.READY)
        error = compactions.DISCARDED
        if not compactions.end(rewrite, _Status.CANCELLED, of=waiting, error=error):
            _refuse()
        compactions.announce_end(rewrite)


def _lock_rewrite(compaction_id: int) -> tuple[Compaction, Conversation]:
    rows = Compaction.objects.select_related("first", "through")
    rewrite = rows.get(pk=compaction_id)
    if rewrite.origin != Origin.REWRITE:
        _refuse()
    return rewrite, Conversation.objects.select_for_update().get(pk=rewrite.conversation_id)


def _refuse() -> None:
    raise Refused(
        RefusalCode.NOT_CURRENT,
        gettext("Only a summary that was written again and waits can be used or discarded."),
    )
