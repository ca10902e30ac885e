"""The files of a conversation that comes back: each is judged as if it had just been attached, and
references to it get its new id."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext

from accounts.models import User
from agent.attachments import find_reference
from agent.messages import file_name, is_file
from chat.errors import RefusalCode, Refused
from chat.importers.errors import Unimportable
from chat.importers.everlong import OwnDocument
from chat.importers.everlong_records import FileRecord
from chat.models import Attachment
from chat.services.library import attachments, file_types, images


class RestoredFiles:
    """By the ids that they had. `lost`: those that could not be kept, each with the reason."""

    def __init__(self, owner: User, document: OwnDocument) -> None:
        self._owner = owner
        self._document = document
        self._files: dict[str, Attachment] = {}
        self.lost: list[str] = []

    def __len__(self) -> int:
        return len(self._files)

    def keep(self, file: FileRecord) -> None:
        """Store one, unless it cannot be."""
        name = attachments.clean_name(file.name)
        try:
            data = read_file(self._document, file)
            found = inspect_file(self._owner, name, data)
        except Refused as refusal:
            self.lost.append(refusal.message)
        else:
            self._files[file.id] = attachments.store_checked(self._owner, name, data, found)

    def adopt(self, before: str, attachment: Attachment) -> None:
        """A file that is here already, such as one of the project."""
        self._files[before] = attachment

    def map(self, value: Any) -> Any:
        """Any JSON with references to the files that are here now; in place of one to another file
        stands its name."""
        if isinstance(value, list):
            return [self.map(each) for each in value]
        if not isinstance(value, dict):
            return value
        source = value.get("source")
        if not is_file(value) or not isinstance(source, dict):
            return {name: self.map(each) for name, each in value.items()}
        if source.get("type") == "text" and isinstance(source.get("data"), str):
            return value
        key = str(source.get("id")) if find_reference(value) else self._keep_inline(value, source)
        if attachment := self._files.get(key):
            return attachments.make_reference(attachment)
        named = {"type": str(value["type"]), "title": str(value.get("title") or "")}
        return {"type": "text", "text": file_name(named)}

    def _keep_inline(self, block: dict[str, Any], source: dict[str, Any]) -> str:
        """Keep the bytes that a block holds itself, as old imports have them; by which id."""
        key = sha256(str(source.get("data")).encode()).hexdigest()
        if source.get("type") == "base64" and key not in self._files:
            name = str(block.get("title") or block["type"])[:200]
            self.keep(FileRecord(id=key, name=name, data=str(source.get("data"))))
        return key

    def find(self, blocks: list[Any]) -> Iterator[Attachment]:
        """Those that blocks of a message refer to themselves, after `map`."""
        by_id = {str(each.pk): each for each in self._files.values()}
        sources = (find_reference(block) for block in blocks)
        yield from (by_id[source["id"]] for source in sources if source and source["id"] in by_id)


def read_file(document: OwnDocument, file: FileRecord) -> bytes:
    """The bytes of a file; Refused where the document does not have them."""
    try:
        opened = document.open_file(file)
        if opened is None:
            words = gettext("The export does not hold {name}.")
            raise Refused(RefusalCode.FILE_GONE, words.format(name=file.name))
        with closing(opened):
            # One byte more than may be: enough to say so without reading the rest.
            return opened.read(file_types.MAX_FILE_BYTES + 1)
    except (OSError, ValueError, Unimportable) as error:
        words = gettext("{name} is damaged: it cannot be read to the end.")
        raise Refused(RefusalCode.FILE_DAMAGED, words.format(name=file.name)) from error


def inspect_file(owner: User, name: str, data: bytes) -> file_types.CheckedFile:
    """What a file is; Refused where it cannot be sent. A picture that was written here once is not
    written anew: a JPEG would lose a little each time."""
    found = file_types.inspect_file(name, data, owner_id=owner.pk)
    if found.media_type == "image/jpeg" and images.is_nothing_but_pixels(data):
        return replace(found, data=data)
    return found
