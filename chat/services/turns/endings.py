"""How a turn ends, or a round of it: the answer is stored, its call ended, and its usage learned
from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from agent.engine import learn_from_reply
from agent.errors import AgentError
from agent.messages import AgentMessage, Block, RawTokens, Usage, plain_text, sanitise_text
from agent.model.unreported import ESTIMATED
from agent.tokens import Factor
from chat import metrics
from chat.db.rows import save_row, update_row
from chat.engine.model_profiles import load_profile
from chat.engine.model_server import get_counter
from chat.engine.state import RequestState, load_state_for
from chat.models import Conversation, Message, ModelProfile, Turn
from chat.models.notices import Notice
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.services import calls
from chat.services.library import search_index
from chat.services.summary import compactions
from chat.services.turns import queue
from chat.services.turns.message_changes import change_history, update_messages
from chat.services.turns.turns import append_answer, find_head, find_open_answer, text_blocks
from spending.calls import CallEnd, end_call, read_usage
from spending.models import ModelCall
from spending.queries import add_up_all

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ends, or one round of it. `usage` is as reported for its last call, or estimated
    (`agent.model.unreported`); `call` the end of the call whose row is open; `raw_request` the raw
    estimate of the request that `usage` was reported for, for learning, 0 for none; `first_delta`
    the seconds to the turn's first text, `rounds` how many rounds of tools came before, `calls` how
    many model calls the turn has made, None where unknown."""

    status: Turn.Status
    blocks: Sequence[Block] = ()
    stop_reason: str = ""
    usage: dict[str, Any] | None = None
    call: CallEnd | None = None
    raw_request: RawTokens = RawTokens(0)
    error: AgentError | None = None
    first_delta: float | None = None
    rounds: int | None = None
    calls: int | None = None


_MESSAGE_STATUS = {
    Turn.Status.COMPLETED: Message.Status.COMPLETE,
    Turn.Status.FAILED: Message.Status.FAILED,
    Turn.Status.CANCELLED: Message.Status.INTERRUPTED,
    Turn.Status.INTERRUPTED: Message.Status.INTERRUPTED,
}


def end_turn(turn_id: int, ending: TurnOutcome) -> RequestState | None:
    """Every turn ends here: store its answer, end its call, learn from the usage, tell everybody.

    Returns the conversation as it is then; None where the turn had ended already (or its
    conversation is gone): then only the end of its call is written. But if a sweep took its holder
    for dead, although it was alive, the whole answer replaces its last checkpoint.
    """
    tokens = get_counter().count_blocks(list(ending.blocks)) if ending.blocks else 0
    with transaction.atomic():
        state = _store_end(turn_id, ending, tokens)
        if ending.call:
            end_call(ending.call)
    return state


def _store_end(turn_id: int, ending: TurnOutcome, tokens: int) -> RequestState | None:
    """What `end_turn` does before its call ends; `tokens`: of the answer."""
    end = {
        "status": ending.status,
        "finished_at": timezone.now(),
        "error": ending.error.as_dict() if ending.error else None,
    }
    if ending.status != Turn.Status.COMPLETED:
        compactions.fail_all_of(turn_id)
    if update_row(Turn, end, pk=turn_id, status=Turn.ACTIVE):
        message = find_open_answer(turn_id)
    else:
        message = _given_up(turn_id) if ending.blocks else None
        if message is None:
            return None
        update_row(Turn, end | {"notice": Notice.STORED_LATE}, pk=turn_id)
        search_index.unindex_messages([message])
        message.turn.refresh_from_db()  # type: ignore[union-attr]
    turn = (message and message.turn) or Turn.objects.get(pk=turn_id)
    conversation = turn.conversation
    profile = load_profile(turn.answering_model)
    if turn.kind == Turn.Kind.ANSWER:
        if message is None:  # it failed before the request went out
            message = append_answer(conversation, find_head(conversation), turn)
        store_answer(conversation, profile, message, ending, tokens)
        _pause_queue(turn, ending.status)
    if turn.model:
        profile = _return_to_own_model(conversation)
    state = load_state_for(conversation, profile)
    if state.doubted and message and state.last_reply and state.last_reply.pk == message.pk:
        transaction.on_commit(lambda: _report_doubt(turn, state), robust=True)
    group = conversation_group(conversation.pk)
    emit_later(group, lambda: from_rows.turn_finished(turn, message))
    emit(group, from_rows.context_usage(state))
    transaction.on_commit(lambda: _log_end(turn, ending), robust=True)
    return state


def _pause_queue(turn: Turn, status: Turn.Status) -> None:
    """What was to follow an answer that was stopped, or failed, waits until its author has seen
    that."""
    if status != Turn.Status.COMPLETED:
        words = queue.STOPPED if status == Turn.Status.CANCELLED else queue.FAILED
        queue.pause_queue(turn.conversation_id, words)


def _return_to_own_model(conversation: Conversation) -> ModelProfile:
    """After a turn that another model answered: what it reported and thought is not the own one's.
    The profile of that."""
    row = Conversation.objects.filter(pk=conversation.pk)
    row.update(meter_valid_from=F("next_number"))
    conversation.meter_valid_from = conversation.next_number
    return load_profile(conversation.model)


def _given_up(turn_id: int) -> Message | None:
    """The answer of a turn that a sweep has interrupted, whose usage is none or that of the last
    checkpoint; what a holder stores later has more."""
    rows = Message.objects.filter(
        Q(usage__isnull=True) | Q(usage__has_key=ESTIMATED),
        turn=turn_id,
        active=True,  # not if its reader has asked again meanwhile
        turn__status=Turn.Status.INTERRUPTED,
        status=Message.Status.INTERRUPTED,
    )
    return rows.select_related("turn__conversation").last()


def finish_plainly(
    turn_id: int, error: AgentError, text: str | None = None, call: CallEnd | None = None
) -> bool:
    """End a turn where `end_turn` fails whatever the reason, so that it does not keep its lock: its
    status, its answer's text, its `call`, and no more. What is missing is taken from the last
    checkpoint."""
    failed: dict[str, Any] = {"status": Message.Status.FAILED}
    if text is not None:
        failed |= {"text": sanitise_text(text), "blocks": text_blocks(text)}
    with transaction.atomic():
        turn = Turn.objects.filter(pk=turn_id, status__in=Turn.ACTIVE).first()
        if turn is None:
            return False
        turn.status, turn.finished_at = Turn.Status.FAILED, timezone.now()
        turn.error = error.as_dict()
        turn.save(update_fields=["status", "finished_at", "error"])
        left = Message.objects.filter(turn=turn_id, status=Message.Status.STREAMING)
        kept = left.values_list("usage", flat=True).first()
        update_messages(turn.conversation, left, **failed)
        _pause_queue(turn, Turn.Status.FAILED)
        # After the commit: whatever goes wrong with that keeps no lock.
        transaction.on_commit(lambda: _end_calls(turn_id, call, kept), robust=True)
        emit(conversation_group(turn.conversation_id), from_rows.turn_finished(turn, None))
    return True


def _end_calls(turn_id: int, call: CallEnd | None, kept: dict[str, Any] | None) -> None:
    with transaction.atomic():
        if call:
            end_call(call)
        calls.lose_open_of_turn(turn_id, kept)


def _log_end(turn: Turn, ending: TurnOutcome) -> None:
    """One line for each turn that ended, without a word of what was said. The tokens are those of
    all its calls."""
    if ending.calls == 1 and ending.call:  # mostly: no statement for it
        usage, cost = ending.call.usage, ending.call.dollars
    else:
        sums = add_up_all(ModelCall.objects.filter(turn=turn.pk))
        usage, cost = read_usage(sums), sums.dollars
    compressed_at = turn.conversation.compressed_at
    ended = turn.finished_at or timezone.now()
    log.info(
        "turn ended",
        turn=turn.pk,
        kind=turn.kind,
        conversation=str(turn.conversation_id),
        user=turn.conversation.owner_id,
        status=str(ending.status),
        error=ending.error.code if ending.error else None,
        model=turn.answering_model,
        seconds=round((ended - turn.created_at).total_seconds(), 3),
        first_delta=ending.first_delta and round(ending.first_delta, 3),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
        cost=round(float(cost), 6),
        rounds=None if ending.rounds is None else ending.rounds + 1,
        calls=ending.calls,
        compacted=compressed_at is not None and compressed_at > turn.created_at,
    )


def _report_doubt(turn: Turn, state: RequestState) -> None:
    """A server that reports too little does so with every reply: once a turn is enough."""
    reply = state.last_reply
    usage = Usage.from_api(reply.usage if reply else None)
    log.warning(
        "reported usage not believed",
        turn=turn.pk,
        model=state.profile.name,
        reported=usage.request_tokens,
        reported_output=usage.output_tokens,
        written=state.limits.factor.apply(RawTokens(reply.tokens)) if reply else 0,
        estimated=state.used,
    )
    metrics.USAGE_NOT_BELIEVED.inc()


def store_answer(
    conversation: Conversation,
    profile: ModelProfile,
    message: Message,
    ending: TurnOutcome,
    tokens: int,
) -> None:
    """Store how an answer, or a round of it, ended, and learn from its usage. The caller's
    transaction holds the turn."""
    late = message.status != Message.Status.STREAMING
    _learn(profile, message, ending, tokens)
    message.status = _MESSAGE_STATUS[ending.status]
    message.stop_reason = ending.stop_reason
    if ending.usage or not late:  # what a sweep has stored stays where no more is known
        message.usage = ending.usage
    if ending.blocks:
        message.blocks = list(ending.blocks)
        message.text = plain_text(ending.blocks)
        message.tokens = tokens
    save_row(message, "status", "stop_reason", "usage", "blocks", "text", "tokens")
    change_history(conversation, message)
    search_index.index_messages(conversation.owner_id, [message])


def _learn(profile: ModelProfile, message: Message, ending: TurnOutcome, tokens: int) -> None:
    """Teach a model's token factor by one reply, but not where fewer output tokens were reported
    than the answer's `tokens`. It is stored where it has moved, and only after the commit: all
    conversations of the model share its row."""
    usage = Usage.from_api(ending.usage)
    if not usage.total:
        return
    written = AgentMessage(message.number, "assistant", ending.blocks, RawTokens(tokens))
    factor = Factor(profile.token_factor, profile.token_samples)
    learned = learn_from_reply(factor, ending.raw_request, usage, written)
    if learned == factor:
        return
    profile.token_factor, profile.token_samples = learned.value, learned.samples
    if profile.pk is not None:
        transaction.on_commit(lambda: save_row(profile, "token_factor", "token_samples"))
