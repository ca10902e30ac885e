"""What a service refuses to do, in words for the person who asked."""


class Refused(Exception):
    """Nothing was changed. `code` is one of docs/protocol.md, `message` names the next step."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
