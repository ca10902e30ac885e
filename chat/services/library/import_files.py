"""Files of an import, as attachments."""

from django.utils.translation import gettext

from accounts.models import User
from chat.errors import Refused
from chat.importers.errors import Unimportable
from chat.importers.records import ImportedFile
from chat.models import Attachment
from chat.services.library import attachments, file_types


class FileLost(Exception):
    """A file that cannot be kept; the text names it, and says why."""


def keep_file(owner: User, file: ImportedFile) -> Attachment:
    """Store a file of a message as if it had been attached here. Raises FileLost."""
    name, data = read_file(file)
    try:
        found = file_types.inspect_file(name, data, owner_id=owner.pk)
    except Refused as refusal:
        raise FileLost(refusal.message) from refusal
    return attachments.store_checked(owner, name, data, found)


def read_file(file: ImportedFile) -> tuple[str, bytes]:
    """Its name as it is kept, and its bytes; raises FileLost where the archive cannot give them."""
    name = attachments.clean_name(file.name)
    try:
        with file.open() as opened:
            # One byte more than may be: enough to say so without reading the rest.
            return name, opened.read(file_types.MAX_FILE_BYTES + 1)
    except (OSError, ValueError, Unimportable) as error:
        words = gettext("{name} is damaged: it cannot be read to the end.")
        raise FileLost(words.format(name=name)) from error
