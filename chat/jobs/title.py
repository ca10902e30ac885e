"""Naming a conversation after its first exchange."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings

from agent.context.request import Request
from agent.errors import AgentError
from agent.messages import Block
from agent.model.client import Client
from chat.db.threads import run_long
from chat.engine import model_server
from chat.models import Conversation, Message
from chat.services.ledgers import JobLedger
from chat.services.library import conversations
from chat.services.turns import asking
from spending.calls import CallDetails
from spending.models import ModelCall

log = structlog.get_logger(__name__)

TITLE_PROMPT = (
    "Write a title for this conversation: at most six words, in its language, without quotation "
    "marks or a full stop. Reply with the title only."
)


def write_title(conversation_id: UUID) -> None:
    """Name a conversation after its first exchange, unless the user has named it."""
    wanted = Conversation.objects.filter(pk=conversation_id, owner__is_active=True)
    conversation = wanted.first()
    if conversation is None or conversation.title_edited:
        return
    model = settings.SUMMARY_MODEL or conversation.model
    if not asking.is_permitted(conversation, model):
        return
    opening = Message.objects.filter(
        conversation=conversation, active=True, position__lt=2, left_out=False
    )
    texts = [row.text[:2_000] for row in opening.order_by("position")]
    try:
        client = partial(
            model_server.new_client,
            model_server.load_writer_endpoint(model),
            owner_id=conversation.owner_id,
        )
        kind = ModelCall.Kind.TITLE
        ledger = JobLedger(CallDetails(conversation.owner_id, kind, model, conversation.pk))
        title = run_long(_ask_for_title, client, model, texts, ledger)
    except AgentError as error:
        log.warning("no title", conversation=str(conversation_id), reason=error.message)
        return
    if title:
        conversations.set_suggested_title(conversation.pk, title)


async def _ask_for_title(
    new_client: Callable[[], Client], model: str, texts: Sequence[str], ledger: JobLedger
) -> str:
    quoted = "\n\n".join(texts).replace("</conversation", "<\\/conversation")
    block: Block = {
        "type": "text",
        "text": f"<conversation>\n{quoted}\n</conversation>\n\n{TITLE_PROMPT}",
    }
    request = Request(
        model=model,
        max_tokens=100,
        system=[{"type": "text", "text": "You name conversations."}],
        messages=[{"role": "user", "content": [block]}],
    )
    client = new_client()
    try:
        reply = await client.complete(request, ledger)
    finally:
        await client.close()
    text = " ".join(b["text"] for b in reply.blocks if b["type"] == "text")
    return text.strip().strip("\"'“”").splitlines()[0] if text.strip() else ""
