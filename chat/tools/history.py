"""`search_history` and `read_messages`: the conversation's originals, for the model."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from agent.clock import to_local
from agent.context.api_messages import text_block
from agent.context.shortening.previews import find_previewed
from agent.context.shortening.pruning import prune_message
from agent.errors import ToolError
from agent.loop import Content
from agent.messages import Block
from agent.search import lexical
from agent.search.excerpts import Excerpts
from chat.db.threads import in_tool_db
from chat.engine.attachment_contents import append_file_texts, find_text_file_ids
from chat.engine.model_profiles import limits_for, load_profile
from chat.engine.model_server import get_counter
from chat.engine.recent_messages import to_agent_message
from chat.models import Conversation, Message, Turn
from chat.models.notices import Notice
from chat.queries.search import Hit, find_messages
from chat.tools.files import ShownFiles
from chat.tools.scope import Scope

SEARCH_TOKENS = 4_000  # of a result at most, raw; less where a round has less room
READ_TOKENS = 8_000
EXCERPT = 500  # characters of each hit
MOST_HITS = 80
LONGEST_QUERY = 4_000  # characters that are looked at
CRUMBS = 20  # no message is begun in the last twentieth of a page
LEFT_OUT = "left out by the user"  # in place of a text
CHARACTERS_PER_TOKEN = 4  # what a page is cut to before it is counted


async def search_history(scope: Scope, input: dict[str, Any]) -> str:
    """The messages that fit a query, best first, as many as fit the limit."""
    query = input.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ToolError("query must be text: the words to look for.")
    everywhere = input.get("all_conversations") or False
    if not isinstance(everywhere, bool):
        raise ToolError("all_conversations must be true or false.")
    return await in_tool_db(_search, scope, lexical.parse_query(query[:LONGEST_QUERY]), everywhere)


def _search(scope: Scope, query: lexical.Query, everywhere: bool) -> str:
    within = None if everywhere else scope.conversation_id
    hits = find_messages(scope.owner_id, query, conversation_id=within, limit=MOST_HITS)
    seen = _in_sight(scope)
    hidden = {hit.message_id for hit in hits if hit.left_out}
    hits = [hit for hit in hits if hit.message_id not in seen | hidden]
    left_out = [f"Something that fits was {LEFT_OUT}: do not ask for it."] if hidden else []
    if not hits and not hidden:
        return "Nothing was found. Try other or fewer words" + (
            "." if everywhere else ", or all_conversations."
        )
    excerpts = Excerpts(query, EXCERPT)
    told = (_told(scope, hit, excerpts) for hit in hits)
    return "\n\n".join([*scope.fit(told, SEARCH_TOKENS), *left_out])


def _in_sight(scope: Scope) -> set[int]:
    """The running turn's messages that the model sees whole. Messages that were compacted away
    between its rounds, or sent as previews, can be found."""
    turns = Turn.objects.filter(conversation=scope.conversation_id, status__in=Turn.ACTIVE)
    turn = turns.select_related("conversation__compressed_through").first()
    if turn is None:
        return set()
    conversation = turn.conversation
    limits = limits_for(load_profile(turn.answering_model), conversation)
    through = conversation.compressed_through
    seen = set()
    for row in turn.messages.filter(active=True):
        message = to_agent_message(row)
        summarised = through is not None and row.position <= through.position
        if summarised and not message.is_prompt:
            continue
        if turn.notice == Notice.SHORTENED and message.holds_tool_results:
            continue
        kept = prune_message(message) if row.number <= conversation.pruned_through else message
        if kept is message and not find_previewed([message], limits):
            seen.add(row.pk)
    return seen


def _told(scope: Scope, hit: Hit, excerpts: Excerpts) -> str:
    """Number, role, date and, for another conversation, its id; then the excerpt."""
    heading = _heading(scope, hit.conversation_id, hit)
    if hit.conversation_id != scope.conversation_id:
        heading += f", from “{' '.join(hit.title.split()) or 'untitled'}”"
    return f"{heading}\n{excerpts.make(hit.text)}"


def _heading(scope: Scope, conversation_id: UUID, message: Hit | Message) -> str:
    """A message as it is cited: a number alone is one of this conversation. The time is its
    author's."""
    where = "" if conversation_id == scope.conversation_id else f" in {conversation_id}"
    at = to_local(message.created_at.timestamp(), message.time_zone or settings.TIME_ZONE)
    return f"[#{message.number}{where}] {message.role}, {at:%Y-%m-%d %H:%M}"


async def read_messages(scope: Scope, input: dict[str, Any]) -> Content:
    """Messages in full with their pictures and PDFs, and how to read on if they are longer than the
    limit."""
    first, last = _number(input, "from", 1), _number(input, "to", 1)
    if last < first:
        raise ToolError("to must not be less than from.")
    offset = _number(input, "offset", 0) if "offset" in input else 0
    return await in_tool_db(_read, scope, _conversation(scope, input), first, last, offset)


def _number(input: dict[str, Any], name: str, least: int) -> int:
    value = input.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ToolError(f"{name} must be a whole number of at least {least}.")
    return min(value, 2**31 - 1)  # the database's integers


def _conversation(scope: Scope, input: dict[str, Any]) -> UUID:
    named = input.get("conversation")
    if named is None:
        return scope.conversation_id
    try:
        return UUID(str(named))
    except ValueError:
        raise ToolError("conversation must be an id as search_history gives it.") from None


def _read(scope: Scope, conversation_id: UUID, first: int, last: int, offset: int) -> Content:
    owned = Conversation.objects.of(scope.owner_id).filter(pk=conversation_id)
    rows = Message.objects.filter(
        conversation__in=owned, active=True, number__range=(first, last)
    ).exclude(Q(status=Message.Status.STREAMING) | Q(stop_reason=Message.REFUSED))
    texts = find_text_file_ids(rows)
    rows = rows.only("number", "role", "text", "blocks", "left_out", "created_at", "time_zone")
    room = left = min(READ_TOKENS, scope.room)
    shown = ShownFiles(scope, partial(_in_sight, scope))
    parts: list[str | Block] = []
    for row in rows.order_by("number").iterator(chunk_size=20):
        start = offset if row.number == first else 0
        whole = append_file_texts(row.text, texts.get(row.pk, ()))
        text = f"({LEFT_OUT})" if row.left_out else whole[start:]
        page = _page(text, left) if left >= room // CRUMBS else None
        if page is None:
            parts.append(_continues(scope, conversation_id, row.number, last, 0))
            break
        said = f"{_heading(scope, conversation_id, row)}\n{page}"
        used = get_counter().count(said)
        shown.take(used)
        parts += [said] if row.left_out or start else [said, *shown.show(row, alone=not parts)]
        if len(page) < len(text):
            at = start + len(page)
            parts.append(_continues(scope, conversation_id, row.number, last, at))
            break
        left -= used
    if not parts:
        raise ToolError(f"There is no message from #{first} to #{last} in this conversation.")
    return _joined(parts)


def _joined(parts: Sequence[str | Block]) -> Content:
    """One text; where there are files, blocks with each behind its message's text."""
    if not any(isinstance(part, dict) for part in parts):
        return "\n\n".join(map(str, parts))
    blocks: list[Block] = []
    for part in parts:
        if not isinstance(part, str):
            blocks.append(part)
        elif blocks and blocks[-1]["type"] == "text":
            blocks[-1]["text"] += f"\n\n{part}"
        else:
            blocks.append(text_block(part))
    return blocks


def _page(text: str, limit: int) -> str:
    """As much of a text as has so many tokens."""
    page = text[: limit * CHARACTERS_PER_TOKEN]
    while (tokens := get_counter().count(page)) > limit:
        page = page[: len(page) * limit // (tokens + 1)]
    return page


def _continues(scope: Scope, conversation_id: UUID, first: int, last: int, offset: int) -> str:
    arguments = f"from={first}, to={last}" + (f", offset={offset}" if offset else "")
    if conversation_id != scope.conversation_id:
        arguments += f", conversation={conversation_id}"
    return f"[continues: read_messages({arguments})]"
