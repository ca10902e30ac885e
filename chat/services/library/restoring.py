"""Storing what an export of Everlong holds, as it was there: branches, turns, versions of the
summary, settings.

Nothing in the file is believed. Its form was checked when it was read
(`chat.importers.everlong_records`); here it has to fit together. Ids are new; tokens, search
entries and what is sent of the summary are made anew; nothing is booked; and thinking is not sent
again, because the API binds it to another account. A conversation whose next request could not be
made is not stored.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.rendering import is_text_of
from agent.context.api_messages import build_api_messages, text_block
from agent.context.message_list import MessageList
from agent.context.summary import Summary
from agent.errors import AgentError
from agent.messages import AgentMessage, RawTokens
from chat.db.rows import insert_row
from chat.engine.model_profiles import find_default_name, is_offered, load_profile
from chat.engine.model_server import build_request, get_counter
from chat.engine.recent_messages import RecentMessages, to_agent_message
from chat.engine.state import load_state_for
from chat.errors import RefusalCode, Refused
from chat.importers.everlong import NAME, OwnConversation
from chat.importers.everlong_records import (
    ConversationRecord,
    MessageRecord,
    TurnRecord,
    VersionRecord,
)
from chat.models import Compaction, Conversation, Message, Origin, Project
from chat.services.library import projects, restoring_additions
from chat.services.library.conversations import delete_conversation
from chat.services.library.importing import ARRIVING_KEPT
from chat.services.library.importing_messages import AfterWrite, Stored
from chat.services.library.restoring_files import RestoredFiles
from chat.services.library.restoring_history import HistoryWriter
from chat.services.turns.message_changes import change_history

log = structlog.get_logger(__name__)

PAGE = 500  # messages that are in memory at once
CHECKED_TOKENS = 100_000  # of the last messages, in a request that is only tried
# What the engine raises for messages that it cannot make a request of.
UNUSABLE = (
    *(AgentError, ArithmeticError, AttributeError),
    *(LookupError, TypeError, ValueError),
)
# Columns of a conversation that come back as they are, at the end: what its history has to fit.
_STATE = (
    *("pinned", "archived", "created_at", "compaction_held", "compactions_completed"),
    *("pruned_through", "long_pause", "pauses_covered", "tokens_covered"),
)

_OF_VERSIONS = (
    *("messages", "trigger", "origin", "focus", "method", "method_reason", "model"),
    *("prompt_version", "reverted", "summary", "tokens_before", "tokens_after"),
    *("messages_before", "messages_after", "error", "created_at", "started_at", "finished_at"),
)


def restore_conversation(
    owner: User,
    own: OwnConversation,
    *,
    after_write: AfterWrite = lambda seconds: None,
) -> Stored:
    """Store a conversation that is not here yet; of one that is, the messages that its export has
    got since, as an import of any format does. Refused where it is not as it has to be."""
    record = own.load()
    place = make_place(owner, record.id)
    known = Origin.objects.filter(**place).select_related("conversation").first()
    if known and known.conversation:
        arriving = known.conversation.deleted_at
        if arriving is None:
            return restoring_additions.add_new(owner, own, record, after_write)
        if arriving <= timezone.now():  # its owner has just deleted it, and may still restore it
            return Stored(known.conversation.pk, known=_count_messages(own))
        delete_conversation(known.conversation)  # what was cut short begins anew
    row = _create(owner, record, place)
    try:
        return _store(owner, own, record, row, after_write)
    except Refused:
        delete_conversation(row)
        raise


def make_place(owner: User, conversation: str = "", project: str = "") -> dict[str, Any]:
    """By which its `Origin` is found."""
    return {
        "owner": owner,
        "format": NAME,
        "account": "",
        "conversation_origin": conversation,
        "project_origin": project,
    }


def find_project(owner: User, origin: str | None) -> Project | None:
    """The project here that came with the same export."""
    if origin is None:
        return None
    known = Origin.objects.filter(**make_place(owner, project=origin)).select_related("project")
    found = known.first()
    return found.project if found else None


def _count_messages(own: OwnConversation) -> int:
    return sum(isinstance(each, MessageRecord) for each in own.read_history())


def _create(owner: User, record: ConversationRecord, place: Mapping[str, Any]) -> Conversation:
    """An empty conversation, which is not listed before all of it has arrived."""
    model = record.model if is_offered(owner.pk, record.model) else find_default_name(owner.pk)
    with transaction.atomic():
        row = Conversation.objects.create(
            owner=owner,
            title=record.title,
            title_edited=record.title_edited,
            model=model,
            system_prompt=record.system_prompt,
            compaction_enabled=record.compaction_enabled,
            context_budget=record.context_budget,
            keep_first_message=record.keep_first_message,
            compaction_settings=record.compaction_settings,
            tool_settings=record.tool_settings.model_dump(exclude_unset=True),
            reply_settings=record.reply_settings.model_dump(exclude_unset=True),
            memory_text=record.memory_text,
            deleted_at=timezone.now() + ARRIVING_KEPT,
        )
        Origin.objects.create(**place, conversation=row)
    return row


def _store(
    owner: User,
    own: OwnConversation,
    record: ConversationRecord,
    row: Conversation,
    after_write: AfterWrite,
) -> Stored:
    files = RestoredFiles(owner, own)
    for file in own.read_files():
        files.keep(file)
    history = HistoryWriter(owner, row, files, after_write)
    versions = _Versions(row, history)
    for each in own.read_history():
        match each:
            case TurnRecord():
                history.add_turn(each)
            case MessageRecord():
                history.add_message(each)
            case VersionRecord():
                history.flush()
                versions.add(each)
    history.flush()
    _settle(owner, record, row, versions)
    _require_request(row)
    with transaction.atomic():
        change_history(row, deleted_at=None, imported_at=timezone.now())
    return Stored(
        row.pk,
        is_new=True,
        added=history.count,
        files=len(files),
        lost=[*files.lost, *versions.refused],
    )


class _Versions:
    """Stores the versions of a conversation's summary. `refused`: what was wrong with those that
    are not stored, each in a sentence."""

    def __init__(self, row: Conversation, history: HistoryWriter) -> None:
        self._row = row
        self._history = history
        self._stored: dict[int, Compaction] = {}  # by the id that they had
        self.refused: list[str] = []

    def add(self, record: VersionRecord) -> None:
        first = self._history.find_message(record.first)
        through = self._history.find_message(record.through)
        if first is None or through is None or first[1] > through[1]:
            self.refused.append(
                gettext("A version of the summary was left out: messages that it covers are gone.")
            )
            return
        chapters = [chapter.as_chapter() for chapter in record.chapters]
        if not _are_in_order(chapters) or not _is_their_text(record.summary, chapters):
            self.refused.append(
                gettext("A version of the summary was left out: its text is not its chapters'.")
            )
            return
        running = record.status == Compaction.Status.RUNNING
        version = Compaction(
            conversation=self._row,
            turn_id=self._history.find_turn(record.turn),
            previous=self.find(record.previous),
            replaces=self.find(record.replaces),
            first_id=first[0],
            through_id=through[0],
            status=Compaction.Status.CANCELLED if running else record.status,
            chapters=[chapter.as_dict() for chapter in chapters],
            audit=record.audit.model_dump(exclude_unset=True),
            lease_expires=record.created_at,
            **{name: getattr(record, name) for name in _OF_VERSIONS},
        )
        insert_row(version, as_given=("created_at",))
        self._stored[record.id] = version

    def find(self, before: int | None) -> Compaction | None:
        return self._stored.get(before) if before is not None else None

    def find_current(self, wanted: int | None) -> Compaction | None:
        """The version that is current; where that is not here or cannot be, the newest that can."""
        if wanted is None:
            return None
        possible = self._row.compactions.filter(
            status=Compaction.Status.COMPLETED, reverted=False, through__active=True
        ).exclude(summary="")
        named = self.find(wanted)
        found = possible.filter(pk=named.pk).first() if named else None
        return found or possible.order_by("-pk").first()


def _are_in_order(chapters: Sequence[Chapter]) -> bool:
    ends = [0, *(number for chapter in chapters for number in (chapter.first, chapter.through))]
    return all(before <= after for before, after in pairwise(ends))


def _is_their_text(text: str, chapters: Sequence[Chapter]) -> bool:
    """Whether a text is what the chapters say; a version that never had one, or lost it, has
    none."""
    return not text or is_text_of(Summary.from_text(text), chapters, get_counter())


def _settle(
    owner: User, record: ConversationRecord, row: Conversation, versions: _Versions
) -> None:
    """Set what follows from the history of a conversation that has arrived."""
    newest = row.messages.order_by("-number").first()
    last_said = newest.created_at if newest else record.created_at
    current = versions.find_current(record.compaction)
    # What a summary would have covered is read by no model before its owner agrees to the price.
    unread = newest.number if newest and versions.refused else 0
    next_number = max(record.next_number, newest.number + 1 if newest else 1)
    values = {name: getattr(record, name) for name in _STATE} | {
        "updated_at": record.updated_at or last_said,
        "next_number": next_number,
        "record_through": max(record.record_through, unread),
        # What was reported there stays with its messages, but was of another account's requests;
        # and so was what the model thought.
        "meter_valid_from": next_number,
        "compaction_id": current.pk if current else None,
        "compressed_context": current.summary if current else None,
        "compressed_at": current.finished_at if current else None,
        "compressed_through_id": current.through_id if current else None,
    }
    project = find_project(owner, record.project)
    with transaction.atomic():
        change_history(row, **values, project_id=project.pk if project else None)
        row.refresh_from_db()
        projects.refresh_parts(row, load_profile(row.model))  # as its next turn does


def _require_request(row: Conversation) -> None:
    """Refused where the engine could not go on with a conversation: each of its messages can be
    sent, and the next request, with as many of them as fit, breaks no rule of the API."""
    prompt = AgentMessage(row.next_number, "user", [text_block("Go on.")], RawTokens(2))
    try:
        last = _send_all(row.messages.filter(active=True), prompt)
        messages = MessageList.of(last)
        recent = RecentMessages(row.history_version, None, [], messages, [], 0)
        build_request(load_state_for(row, recent=recent).context)
    except UNUSABLE as error:
        log.info("conversation not restored", error=repr(error)[:300])
        words = gettext(
            "No request could be made of its messages. Export it again, and do not change the file."
        )
        raise Refused(RefusalCode.FILE_DAMAGED, words) from error


def _send_all(rows: QuerySet[Message], prompt: AgentMessage) -> list[AgentMessage]:
    """Each message as the API takes it, a page in memory at once; the last ones, and the prompt."""
    last: deque[AgentMessage] = deque()
    tokens = 0
    for row in rows.order_by("position").iterator(PAGE):
        message = to_agent_message(row)
        build_api_messages([message, prompt], set())
        last.append(message)
        tokens += message.tokens
        while tokens > CHECKED_TOKENS and len(last) > 1:
            tokens -= last.popleft().tokens
    return [*last, prompt]
