"""Chapters that lost their text with a deleted message: emptied in every version of the summary,
and written again in the background from the messages that are left."""

from dataclasses import replace
from uuid import UUID

from django.db import transaction

from agent.compaction import chapters as state_of_summary
from agent.compaction.chapters import GAP, Chapter
from agent.compaction.job import WrittenSummary
from agent.compaction.plan import Plan, render_chapters
from agent.compaction.policy import Trigger
from chat.models import Compaction, Conversation, Message
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.queries import model_server, summaries, tree
from chat.queries.conversation import RequestState, load_state, policy_for
from chat.queries.model_profiles import limits_for, load_profile
from chat.queries.tails import to_agent_message
from chat.services import compactions
from chat.services.compaction_jobs import SummaryTask, covers_the_same
from chat.services.preparations import is_breaker_open, is_over_budget

# Lists of an audit that quote a summary.
_QUOTING = ("dropped", "unverified", "not_pinned", "given_back", "cut")


def forget_message(conversation: Conversation, message: Message) -> bool:
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
            _forget(version, message)
        _restate(conversation, resting, "audit", "first", "through")
    return any(version.pk == conversation.compaction_id for version in resting)


def _forget(version: Compaction, message: Message) -> None:
    next_one = tree.find_next_towards(message, version.through)
    chapters = state_of_summary.forget_message(
        summaries.read_chapters(version),
        to_agent_message(message),
        before=message.parent.number if message.parent else message.number - 1,
        after=next_one.number if next_one else message.number + 1,
    )
    version.chapters = [chapter.as_dict() for chapter in chapters]
    version.audit = {key: value for key, value in version.audit.items() if key not in _QUOTING}
    # It stays for its costs, though nothing may be left of it: the neighbours tell what it covered.
    left = message.parent or next_one or message.children.first()
    if left and version.first_id == message.pk:
        version.first = next_one or left
    if left and version.through_id == message.pk:
        version.through = left


def _restate(conversation: Conversation, versions: list[Compaction], *fields: str) -> None:
    """Render versions anew from their chapters and store both."""
    policy = policy_for(conversation)
    limits = limits_for(load_profile(conversation.model), conversation)
    for version in versions:
        chapters = summaries.read_chapters(version)
        rendered = render_chapters(chapters, policy, limits, model_server.get_counter())
        version.summary = rendered.text if chapters else ""
    Compaction.objects.bulk_update(versions, ["chapters", "summary", *fields])


def redraw(current: Compaction) -> None:
    """Show the current version's divider in place of the one that shows it as it was."""
    group = conversation_group(current.conversation_id)
    emit_later(
        group, lambda: replace(from_rows.compaction_completed(current), trigger=Trigger.REBUILT)
    )


# --- Written again --------------------------------------------------------------------------------


def has_gap(state: RequestState) -> bool:
    """Whether a chapter of the summary that is sent has no text; asks no database."""
    return any(GAP in chapter for chapter in state.context.summary.chapters)


def begin_rebuild(conversation_id: UUID) -> int | None:
    """Begin to write the oldest chapter without text again, as a compaction that nobody waits for:
    its id. None where there is no such chapter, or something else is being written."""
    with transaction.atomic():
        rows = Conversation.objects.select_for_update()
        conversation = rows.filter(pk=conversation_id).first()
        if conversation is None:  # deleted while the task waited
            return None
        current = conversation.compaction
        gap = next((c for c in summaries.read_chapters(current) if c.gap), None)
        if gap is None or not conversation.owner.is_active or _is_occupied(conversation):
            return None
        state = load_state(conversation_id)
        if is_breaker_open(state, unseen=True) or is_over_budget(state):
            return None
        covered = summaries.load_numbered(conversation, gap.first, gap.through)
        planned = Plan([to_agent_message(row) for row in covered], state.context.messages)
        return compactions.begin(state, planned, Trigger.REBUILT, turn_id=None, previous=current).pk


def _is_occupied(conversation: Conversation) -> bool:
    running = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.RUNNING)
    return running.exists()


def fill(task: SummaryTask, written: WrittenSummary) -> bool:
    """Store a chapter that was written again, in every version that lacks it. Where none does any
    more, or its messages changed meanwhile, the compaction fails instead: False."""
    chapter = written.chapters[-1]
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update(no_key=True).get(
            pk=task.compaction.conversation_id
        )
        lacking = [v for v in conversation.compactions.all() if _fill(v, chapter)]
        if (
            lacking
            and covers_the_same(task)
            and compactions.end(
                task.compaction,
                Compaction.Status.COMPLETED,
                engine=written.engine,
                engine_reason=written.reason,
                audit=written.audit,
            )
        ):
            _restate(conversation, lacking)
            if current := compactions.restate_current(conversation):
                redraw(current)
            state = load_state(conversation.pk)
            emit(conversation_group(conversation.pk), from_rows.context_usage(state))
            task.compaction.tokens_after = state.used
            task.compaction.save(update_fields=["tokens_after"])
            compactions.announce_end(task.compaction)
            return True
    compactions.fail(task.compaction.pk, compactions.CHANGED)
    return False


def _fill(version: Compaction, written: Chapter) -> bool:
    """Put a chapter's new text into its gap; False where the version has no such gap."""
    chapters = summaries.read_chapters(version)
    ends = (written.first, written.through)
    gaps = [i for i, c in enumerate(chapters) if c.gap and (c.first, c.through) == ends]
    for index in gaps:
        # Written from the originals, whatever it was before; pins and values were kept.
        chapters[index] = replace(chapters[index], text=written.text, gap=False, depth=1)
    version.chapters = [chapter.as_dict() for chapter in chapters]
    return bool(gaps)
