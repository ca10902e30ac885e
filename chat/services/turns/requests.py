"""How an answer begins: its turn, what its request consists of, and the row that it goes into."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from accounts.models import User
from agent.compaction.policy import Trigger
from agent.context.shortening.previews import find_previewed
from agent.engine import BreakerOpen, Compact, Prune, Send, Swap, Trim, decide_sent_cuts, next_step
from agent.errors import AgentError, ErrorCode
from chat.db.rows import read_row, save_row, update_row
from chat.engine import model_server
from chat.engine.model_profiles import load_profile
from chat.engine.recent_messages import find_prompt_before
from chat.engine.state import RequestState, load_state_for
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, Message, Turn
from chat.models.notices import Notice
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later, user_group
from chat.services.calls import BookedCall, book_call
from chat.services.library import attachments, memories, projects
from chat.services.library.conversations import (
    create_conversation,
    make_first_title,
    refuse_if_busy,
    refuse_if_left_out,
)
from chat.services.summary import compactions, preparations
from chat.services.turns import asking
from chat.services.turns.message_changes import change_history, update_messages
from chat.services.turns.times import tell_time_again
from chat.services.turns.turns import (
    NewMessage,
    Prompt,
    append_answer,
    begin_turn,
    find_head,
    find_open_answer,
    lock_turn,
    make_prompt,
    set_notice,
)
from spending.calls import CallDetails
from spending.models import ModelCall


@dataclass(frozen=True)
class AnswerStart:
    """A context to send, with the row of its answer and the call that is booked for it; or, with a
    trigger, to compact first, and what to keep then in particular."""

    turn: Turn
    state: RequestState
    message: Message | None = None
    call: BookedCall | None = None
    compact: Trigger | None = None
    focus: str = ""


def send_message(
    user: User,
    conversation_id: UUID,
    new: NewMessage,
    *,
    expected_head: int | None,
    holder: str,
) -> AnswerStart | None:
    """Store a user's message and begin its answer; None for a repeated `client_id`.
    `expected_head`: the number of the message that its author saw as the last one, 0 for none.

    Raises Refused (empty, too long, busy, head changed) and Conversation.DoesNotExist.
    """
    prompt = prepare_prompt(user, new)
    return send_prompt(user, conversation_id, prompt, expected_head=expected_head, holder=holder)


def prepare_prompt(user: User, new: NewMessage) -> Prompt:
    """A user's message, ready to be stored; see `make_prompt`."""
    attached = attachments.load_for_sending(user, new.files)
    others = [attachments.make_reference(each) for each in attached]
    return make_prompt(
        new.text,
        new.pasted,
        others,
        attached,
        client_id=new.client_id,
        zone=new.zone,
        source=new.source,
    )


def send_prompt(
    user: User,
    conversation_id: UUID,
    prompt: Prompt,
    *,
    expected_head: int | None,
    holder: str,
    model: str = "",
) -> AnswerStart | None:
    """`send_message` for what is ready to be stored. `model` answers this alone, "": the
    conversation's."""
    try:
        # The database's constraints keep out a second turn and a repeated frame. Which of them it
        # was is looked up only then.
        with transaction.atomic():
            conversation = read_row(Conversation, lock=True, pk=conversation_id, owner=user.pk)
            if conversation is None or conversation.deleted_at:
                raise Conversation.DoesNotExist
            # PostgreSQL would let the new turn wait for one that is just ending, and that one for
            # the conversation: a deadlock.
            refuse_if_busy(conversation)
            head = find_head(conversation)
            if expected_head is not None and expected_head != (head.number if head else 0):
                raise Refused(
                    RefusalCode.HEAD_CHANGED, gettext("This chat continued in another tab.")
                )
            if not conversation.title:
                conversation.title = make_first_title(prompt.text or prompt.files[0].name)
                save_row(conversation, "title")
            emit(user_group(user.pk), from_rows.conversation_updated(conversation))
            return open_answer_turn(conversation, holder, prompt=prompt, after=head, model=model)
    except (IntegrityError, Refused) as error:
        if prompt.client_id is not None and _was_sent(user, conversation_id, prompt.client_id):
            return None
        refuse_if_busy(conversation_id)
        if isinstance(error, Refused):
            raise
        raise Refused(
            RefusalCode.CONVERSATION_BUSY,
            gettext("Another answer has just ended. Send the message again."),
        ) from error


def _was_sent(user: User, conversation_id: UUID, client_id: str) -> bool:
    """Whether the user's frame of that id was stored before."""
    mine = Message.objects.filter(conversation=conversation_id, conversation__owner=user)
    return mine.filter(client_id=client_id).exists()


def open_conversation(
    user: User,
    model: str,
    new: NewMessage,
    *,
    holder: str,
    temporary: bool = False,
    tool_settings: Mapping[str, Any] | None = None,
    project: str = "",
) -> AnswerStart:
    """A new conversation, in the project with the id `project` if any, with its first message and
    the beginning of the answer, or neither. Refused where the project is gone too."""
    prompt = prepare_prompt(user, new)
    with transaction.atomic():
        place = projects.load_project_for_new(user, project) if project else None
        conversation = create_conversation(
            user, model, temporary=temporary, project=place, tool_settings=tool_settings
        )
        opening = send_prompt(user, conversation.pk, prompt, expected_head=0, holder=holder)
    assert opening is not None
    return opening


def retry(conversation: Conversation, *, holder: str, zone: str = "") -> AnswerStart:
    """Answer the last user message again. An unfinished answer leaves the branch, not the
    database. A model that was asked for in that turn alone is asked again. Refused where the last
    message is a complete answer."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().get(pk=conversation.pk)
        refuse_if_busy(row)
        head = find_head(row)
        if head is None or (
            head.role == Message.Role.ASSISTANT and head.status == Message.Status.COMPLETE
        ):
            raise Refused(
                RefusalCode.NOTHING_TO_RETRY, gettext("There is no unfinished answer to retry.")
            )
        branch = Message.objects.filter(conversation=row, active=True)
        if prompt := find_prompt_before(branch, head.position):
            refuse_if_left_out(prompt)
        if head.role == Message.Role.ASSISTANT:
            update_messages(row, Message.objects.filter(pk=head.pk), active=False)
        if prompt:
            tell_time_again(row, prompt, zone or settings.TIME_ZONE)
        asked = Turn.objects.filter(messages=head.pk).values_list("model", flat=True).first()
        return open_answer_turn(row, holder, model=asked or "")


def open_answer_turn(
    conversation: Conversation,
    holder: str,
    *,
    prompt: Prompt | None = None,
    after: Message | None = None,
    model: str = "",
) -> AnswerStart:
    """Begin a turn that answers, and its first request; see `begin_turn`."""
    turn = begin_turn(
        conversation, Turn.Kind.ANSWER, holder, prompt=prompt, after=after, model=model
    )
    return open_request(turn)


def open_next_request(turn_id: int, *, may_compact: bool = True) -> AnswerStart:
    """`open_request` for a turn that runs. Raises TurnEnded, and AgentError where the model may not
    answer any more."""
    try:
        with transaction.atomic():
            return open_request(lock_turn(turn_id), may_compact=may_compact)
    except asking.ModelBarred as refusal:
        raise AgentError(ErrorCode.UNKNOWN_MODEL, refusal.words) from refusal


def open_request(turn: Turn, *, may_compact: bool = True) -> AnswerStart:
    """Before each request of a turn: load the context, make room in it where that takes no wait,
    and unless it needs a compaction first, open the rows of the answer and of the model call; an
    answer that the turn opened before is used again.

    The caller's transaction holds the turn, and ends with this. Refused where its model may not
    answer.
    """
    profile = load_profile(turn.answering_model)
    asking.refuse_if_barred(turn.conversation, profile)
    if turn.status == Turn.Status.QUEUED:
        projects.refresh_parts(turn.conversation, profile)
        memories.refresh_memory_text(turn.conversation, profile)
    state = load_state_for(turn.conversation, profile)
    if may_compact:
        state, trigger = _make_room(turn, state)
        if trigger:
            focus = turn.focus if trigger == Trigger.TOOL else ""
            return AnswerStart(turn, state, compact=trigger, focus=focus)
    message = None if turn.status == Turn.Status.QUEUED else find_open_answer(turn.pk)
    if message is None:
        head = find_head(state.conversation)
        message = append_answer(state.conversation, head, turn)
        _mark_cut(state)
        group, created = conversation_group(turn.conversation_id), message
        emit_later(group, lambda: from_rows.message_created(created))
        if turn.status == Turn.Status.RUNNING:  # between two rounds of tools
            emit(group, from_rows.context_usage(state))
    update_row(Turn, {"status": Turn.Status.RUNNING}, pk=turn.pk)
    return AnswerStart(turn, state, message, _book(turn, state, message))


def _book(turn: Turn, state: RequestState, message: Message) -> BookedCall:
    """Open the row of the call that the request is, for the owner of the conversation."""
    conversation, messages = state.conversation, state.context.messages
    latest = takewhile(lambda message: message.role == "user", reversed(messages))
    after_tools = any(message.holds_tool_results for message in latest)
    details = CallDetails(
        conversation.owner_id,
        ModelCall.Kind.TOOL_ROUND if after_tools else ModelCall.Kind.ANSWER,
        state.profile.name,
        conversation=conversation.pk,
        turn=turn.pk,
        message=message.pk,
    )
    most = state.limits.max_tokens
    searches = sum(
        tool.get("max_uses", 0) for tool in state.context.tools if tool["name"] == "web_search"
    )
    ttl = state.context.cache_ttl
    return book_call(details, state.profile, state.used, most, ttl, searches)


def _mark_cut(state: RequestState) -> None:
    """Note how long messages were cut, and which of them the request holds only in part. The page
    is told of the last one: older ones may not be on it, and say so when they are loaded."""
    decided = decide_sent_cuts(state.context)
    previewed = find_previewed(state.context.messages, state.limits)
    rows = state.recent.rows
    new = [rows[index] for index in previewed if not rows[index].sent_in_part]
    if not decided and not new:
        return
    branch = Message.objects.filter(conversation=state.conversation)
    for factor in set(decided.values()):
        numbers = [number for number, each in decided.items() if each == factor]
        branch.filter(number__in=numbers).update(cut_factor=factor)
    branch.filter(pk__in=[row.pk for row in new]).update(sent_in_part=True)
    change_history(state.conversation)
    if rows[-1] in new:
        last = Message.objects.get(pk=rows[-1].pk)
        group = conversation_group(last.conversation_id)
        emit_later(group, lambda: from_rows.message_created(last))


def _make_room(turn: Turn, state: RequestState) -> tuple[RequestState, Trigger | None]:
    """Take the engine's steps that need no wait. The conversation as it is then, and why it has to
    be compacted before the request, if it has."""
    if turn.compaction_wanted:
        Turn.objects.filter(pk=turn.pk).update(compaction_wanted=False)
    while True:
        situation = preparations.TurnSituation(turn, state)
        match next_step(state.metered, state.policy, situation, model_server.get_counter()):
            case Swap():
                # None: what it covers has changed, and nothing is prepared any more.
                state = compactions.commit_ready(state) or state
            case Prune(pruning):
                state = preparations.store_pruning(state, pruning)
            case Compact(trigger):
                return state, trigger
            case BreakerOpen():
                set_notice(turn.pk, Notice.COMPACTION_PAUSED)
                return state, None
            case Send() | Trim():
                return state, None
