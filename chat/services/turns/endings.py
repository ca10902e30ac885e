"""How a turn ends, or a round of it: the answer is stored, its usage charged and learned from."""

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
from chat.services.library import search_index
from chat.services.summary import compactions
from chat.services.turns.message_changes import change_history, update_messages
from chat.services.turns.turns import append_answer, find_head, find_open_answer, text_blocks

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ends, or one round of it. `usage` is as reported for the last call, or estimated
    for it and those before it (`agent.model.unreported`); `paused` the sum of those before it;
    `raw_request` the raw estimate of the request that `usage` was reported for, for learning, 0 for
    none; `first_delta` the seconds to the turn's first text, `rounds` how many rounds of tools came
    before, None where unknown."""

    status: Turn.Status
    blocks: Sequence[Block] = ()
    stop_reason: str = ""
    usage: dict[str, Any] | None = None
    paused: Usage = Usage()
    raw_request: RawTokens = RawTokens(0)
    error: AgentError | None = None
    first_delta: float | None = None
    rounds: int | None = None


_MESSAGE_STATUS = {
    Turn.Status.COMPLETED: Message.Status.COMPLETE,
    Turn.Status.FAILED: Message.Status.FAILED,
    Turn.Status.CANCELLED: Message.Status.INTERRUPTED,
    Turn.Status.INTERRUPTED: Message.Status.INTERRUPTED,
}


def end_turn(turn_id: int, ending: TurnOutcome) -> RequestState | None:
    """Every turn ends here: store its answer, learn from the usage, tell everybody.

    Returns the conversation as it is then; None where the turn had ended already (or its
    conversation is gone): then nothing is written. But if a sweep took its holder for
    dead, although it was alive, the whole answer replaces its last checkpoint.
    """
    tokens = get_counter().count_blocks(list(ending.blocks)) if ending.blocks else 0
    end = {
        "status": ending.status,
        "finished_at": timezone.now(),
        "error": ending.error.as_dict() if ending.error else None,
    }
    with transaction.atomic():
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
        if turn.model:
            profile = _return_to_own_model(conversation)
        state = load_state_for(conversation, profile)
        if state.doubted and message and state.last_reply and state.last_reply.pk == message.pk:
            transaction.on_commit(lambda: _report_doubt(turn, state), robust=True)
        group = conversation_group(conversation.pk)
        emit_later(group, lambda: from_rows.turn_finished(turn, message))
        emit(group, from_rows.context_usage(state))
        transaction.on_commit(lambda: _log_end(turn, ending, message), robust=True)
    return state


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


def finish_plainly(turn_id: int, error: AgentError, text: str | None = None) -> bool:
    """End a turn where `end_turn` fails whatever the reason, so that it does not keep its lock: its
    status, its answer's text, and no more. Without a text the last checkpoint is kept."""
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
        update_messages(turn.conversation, left, **failed)
        emit(conversation_group(turn.conversation_id), from_rows.turn_finished(turn, None))
        # After the commit: whatever goes wrong with that keeps no lock.
        transaction.on_commit(lambda: _charge_checkpoint(turn_id), robust=True)
    return True


def _charge_checkpoint(turn_id: int) -> None:
    """Charge an answer that ended plainly with what its last checkpoint says."""
    with transaction.atomic():
        rows = Message.objects.filter(turn=turn_id, usage__has_key=ESTIMATED, cost=0)
        message = rows.select_related("turn__conversation").last()
        if message is None or message.turn is None:
            return
        usage = Usage.from_api(message.usage)
        cost = load_profile(message.turn.answering_model).price(usage)
        Message.objects.filter(pk=message.pk).update(cost=cost)
        Conversation.objects.filter(pk=message.conversation_id).update(
            input_tokens=F("input_tokens") + usage.request_tokens,
            output_tokens=F("output_tokens") + usage.output_tokens,
            cost=F("cost") + cost,
        )


def _log_end(turn: Turn, ending: TurnOutcome, message: Message | None) -> None:
    """One line for each turn that ended, without a word of what was said. The tokens are those of
    all its rounds; of calls that the server had paused, only those of the last round."""
    if ending.rounds == 0 and message:  # mostly: no statement for it
        answers = [(message.usage, message.cost)]
    else:
        rows = turn.messages.filter(role=Message.Role.ASSISTANT)
        answers = list(rows.values_list("usage", "cost"))
    usage = sum((Usage.from_api(reported) for reported, _ in answers), ending.paused)
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
        cost=round(sum(cost for _, cost in answers), 6),
        rounds=len(answers),
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
    """Store how an answer, or a round of it, ended, and charge its usage. The caller's transaction
    holds the turn."""
    late = message.status != Message.Status.STREAMING
    charged = _charge(conversation, profile, message, ending, tokens)
    message.status = _MESSAGE_STATUS[ending.status]
    message.stop_reason = ending.stop_reason
    if ending.usage or not late:  # what a sweep has charged stays where no more is known
        message.usage = ending.usage
    if ending.blocks:
        message.blocks = list(ending.blocks)
        message.text = plain_text(ending.blocks)
        message.tokens = tokens
    save_row(message, "status", "stop_reason", "usage", "blocks", "text", "tokens", "cost")
    change_history(conversation, message, added=charged)
    search_index.index_messages(conversation.owner_id, [message])


def _charge(
    conversation: Conversation,
    profile: ModelProfile,
    message: Message,
    ending: TurnOutcome,
    tokens: int,
) -> dict[str, float]:
    """What an answer's usage adds to the conversation's totals, to be stored; the rows at hand have
    it already, and what a sweep has charged is taken back. Teaches the model's token factor, but
    not where fewer output tokens were reported than the answer's `tokens`."""
    usage = Usage.from_api(ending.usage)
    charged = usage + ending.paused
    if not charged.total:
        return {}
    swept = Usage()
    if message.status != Message.Status.STREAMING:
        swept = Usage.from_api(message.usage)
    before, message.cost = message.cost, profile.price(charged)
    written = AgentMessage(message.number, "assistant", ending.blocks, RawTokens(tokens))
    _learn(profile, ending.raw_request, usage, written)
    added: dict[str, float] = {
        "input_tokens": charged.request_tokens - swept.request_tokens,
        "output_tokens": charged.output_tokens - swept.output_tokens,
        "cost": message.cost - before,
    }
    for name, value in added.items():
        setattr(conversation, name, getattr(conversation, name) + value)
    return added


def _learn(profile: ModelProfile, raw: RawTokens, usage: Usage, reply: AgentMessage) -> None:
    """Teach a model's token factor by one reply. It is stored where it has moved, and only after
    the commit: all conversations of the model share its row."""
    factor = Factor(profile.token_factor, profile.token_samples)
    learned = learn_from_reply(factor, raw, usage, reply)
    if learned == factor:
        return
    profile.token_factor, profile.token_samples = learned.value, learned.samples
    if profile.pk is not None:
        transaction.on_commit(lambda: save_row(profile, "token_factor", "token_samples"))
