"""Storing conversations that were held elsewhere.

A conversation is stored in short transactions, so that nobody who writes meanwhile waits for it.
Until its last message is stored it is not listed (`Conversation.deleted_at` lies in the future);
what was cut short, the next import of the same file completes, or the sweep removes.
"""

from datetime import timedelta

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from accounts.models import User
from agent.messages import plain_text, sanitise_text
from chat.engine.model_profiles import find_default_name, is_offered
from chat.importers.records import ImportedConversation
from chat.models import Conversation, MessageOrigin, Origin, Project
from chat.services.library.conversations import TITLE_LENGTH, make_first_title
from chat.services.library.importing_messages import AfterWrite, MessageWriter, Stored, is_prompt
from chat.services.turns.message_changes import change_history

ARRIVING_KEPT = timedelta(days=1)  # for which a half-stored conversation waits to be completed
ORIGIN_LENGTH = 200


def store_conversation(
    owner: User,
    format_name: str,
    conversation: ImportedConversation,
    *,
    project: Project | None = None,
    model: str = "",
    after_write: AfterWrite = lambda seconds: None,
) -> Stored:
    """Store what of a conversation is not here yet: all of it, or messages that its export has got
    since, and the whole of an answer that had not ended then. What was said in Everlong is neither
    changed nor moved.

    It goes on with `model`; without one, with its own where that is offered, else with the default.
    Blocks, for as long as counting tokens takes.
    """
    if not conversation.messages:
        return Stored()
    row = _find_or_create(owner, format_name, conversation, project, model)
    is_new = _is_arriving(row)
    if row.deleted_at and not is_new:
        # Its owner has just deleted it, and may still restore it.
        return Stored(row.pk, known=len(conversation.messages))
    writer = MessageWriter(owner, row, conversation, is_new=is_new, after_write=after_write)
    if is_new:
        _align(row, writer.path)
    stored = writer.store_all()
    if is_new:
        _list(row, conversation)
    return stored


def _is_arriving(row: Conversation) -> bool:
    return row.deleted_at is not None and row.deleted_at > timezone.now()


def _find_or_create(
    owner: User,
    format_name: str,
    conversation: ImportedConversation,
    project: Project | None,
    model: str,
) -> Conversation:
    """The conversation of this origin; a new one is empty, and not listed."""
    place = {
        "owner": owner,
        "format": format_name,
        "account": conversation.account[:100],
        "conversation_origin": conversation.origin[:ORIGIN_LENGTH],
        "project_origin": "",
    }
    known = Origin.objects.filter(**place).select_related("conversation").first()
    if known and known.conversation:
        return known.conversation
    title = " ".join(sanitise_text(conversation.title).split())[:TITLE_LENGTH]
    own = conversation.model if is_offered(owner.pk, conversation.model) else ""
    with transaction.atomic():
        row = Conversation.objects.create(
            owner=owner,
            project=project,
            title=title or _first_title(conversation),
            title_edited=bool(title),
            model=model or own or find_default_name(owner.pk),
            system_prompt=sanitise_text(conversation.system_prompt),
            pinned=conversation.pinned,
            archived=conversation.archived,
            deleted_at=timezone.now() + ARRIVING_KEPT,
        )
        Origin.objects.create(**place, conversation=row)
    return row


def _first_title(conversation: ImportedConversation) -> str:
    """The first line that a person wrote."""
    asked = (plain_text(m.blocks) for m in conversation.messages if is_prompt(m))
    titles = (make_first_title(sanitise_text(text)) for text in asked)
    return next(filter(None, titles), "Imported conversation")


def _align(row: Conversation, path: set[str]) -> None:
    """Of what an import has stored that was cut short, show the branch that this file shows."""
    origins = MessageOrigin.objects.filter(conversation=row, message__isnull=False)
    wanted = {pk for origin, pk in origins.values_list("origin", "message") if origin in path}
    shown = set(row.messages.filter(active=True).values_list("pk", flat=True))
    with transaction.atomic():
        row.messages.filter(pk__in=shown - wanted).update(active=False)
        row.messages.filter(pk__in=wanted - shown).update(active=True)


def _list(row: Conversation, conversation: ImportedConversation) -> None:
    """List a conversation that has arrived, at the times when it was held."""
    times = row.messages.aggregate(first=Min("created_at"), last=Max("created_at"))
    change_history(
        row,
        created_at=conversation.created_at or times["first"],
        updated_at=conversation.updated_at or times["last"],
        imported_at=timezone.now(),
        deleted_at=None,
    )
