"""The search index follows the messages: written by the transaction that stores them."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from agent.attachments import list_text_file_ids
from agent.messages import plain_text
from agent.search.lexical import tokenise
from agent.search.signs import find_signs
from agent.tools.history import READ_MESSAGES, SEARCH_HISTORY
from chat.db.rows import insert_row
from chat.engine.attachment_contents import append_file_texts
from chat.models import Message, SearchEntry
from chat.queries.fulltext import mark_with_owner

# A PostgreSQL tsvector holds 1 MB. What stands after this in a huge result or file is not found.
MOST_CHARACTERS = 400_000  # of terms
BATCH = 500
LOOKUPS = {SEARCH_HISTORY.name, READ_MESSAGES.name}


def index_messages(owner_id: int, messages: Iterable[Message]) -> None:
    """Make stored messages of one owner findable, each once: their content never changes. The
    caller's transaction has stored them."""
    built = (build_entry(owner_id, message) for message in messages)
    entries = [SearchEntry(**fields) for fields in built if fields]
    if len(entries) == 1:  # with every turn, twice
        insert_row(entries[0])
    else:
        SearchEntry.objects.bulk_create(entries, batch_size=BATCH)


def unindex_messages(messages: Iterable[Message]) -> None:
    """Make messages unfindable whose text is removed. Deleted messages need no call."""
    SearchEntry.objects.filter(message__in=messages).delete()


def give_entries(conversation_id: UUID, owner_id: int, receiver_id: int) -> None:
    """Let somebody else find the messages of a conversation, and its owner no longer. SQLite's
    index follows new entries and deleted ones, not changed ones."""
    [old], [new] = mark_with_owner(owner_id, [""]), mark_with_owner(receiver_id, [""])
    rows = SearchEntry.objects.filter(conversation=conversation_id).order_by("message")
    ids = list(rows.values_list("message", flat=True))
    for start in range(0, len(ids), BATCH):
        batch = rows.filter(message__in=ids[start : start + BATCH])
        entries = list(batch)
        batch.delete()
        for entry in entries:
            entry.owner_id = receiver_id
            marked = (token.removeprefix(old) for token in entry.terms.split(" "))
            entry.terms = " ".join(f"{new}{token}" for token in marked)
        SearchEntry.objects.bulk_create(entries)


def build_entry(owner_id: int, message: Message) -> dict[str, Any] | None:
    """The fields of a message's entry; None for one without a word or a sign. `message.parent` is
    read of results."""
    # Ordinary text fills the terms long before: the rest would be folded for nothing.
    found = tokenise(_searchable(message)[: 2 * MOST_CHARACTERS])
    signs = find_signs(message.text)
    if not found and not signs:
        return None
    dated = tokenise(f"{message.created_at:%-d %B %Y}") if found else []
    terms = " ".join(mark_with_owner(owner_id, [*signs, *dated, *found]))
    if len(terms) > MOST_CHARACTERS:
        terms = terms[:MOST_CHARACTERS].rpartition(" ")[0]
    results = all(block.get("type") == "tool_result" for block in message.blocks)
    return {
        "message_id": message.pk,
        "owner_id": owner_id,
        "conversation_id": message.conversation_id,
        "position": message.position,
        "length": len(found),
        "typed": message.role == Message.Role.USER and not results,
        "terms": terms,
    }


def _searchable(message: Message) -> str:
    """The text with what attached text files say, and without the agent's own searches and what
    they found: otherwise a repeated search would find them in place of the originals. An answer
    that the model declined has no text here: what is found goes into requests."""
    if message.stop_reason == Message.REFUSED:
        return ""
    results = any(block.get("type") == "tool_result" for block in message.blocks)
    called = message.parent.blocks if results and message.parent else message.blocks
    lookups = {
        block.get("id")
        for block in called
        if block.get("type") == "tool_use" and block.get("name") in LOOKUPS
    }
    if not lookups:
        return append_file_texts(message.text, list_text_file_ids(message.blocks))
    return plain_text(
        block
        for block in message.blocks
        if (block.get("id") or block.get("tool_use_id")) not in lookups
    )
