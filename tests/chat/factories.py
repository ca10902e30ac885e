"""Rows for tests, as the services would leave them.

Synchronous: an asynchronous test calls them through `chat.db.threads.in_db`.

    from tests.chat.factories import make_compaction, make_conversation, make_user

    conversation = make_conversation(messages=["Hello", "Hi! How can I help?", "Sort my photos"])
    compaction = make_compaction(conversation, "## Overview\n- Photos [#3]", through=2)
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import count
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import GroupPolicy, User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.plan import Plan, apply_compaction, render_chapters
from agent.compaction.policy import Method, Origin, Reason, Trigger
from agent.compaction.writing.job import WrittenSummary
from agent.engine import CompactedContext
from agent.messages import Block, RealTokens, Usage, plain_text
from chat import tasks
from chat.engine.model_profiles import load_profile
from chat.engine.model_server import get_counter, server_url
from chat.engine.recent_messages import new_history_version
from chat.engine.state import load_state
from chat.models import Compaction, Conversation, Message, ModelProfile, Provider, Turn
from chat.services.library import search_index
from chat.services.site import providers
from chat.services.summary import compaction_jobs, compactions
from chat.services.turns import endings
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.message_changes import change_history
from chat.services.turns.turns import next_lease_end
from spending.amounts import Bound
from spending.calls import CallDetails, CallEnd, end_call, open_call
from spending.models import ModelCall

PASSWORD = "correct horse battery"
MODEL = "test-model"
HOLDER = "test-process"
WORKER_PID = 4242

_numbers = count(1)
# As the services do it, without an expression that Django would compile for each conversation.
CHAIN = """
UPDATE chat_message SET parent_id = (
    SELECT before.id FROM chat_message AS before
    WHERE before.conversation_id = chat_message.conversation_id
    AND before.active AND before.position = chat_message.position - 1
) WHERE conversation_id = %s AND active AND position >= %s
"""

# A message as a test writes it: text or blocks whose role follows from the turn (user first), or
# (role, text or blocks).
Written = str | Sequence[Block] | tuple[str, str | Sequence[Block]]


def make_user(
    username: str = "", *, staff: bool = False, admin: bool = False, may: Iterable[str] = ()
) -> User:
    """A user with `PASSWORD`. `may` are codenames of permissions, as "view_conversation"."""
    user = User.objects.create_user(
        username or f"user{next(_numbers)}",
        password=PASSWORD,
        is_staff=staff or admin,
        is_superuser=admin,
    )
    if names := set(may):
        permissions = Permission.objects.filter(codename__in=names)
        assert {permission.codename for permission in permissions} == names, names
        user.user_permissions.set(permissions)
    return user


def set_policy(user: User, **policy: Any) -> GroupPolicy:
    """Of a group that somebody alone is in, made or changed: `model_names=["small"]`."""
    group, _ = Group.objects.get_or_create(name=f"of {user.username}")
    group.user_set.add(user)
    return GroupPolicy.objects.update_or_create(group=group, defaults=policy)[0]


def make_profile(name: str = MODEL, **values: Any) -> ModelProfile:
    """A model of the configured server, stored once: 200,000 tokens, 1 token per raw token."""
    defaults: dict[str, Any] = {
        "display_name": name.replace("-", " ").capitalize(),
        "context_window": 200_000,
        "max_output": 8_192,
        "input_price": 2.0,
        "output_price": 10.0,
        "cache_read_price": 0.2,
        "cache_write_price": 2.5,
        "token_factor": 1.0,
        "base_url": server_url(),
    }
    profile, _ = ModelProfile.objects.update_or_create(name=name, defaults=defaults | values)
    return profile


def make_provider(name: str, base_url: str, *, key: str = "") -> Provider:
    """A server of models beside the site's own."""
    provider = Provider(name=name, base_url=base_url)
    providers.save_provider(provider, key=key)
    return provider


def make_conversation(
    owner: User | None = None,
    *,
    messages: Sequence[Written] | int = (),
    model: str = MODEL,
    **values: Any,
) -> Conversation:
    """A conversation, by default of a new user. A number of messages stands for that many short
    ones."""
    if not ModelProfile.objects.filter(name=model).exists():
        make_profile(model)
    values.setdefault("title", f"Conversation {next(_numbers)}")
    conversation = Conversation.objects.create(owner=owner or make_user(), model=model, **values)
    if isinstance(messages, int):
        messages = [f"Message number {number}." for number in range(1, messages + 1)]
    if messages:
        add_messages(conversation, messages)
    return conversation


def make_conversations(owner: User, number: int, **values: Any) -> list[Conversation]:
    """Many conversations at once, without messages."""
    return Conversation.objects.bulk_create(
        Conversation(owner=owner, title=f"Conversation {n}", **({"model": MODEL} | values))
        for n in range(1, number + 1)
    )


def add_messages(
    conversation: Conversation, messages: Sequence[Written], **values: Any
) -> list[Message]:
    """Append messages to the branch. `values` go into each: status, usage, turn, …"""
    conversation.refresh_from_db(fields=["next_number"])
    start = conversation.next_number
    branch = Message.objects.filter(conversation=conversation, active=True)
    head = branch.order_by("-position").first() if start > 1 else None
    position = head.position + 1 if head else 0
    # Another user message follows an answer.
    roles = [Message.Role.USER, Message.Role.ASSISTANT]
    turn_of = 1 if head and head.role == Message.Role.USER else 0
    rows = []
    for index, written in enumerate(messages):
        role: str = roles[(turn_of + index) % 2]
        if isinstance(written, tuple):
            role, written = written
        blocks = [{"type": "text", "text": written}] if isinstance(written, str) else written
        row: dict[str, Any] = {
            "number": start + index,
            "position": position + index,
            "role": role,
            "blocks": list(blocks),
            "text": plain_text(blocks),
            "tokens": get_counter().count_blocks(list(blocks)),
            "model": conversation.model if role == Message.Role.ASSISTANT else "",
        }
        rows.append(Message(conversation=conversation, **(row | values)))
    rows = Message.objects.bulk_create(rows, batch_size=500)
    search_index.index_messages(conversation.owner_id, rows)
    with connection.cursor() as cursor:
        pk = Conversation._meta.pk.get_db_prep_value(conversation.pk, connection)
        cursor.execute(CHAIN, [pk, max(position, 1)])
    conversation.next_number = start + len(rows)
    conversation.updated_at = timezone.now()
    conversation.history_version = new_history_version()
    conversation.save(update_fields=["next_number", "updated_at", "history_version"])
    return rows


def change_messages(messages: QuerySet[Message], **values: Any) -> None:
    """Write values into stored messages."""
    ids = set(messages.values_list("conversation", flat=True))
    messages.update(**values)
    for conversation in Conversation.objects.filter(pk__in=ids):
        change_history(conversation)


def make_turn(conversation: Conversation, **values: Any) -> Turn:
    """A turn; without values an answer that was queued just now and locks the conversation."""
    defaults = {"kind": Turn.Kind.ANSWER, "holder": HOLDER, "lease_expires": next_lease_end()}
    return Turn.objects.create(conversation=conversation, **(defaults | values))


def hand_in(
    task: compaction_jobs.SummaryTask, result: WrittenSummary, tokens_after: int = 5
) -> bool:
    """What a worker does with a written summary; see `writing.complete`."""
    state = task.state
    summary = render_chapters(result.chapters, state.policy, state.limits, get_counter())
    context = apply_compaction(state.context, task.plan, summary, state.policy)
    written = CompactedContext(result, summary, context, RealTokens(tokens_after))
    return compaction_jobs.complete(task, written)


def make_compaction(
    conversation: Conversation,
    text: str = "## Overview\n\n- They greeted each other [#1 #2]",
    *,
    through: int | None = None,
    status: Compaction.Status = Compaction.Status.COMPLETED,
    trigger: Trigger = Trigger.MANUAL,
    origin: Origin = Origin.COMPACTION,
    focus: str = "",
    error: str = "The model server is not reachable.",
    usage: Usage | None = None,
    audit: dict[str, Any] | None = None,
    **values: Any,
) -> Compaction:
    """A compaction that went through the services; a completed one is the current one.

    It covers what no summary covers yet up to the message with the number `through`, by default
    all but the last two. `conversation` is refreshed; a running one leaves its turn active.
    `values` are written into the row in the end.
    """
    state = load_state(conversation.pk)
    recent = state.context.messages
    if through is None:
        through = recent[-3].number if len(recent) > 2 else recent[-1].number
    planned = Plan(
        summarise=[message for message in recent if message.number <= through],
        keep=[message for message in recent if message.number > through],
    )
    turn = make_turn(conversation, kind=Turn.Kind.COMPACT, focus=focus)
    previous = state.conversation.compaction
    compaction = compactions.begin(
        state,
        planned,
        trigger if origin == Origin.COMPACTION else None,
        origin=origin,
        turn_id=turn.pk,
        previous=previous,
        focus=focus,
    )
    job = compaction_jobs.claim(compaction.pk, WORKER_PID)
    assert job is not None
    match status:
        case Compaction.Status.COMPLETED:
            chapter = Chapter(text, planned.summarise[0].number, planned.summarise[-1].number)
            result = WrittenSummary(
                chapters=[*job.chapters, chapter],
                method=Method.SERIALISED,
                reason=Reason.NOT_CACHED,
            )
            book_call(compaction_jobs.describe_calls(job), usage or Usage(1_000, 200))
            assert hand_in(job, result, state.used // 2)
            if audit:
                Compaction.objects.filter(pk=compaction.pk).update(audit=audit)
            endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED))
        case Compaction.Status.FAILED:
            compactions.fail(compaction.pk, error)
            endings.end_turn(turn.pk, TurnOutcome(Turn.Status.FAILED))
        case Compaction.Status.CANCELLED:
            compactions.fail(compaction.pk, compactions.CANCELLED, cancelled=True)
            endings.end_turn(turn.pk, TurnOutcome(Turn.Status.CANCELLED))
        case Compaction.Status.READY:  # what a preparation leaves, without writing one
            values["status"] = status
            endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED))
    if values:
        Compaction.objects.filter(pk=compaction.pk).update(**values)
    conversation.refresh_from_db()
    compaction.refresh_from_db()
    return compaction


def work(compaction_id: int) -> None:
    """Write a summary in the calling thread, as a worker's thread does."""
    try:
        tasks.compact(compaction_id)
    finally:
        connection.close()


def book_call(
    details: CallDetails, usage: Usage, *, dollars: float | None = None, is_lost: bool = False
) -> ModelCall:
    """A call that has ended, at its model's prices, or for so many US dollars."""
    call = open_call(details, Bound(usage.request_tokens, Decimal(0), 100, Decimal(0)))
    end_call(CallEnd(call, usage, load_profile(details.model).prices, is_lost=is_lost))
    if dollars is not None:
        ModelCall.objects.filter(pk=call.pk).update(cost=Decimal(str(dollars)))
    return ModelCall.objects.get(pk=call.pk)


def book_answer(message: Message, usage: Usage, **options: Any) -> ModelCall:
    """The call that a message was the answer of."""
    conversation = message.conversation
    details = CallDetails(
        conversation.owner_id,
        ModelCall.Kind.ANSWER,
        message.model or conversation.model,
        conversation=conversation.pk,
        turn=message.turn_id,
        message=message.pk,
    )
    return book_call(details, usage, **options)
