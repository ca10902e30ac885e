"""The `snapshot` event: all that a page needs to be right, whatever it has missed."""

from dataclasses import replace
from uuid import UUID

from accounts.models import User
from chat.db.threads import in_db
from chat.engine.state import load_head_number, load_state
from chat.html.budget_line import read_budget_line
from chat.html.questions import render_proposal
from chat.live.peers import ask_holder
from chat.live.runner import runner
from chat.models import Compaction, Message, Turn
from chat.protocol import from_rows
from chat.protocol.events import Snapshot
from chat.protocol.parts import LiveAnswer, LiveText, TurnState
from chat.services.library import memories


async def build_snapshot(conversation_id: UUID, user: User) -> Snapshot:
    """The event for a page of this person's, with the live text from the process that writes it."""
    stored, turn = await in_db(_stored, conversation_id, user)
    told = await _find_live(turn) if turn else None
    if turn and told is None:  # it may have ended since
        stored, turn = await in_db(_stored, conversation_id, user)
    if turn is None:
        return stored
    text = told["text"] if told else await in_db(_checkpoint, turn)
    state: TurnState = {**text, "turn_id": turn.pk, "kind": turn.kind, "status": turn.status}
    questions = stored.questions + (told["questions"] if told else "")
    return replace(stored, turn=state, questions=questions)


async def _find_live(turn: Turn) -> LiveAnswer | None:
    """The live text of a turn; None if the process that runs it does not know it, or is away."""
    if turn.holder != runner.holder:
        return await ask_holder(turn)
    live = runner.find_live(turn.conversation_id)
    return live.snapshot() if live is not None and live.turn_id == turn.pk else None


def _stored(conversation_id: UUID, user: User) -> tuple[Snapshot, Turn | None]:
    """What the database knows, without the turn; and that turn."""
    state = load_state(conversation_id)
    turn = Turn.objects.filter(conversation=conversation_id, status__in=Turn.ACTIVE).first()
    # One without an active turn holds nobody up: a preparation, or what an ended turn has left.
    running = Compaction.objects.filter(turn=turn, status=Compaction.Status.RUNNING)
    compaction = running.first() if turn else None
    event = Snapshot(
        conversation_id=str(conversation_id),
        title=str(state.conversation),
        head=load_head_number(conversation_id),
        turn=None,
        compaction=from_rows.compression_started(compaction) if compaction else None,
        usage=from_rows.context_usage(state),
        questions="".join(map(render_proposal, memories.list_proposals_of(state.conversation))),
        budget=read_budget_line(user),
        queue=from_rows.queue_changed(conversation_id),
    )
    return event, turn


def _checkpoint(turn: Turn) -> LiveText:
    """The stored text of a turn whose holder does not answer."""
    message = Message.objects.filter(turn=turn, status=Message.Status.STREAMING).first()
    return {
        "message_id": message.pk if message else None,
        "number": message.number if message else None,
        "seq": 0,
        "html": "",
        "through": 0,
        "text": message.text if message else "",
        "thinking": "",
        "rows": "",
    }
