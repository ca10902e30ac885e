"""What an export of Everlong has got since a conversation was imported from it."""

from collections.abc import Mapping
from functools import partial
from typing import BinaryIO, Literal

from accounts.models import User
from agent.attachments import find_reference
from agent.messages import Block
from chat.importers.everlong import NAME, OwnConversation
from chat.importers.everlong_records import ConversationRecord, FileRecord, MessageRecord
from chat.importers.records import ImportedConversation, ImportedFile, ImportedMessage
from chat.models import Message, MessageOrigin
from chat.services.library.importing import store_conversation
from chat.services.library.importing_messages import AfterWrite, Stored
from chat.services.library.restoring_files import RestoredFiles

_STATUS: Mapping[Message.Status, Literal["complete", "interrupted", "failed"]] = {
    Message.Status.COMPLETE: "complete",
    Message.Status.STREAMING: "interrupted",
    Message.Status.INTERRUPTED: "interrupted",
    Message.Status.FAILED: "failed",
}


def add_new(
    owner: User, own: OwnConversation, record: ConversationRecord, after_write: AfterWrite
) -> Stored:
    """Add the messages that are new, after those that they follow there. They come alone: the
    summary and the settings are what they have become here."""
    known = MessageOrigin.objects.filter(
        conversation__origin__owner=owner,
        conversation__origin__format=NAME,
        conversation__origin__conversation_origin=record.id,
    )
    numbers = set(known.values_list("origin", flat=True))
    history = [each for each in own.read_history() if isinstance(each, MessageRecord)]
    if all(str(message.number) in numbers for message in history):
        return Stored(known[0].conversation_id if numbers else None, known=len(history))
    files = {file.id: file for file in own.read_files()}
    names = RestoredFiles(owner, own)  # none: what results of tools have shown is only named
    shown = [message.number for message in history if message.shown]
    imported = ImportedConversation(
        record.id,
        [_as_imported(own, message, files, names) for message in history],
        leaf=str(shown[-1]) if shown else None,
        title=record.title,
        model=record.model,
    )
    return store_conversation(owner, NAME, imported, after_write=after_write)


def _as_imported(
    own: OwnConversation,
    message: MessageRecord,
    files: Mapping[str, FileRecord],
    names: RestoredFiles,
) -> ImportedMessage:
    blocks: list[Block] = []
    kept: list[ImportedFile] = []
    for block in message.blocks:
        source = find_reference(block)
        file = files.get(str(source.get("id"))) if source else None
        if file:
            kept.append(ImportedFile(file.name, partial(_open, own, file), file.media_type))
        else:
            blocks.append(names.map(block))
    return ImportedMessage(
        str(message.number),
        str(message.parent) if message.parent else None,
        "user" if message.role == Message.Role.USER else "assistant",
        blocks,
        files=kept,
        at=message.created_at,
        status=_STATUS[message.status],
        stop_reason=message.stop_reason,
        model=message.model,
    )


def _open(own: OwnConversation, file: FileRecord) -> BinaryIO:
    if opened := own.open_file(file):
        return opened
    raise FileNotFoundError(file.name)
