"""Chapters that lost their text, because a message was deleted, left out or put back: emptied in
every version of the summary, and written again in the background from the messages that count.

The change itself always works. What is written again is paid for: it counts for its user as an
answer does, several quick changes are one rebuild, and above the limits it waits for the next turn.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from django.core.cache import cache
from django.db import transaction

from agent.compaction.chapters import gaps
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.gaps import GAP, NOTHING_LEFT
from agent.compaction.plan import Plan, render_chapters
from agent.compaction.policy import Origin, Trigger
from agent.compaction.writing.job import WrittenSummary
from agent.messages import AgentMessage
from chat.engine import model_server
from chat.engine.model_profiles import limits_for, load_profile
from chat.engine.recent_messages import read_original, to_agent_message
from chat.engine.state import RequestState, load_state, policy_for
from chat.models import Compaction, Conversation, Message
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit
from chat.queries import summary_versions, tree
from chat.services.summary import compactions
from chat.services.summary.compaction_jobs import SummaryTask, covers_the_same
from chat.services.summary.preparations import is_breaker_open, is_over_budget
from chat.services.turns.asking import is_permitted

REBUILD_DELAY = 3.0  # seconds without another change, after which a rebuild begins
REBUILD_FORGOTTEN = 60  # seconds after which a rebuild that was asked for does not hold up another

# Lists of an audit that quote a summary.
_QUOTING = (
    *("dropped", "unverified", "not_pinned", "given_back"),
    *("cut", "left", "ended", "borne_out"),
)


def take_out_of_summaries(conversation: Conversation, message: Message) -> bool:
    """Take a message of the shown branch, which is about to be deleted, out of every version of the
    summary: of those that rest on it only the chapters that do lose their text, and all that the
    audit quotes goes. Whether the current one rests on it; `compactions.restate_current` is called
    when it is deleted."""
    with transaction.atomic():
        compactions.discard_preparations(conversation)
        resting = [
            version
            for version in conversation.compactions.select_related("through")
            if tree.leads_through(message, version.through)
        ]
        for version in resting:
            _take_out(version, message)
        _restate(conversation, resting, "audit", "first", "through")
    return any(version.pk == conversation.compaction_id for version in resting)


def _take_out(version: Compaction, message: Message) -> None:
    next_one = tree.find_next_towards(message, version.through)
    chapters = gaps.forget_message(
        summary_versions.read_chapters(version),
        read_original(message),
        before=message.parent.number if message.parent else message.number - 1,
        after=next_one.number if next_one else message.number + 1,
    )
    _set_chapters(version, chapters)
    version.audit = {key: value for key, value in version.audit.items() if key not in _QUOTING}
    # It stays for its costs, though nothing may be left of it: the neighbours tell what it covered.
    left = message.parent or next_one or message.children.first()
    if left and version.first_id == message.pk:
        version.first = next_one or left
    if left and version.through_id == message.pk:
        version.through = left


def leave_out_of_summaries(conversation: Conversation, messages: Sequence[Message]) -> bool:
    """Take messages of the shown branch out of every version of the summary for as long as they are
    left out: the chapters that rest on one of them lose their text. Whether the current version
    changed."""

    def change(chapters: list[Chapter], rows: Sequence[Message]) -> list[Chapter]:
        return gaps.leave_out_messages(chapters, [read_original(row) for row in rows])

    return _change_versions(conversation, messages, change)


def put_back_into_summaries(conversation: Conversation, messages: Sequence[Message]) -> bool:
    """The way back: what is written of the messages' ranges is written again with them. Whether the
    current version changed."""

    def change(chapters: list[Chapter], rows: Sequence[Message]) -> list[Chapter]:
        return gaps.put_back_messages(chapters, {row.number for row in rows})

    return _change_versions(conversation, messages, change)


def _change_versions(
    conversation: Conversation,
    messages: Sequence[Message],
    change: Callable[[list[Chapter], Sequence[Message]], list[Chapter]],
) -> bool:
    """Change the chapters of all versions whose branch leads through some of the messages, given
    those, and say again what the conversation's summary is."""
    compactions.discard_preparations(conversation)
    changed = []
    for version in conversation.compactions.select_related("through"):
        joint = tree.find_joint(version.through)
        through = [row for row in messages if joint.active and row.position <= joint.position]
        before = summary_versions.read_chapters(version)
        if through and (after := change(before, through)) != before:
            _set_chapters(version, after)
            changed.append(version)
    _restate(conversation, changed)
    current = compactions.restate_current(conversation)
    affected = current is not None and current in changed
    if current and affected:
        compactions.tell_change(current)
    return affected


def _set_chapters(version: Compaction, chapters: Sequence[Chapter]) -> None:
    version.chapters = [chapter.as_dict() for chapter in chapters]


def _restate(conversation: Conversation, versions: list[Compaction], *fields: str) -> None:
    """Render versions anew from their chapters and store both."""
    policy = policy_for(conversation)
    limits = limits_for(load_profile(conversation.model), conversation)
    for version in versions:
        chapters = summary_versions.read_chapters(version)
        rendered = render_chapters(chapters, policy, limits, model_server.get_counter())
        version.summary = rendered.text if chapters else ""
    Compaction.objects.bulk_update(versions, ["chapters", "summary", *fields])


# --- Written again --------------------------------------------------------------------------------


def has_gap(state: RequestState) -> bool:
    """Whether a chapter of the summary that is sent has no text; asks no database."""
    return any(GAP in chapter for chapter in state.context.summary.chapters)


def note_change(conversation_id: UUID) -> bool:
    """Note that a rebuild is wanted. True where a worker has to be asked for it; False where one
    has been, and waits for a while without changes."""
    key = _key(conversation_id)
    new = cache.add(key, time.time(), REBUILD_FORGOTTEN)
    if not new:
        cache.set(key, time.time(), REBUILD_FORGOTTEN)
    return new


def find_wait(conversation_id: UUID) -> float:
    """Seconds for which a rebuild that was asked for has to wait still; 0: it begins, and a change
    from now on asks for another one."""
    wait: float = cache.get(_key(conversation_id), 0) + REBUILD_DELAY - time.time()
    if wait > 0:
        return wait
    forget_change(conversation_id)
    return 0.0


def forget_change(conversation_id: UUID) -> None:
    """No worker waits to rebuild it any more."""
    cache.delete(_key(conversation_id))


def _key(conversation_id: UUID) -> str:
    return f"rebuild:{conversation_id}"


def begin_rebuild(conversation_id: UUID) -> int | None:
    """Begin to write the oldest chapter without text again, as a compaction that nobody waits for:
    its id. None where there is no such chapter, something else is being written, or its owner has
    reached their limits: the next turn asks again."""
    with transaction.atomic():
        rows = Conversation.objects.select_for_update()
        conversation = rows.filter(pk=conversation_id).first()
        if conversation is None:  # deleted while the task waited
            return None
        current = conversation.compaction
        gap = _next_gap(conversation, current)
        if gap is None or not conversation.owner.is_active or compactions.is_writing(conversation):
            return None
        state = load_state(conversation_id)
        if is_breaker_open(state, unseen=True) or (not gap.by_rule and is_over_budget(state)):
            return None
        writer = compactions.choose_writer(conversation)
        # What its owner agreed to was counted then.
        counted_for = None if gap.by_rule else conversation.owner_id
        if not is_permitted(conversation, writer, counted_for=counted_for):
            return None
        planned = Plan(_read_covered(conversation, gap), state.context.messages)
        return compactions.begin(
            state,
            planned,
            Trigger.MANUAL if gap.by_rule else None,
            origin=Origin.REBUILT,
            turn_id=None,
            previous=current,
        ).pk


def _next_gap(conversation: Conversation, current: Compaction | None) -> Chapter | None:
    """The oldest chapter without text of which a model can read anything, or that was recorded by
    rule, where its owner agreed that a model reads it. One whose messages are all left out says
    just that."""
    agreed = conversation.record_agreed_at is not None
    for chapter in summary_versions.read_chapters(current):
        if not (chapter.gap or (chapter.by_rule and agreed)):
            continue
        if any(message.blocks for message in _read_covered(conversation, chapter)):
            return chapter
        empty = replace(chapter, text=NOTHING_LEFT)
        _store_filled(conversation, _fill_all(conversation, [empty]))
    return None


def _read_covered(conversation: Conversation, chapter: Chapter) -> list[AgentMessage]:
    rows = summary_versions.load_numbered(conversation, chapter.first, chapter.through)
    return [to_agent_message(row) for row in rows]


def fill(task: SummaryTask, written: WrittenSummary) -> bool:
    """Store a chapter that was written again, in every version that lacks it. Where none does any
    more, or its messages changed meanwhile, the compaction fails instead: False."""
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update(no_key=True).get(
            pk=task.compaction.conversation_id
        )
        filled = _fill_all(conversation, written.chapters)
        if (
            filled
            and covers_the_same(task)
            and compactions.end(
                task.compaction,
                Compaction.Status.COMPLETED,
                method=written.method,
                method_reason=written.reason,
                audit=written.audit,
            )
        ):
            state = _store_filled(conversation, filled)
            _end_record(conversation)
            task.compaction.tokens_after = state.used
            task.compaction.save(update_fields=["tokens_after"])
            compactions.announce_end(task.compaction)
            return True
    compactions.fail(task.compaction.pk, compactions.CHANGED)
    return False


def _end_record(conversation: Conversation) -> None:
    """Forget that a record's owner agreed to have it read, when all of it is."""
    chapters = summary_versions.read_chapters(conversation.compaction)
    if conversation.record_agreed_at and not any(each.by_rule for each in chapters):
        conversation.record_through, conversation.record_agreed_at = 0, None
        conversation.save(update_fields=["record_through", "record_agreed_at"])


def _fill_all(conversation: Conversation, written: Sequence[Chapter]) -> list[Compaction]:
    """The versions that lack the last of some chapters, with it; not stored yet."""
    filled = []
    for version in conversation.compactions.all():
        chapters = gaps.fill_gap(summary_versions.read_chapters(version), written)
        if chapters is not None:
            _set_chapters(version, chapters)
            filled.append(version)
    return filled


def _store_filled(conversation: Conversation, filled: list[Compaction]) -> RequestState:
    """Store them and tell the page. The conversation as it is then."""
    _restate(conversation, filled)
    if current := compactions.restate_current(conversation):
        compactions.tell_change(current)
    state = load_state(conversation.pk)
    emit(conversation_group(conversation.pk), from_rows.context_usage(state))
    return state
