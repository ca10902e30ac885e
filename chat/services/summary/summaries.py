"""What people do with summaries: compact now, edit, go back.

`chat.services.summary.rewrites` writes one again.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from agent.audit.audit import audit
from agent.audit.evidence import Source
from agent.audit.quotes import GivenQuotes
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.merging import keep_own_work
from agent.compaction.chapters.statements import edit_chapter
from agent.compaction.plan import render_chapters
from agent.compaction.policy import Extent, Method, Origin, Reason, Trigger
from agent.context.summary import SEPARATOR
from agent.messages import sanitise_text
from chat.engine import model_server
from chat.engine.model_profiles import load_profile
from chat.engine.recent_messages import to_agent_message
from chat.engine.rights import explain_barred
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Compaction, Conversation, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit
from chat.protocol.events import CompactionReverted
from chat.queries import records, summary_versions
from chat.services.library.conversations import change_settings, refuse_if_busy
from chat.services.summary import compactions
from chat.services.turns import asking
from chat.services.turns.turns import begin_turn, next_lease_end

MAX_SUMMARY = 100_000  # characters


class CompactionTurn(NamedTuple):
    """A turn that does nothing but compact, with its compaction's id."""

    turn: Turn
    compaction_id: int


def open_compaction_turn(
    user: User,
    conversation_id: UUID,
    *,
    focus: str,
    holder: str,
    extent: Extent = Extent.THOROUGH,
) -> CompactionTurn:
    """Start `/compact`: a turn that locks the conversation. A prepared summary is used, unless
    there is a focus or it reads too little, or more than a gentle one would.

    Refused while another turn runs, where there is too little to summarise, and where the model
    is barred.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().of(user).get(pk=conversation_id)
        refuse_if_busy(conversation)
        state = load_state(conversation_id)
        planned = summary_versions.plan_or_refuse(state, extent)
        asking.permit(conversation, compactions.choose_writer(conversation))
        turn = begin_turn(conversation, Turn.Kind.COMPACT, holder, focus=focus)
        ready = not focus and summary_versions.find_ready_by_hand(state, planned, extent)
        if ready and (swapped := compactions.commit_ready(state)):
            assert swapped.conversation.compaction_id is not None
            return CompactionTurn(turn, swapped.conversation.compaction_id)
        compaction = compactions.begin(
            state,
            planned,
            Trigger.MANUAL,
            turn_id=turn.pk,
            previous=state.conversation.compaction,
            focus=focus,
        )
    return CompactionTurn(turn, compaction.pk)


def switch_model(conversation: Conversation, model: str, *, holder: str) -> CompactionTurn | None:
    """Choose another model, with the turn of `open_model_switch` where one is needed; or neither,
    where it is refused."""
    with transaction.atomic():
        change_settings(conversation, {"model": model})
        return open_model_switch(conversation.pk, old_model=conversation.model, holder=holder)


def open_model_switch(
    conversation_id: UUID, *, old_model: str, holder: str
) -> CompactionTurn | None:
    """After a switch of models: where the new one cannot take the conversation, compact it with
    the old one, as a turn like `/compact`; with the new one, in parts, where the old one may not
    answer any more. None: it fits, or there is too little to summarise."""
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
        refuse_if_busy(conversation)
        state = load_state(conversation_id)
        # What nobody paid for is written anew, for nothing.
        if state.policy.enabled and records.is_too_dear(state):
            compactions.make_current(conversation, None)
            state = load_state(conversation_id)
        planned = summary_versions.plan_for(state, Trigger.MODEL_SWITCH)
        if not state.policy.enabled or state.fits or planned is None:
            return None
        turn = begin_turn(conversation, Turn.Kind.COMPACT, holder)
        compaction = compactions.begin(
            state,
            planned,
            Trigger.MODEL_SWITCH,
            turn_id=turn.pk,
            previous=state.conversation.compaction,
            model=""
            if explain_barred(conversation.owner_id, load_profile(old_model))
            else old_model,
        )
    return CompactionTurn(turn, compaction.pk)


def edit_summary(compaction_id: int, text: str) -> Compaction:
    """A new version of the current summary in the user's own words. Code checks it against the
    messages and reports, but does not change it.

    `text` holds the chapters with lines across between them; if there are as many as before they
    keep their ranges, otherwise they become one. Refused for versions that are not current, and
    for an empty text.
    """
    text = sanitise_text(text).replace("\r\n", "\n").strip()
    if not text:
        raise Refused(
            RefusalCode.EMPTY_SUMMARY, gettext("A summary cannot be empty. Revert it instead.")
        )
    if len(text) > MAX_SUMMARY:
        raise Refused(
            RefusalCode.SUMMARY_TOO_LONG,
            gettext("A summary has at most {count:,} characters.").format(count=MAX_SUMMARY),
        )
    with transaction.atomic():
        old, _ = lock_current(compaction_id)
    chapters = _edited(summary_versions.read_chapters(old), text)
    # Not while others wait for the database. The messages that a version covers stay the same for
    # as long as it is the current one.
    rows = summary_versions.load_messages_between(old.conversation_id, 0, old.through.position)
    messages = [to_agent_message(row) for row in rows]
    quotes = GivenQuotes.of((quote for each in chapters for quote in each.quotes), messages)
    _, findings = audit(text, Source(messages), quotes)
    return store_edit(compaction_id, lambda _: chapters, audit=findings.as_dict())


def store_edit(
    compaction_id: int,
    change: Callable[[list[Chapter]], list[Chapter]],
    *,
    audit: dict[str, object],
) -> Compaction:
    """The current summary with its chapters changed by its user, as a new version. Refused for
    versions that are not current."""
    with transaction.atomic():
        old, conversation = lock_current(compaction_id)
        chapters = change(summary_versions.read_chapters(old))
        state = load_state(conversation.pk)
        summary = render_chapters(chapters, state.policy, state.limits, model_server.get_counter())
        compactions.discard_preparations(conversation)
        version = Compaction.objects.create(
            conversation=conversation,
            previous=old,
            replaces=old,
            first=old.first,
            through=old.through,
            messages=old.messages,
            origin=Origin.EDIT,
            method=Method.EDITED,
            method_reason=Reason.BY_USER,
            model=old.model,
            prompt_version=old.prompt_version,
            status=Compaction.Status.COMPLETED,
            lease_expires=next_lease_end(),
            chapters=[chapter.as_dict() for chapter in chapters],
            summary=summary.text,
            audit=audit,
            tokens_before=state.used,
            finished_at=timezone.now(),
        )
        compactions.make_current(conversation, version)
        after = load_state(conversation.pk)
        version.tokens_after = after.used
        version.save(update_fields=["tokens_after"])
        compactions.tell_change(version)
        emit(conversation_group(conversation.pk), from_rows.context_usage(after))
    return version


def editable_text(compaction: Compaction) -> str:
    """A version's chapters as `edit_summary` takes them; pins and index are kept by code."""
    return SEPARATOR.join(chapter.text for chapter in summary_versions.read_chapters(compaction))


def _edited(chapters: list[Chapter], text: str) -> list[Chapter]:
    parts = text.split(SEPARATOR)
    if len(parts) != len(chapters):
        depth = max(chapter.depth for chapter in chapters)
        level = max(chapter.level for chapter in chapters)
        before = "\n\n".join(chapter.text for chapter in chapters)
        joined = Chapter.join(chapters, before, depth=depth, level=level)
        if not any(chapter.parts for chapter in chapters):
            joined = replace(joined, parts=())  # all of it is in the editor
        parts, chapters = [text.replace(SEPARATOR, "\n\n")], [joined]
    *earlier, last = [
        chapter if part.strip() == chapter.text else edit_chapter(chapter, part.strip())
        for chapter, part in zip(chapters, parts, strict=True)
    ]
    return [*map(keep_own_work, earlier), last]


def revert(compaction_id: int) -> None:
    """Go back to the version that the current one took the place of.

    Refused for versions that are not current, and where the longer request would not fit the
    model's window. After the revert of a compaction, the automatic one waits until the window
    itself is full.
    """
    with transaction.atomic():
        current, conversation = lock_current(compaction_id)
        compactions.discard_preparations(conversation)
        Compaction.objects.filter(pk=current.pk).update(reverted=True)
        compactions.make_current(conversation, _find_unblanked(current.replaces))
        # To undo an edit or a rewrite asks for no other summary.
        if current.origin not in (Origin.EDIT, Origin.REWRITE):
            Conversation.objects.filter(pk=conversation.pk).update(compaction_held=True)
        state = load_state(conversation.pk)
        if not state.fits:
            raise Refused(
                RefusalCode.DOES_NOT_FIT,
                gettext(
                    "Without this summary the conversation has {used:,} tokens; the model takes "
                    "{most:,}. Choose a larger model first."
                ).format(used=state.used, most=state.limits.request_limit),
            )
        emit(conversation_group(conversation.pk), CompactionReverted(current.pk))
        emit(conversation_group(conversation.pk), from_rows.context_usage(state))


def _find_unblanked(version: Compaction | None) -> Compaction | None:
    """The version, or the newest before it of which something is left."""
    while version is not None and not version.chapters:
        version = version.replaces
    return version


def lock_current(compaction_id: int) -> tuple[Compaction, Conversation]:
    """A conversation's current version, locked and idle; Refused for any other version."""
    compaction = Compaction.objects.select_related("first", "through", "replaces__through").get(
        pk=compaction_id
    )
    conversation = Conversation.objects.select_for_update().get(pk=compaction.conversation_id)
    refuse_if_busy(conversation)
    if conversation.compaction_id != compaction.pk:
        raise Refused(RefusalCode.NOT_CURRENT, gettext("Only the current summary can be changed."))
    return compaction, conversation
