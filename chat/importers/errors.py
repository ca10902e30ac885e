"""Why a file cannot be imported, in words for the person who gave it."""


class Unimportable(Exception):
    """The text names the cause and the next step."""


class BrokenArchive(Unimportable):
    """It cannot be read, or not to its end."""


class HostileArchive(Unimportable):
    """It is made, or looks as if it were made, to harm the server. Nothing of it is read."""


class UnknownFormat(Unimportable):
    """It can be read, and is no export that is known here."""
