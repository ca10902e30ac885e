"""The contents of attachments: bytes for requests that are about to go out, texts for search."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db.models import QuerySet

from agent.attachments import TEXT
from agent.messages import PARAGRAPH
from chat.models import Attachment, Message


def read_files(ids: Sequence[str]) -> dict[str, bytes]:
    """The bytes of files by id; those that are gone are left out."""
    return {str(attachment.pk): data for attachment, data in _contents(ids)}


def find_text_file_ids(messages: Iterable[int] | QuerySet[Message]) -> Mapping[int, list[str]]:
    """The ids of the text files that messages hold, by message; only of those that hold one."""
    found = defaultdict(list)
    rows = Attachment.objects.filter(media_type=TEXT, messages__in=messages).order_by("created_at")
    for message, pk in rows.values_list("messages", "pk"):
        found[message].append(str(pk))
    return found


def append_file_texts(text: str, ids: Sequence[str]) -> str:
    """A message's text, and after it what its text files say."""
    said = (f"[{each.name}]\n{data.decode('utf-8', 'replace')}" for each, data in _contents(ids))
    return PARAGRAPH.join([text, *said])


def _contents(ids: Sequence[str]) -> Iterator[tuple[Attachment, bytes]]:
    if not ids:
        return
    for attachment in Attachment.objects.filter(pk__in=ids).order_by("created_at"):
        try:
            with attachment.file.open() as file:
                yield attachment, file.read()
        except FileNotFoundError:
            continue
