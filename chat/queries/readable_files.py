"""Pictures and PDFs of earlier messages, and which models read them."""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from agent.attachments import TEXT, list_references
from agent.messages import Block
from agent.model_names import find_id
from chat.models import Attachment, Message

READING = "claude"  # every model whose id begins so reads images and PDFs


def list_files(blocks: Iterable[Block]) -> Iterator[Block]:
    """The images and PDFs that blocks refer to, those in results of tools too. What is sent as
    text, a reader has as text."""
    return (b for b in list_references(blocks) if b["source"].get("media_type") != TEXT)


def find_kept(owner_id: int, ids: Iterable[str]) -> Mapping[str, Attachment]:
    """Those of the owner's files that are still there, by id."""
    wanted = [each for each in ids if is_id(each)]  # an import may hold anything
    rows = Attachment.objects.filter(owner=owner_id, pk__in=wanted)
    return {str(row.pk): row for row in rows if row.file.storage.exists(row.file.name)}


def is_id(text: str) -> bool:
    """Whether a file can have that id."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def can_read(owner_id: int, model: str, kind: str) -> bool:
    """Whether a model is known to read files of a kind of `Attachment.Kind`: by its name, or
    because it has answered a message of the owner's with one. No server tells it of all models, and
    one that cannot would refuse every later request of the conversation."""
    if find_id(model).startswith(READING):
        return True
    answered = Attachment.objects.filter(
        owner=owner_id,
        kind=kind,
        messages__children__role=Message.Role.ASSISTANT,
        messages__children__status=Message.Status.COMPLETE,
        messages__children__model=model,
    )
    return answered.exists()
