"""What a service refuses to do, and what went wrong, in words for the person who asked."""

from typing import Any

from django.utils.translation import gettext


class Refused(Exception):
    """Nothing was changed. `code` is one of docs/protocol.md, `message` names the next step;
    `retry_after` are the seconds until another try makes sense, where they are known."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after


def in_words(error: dict[str, Any] | None) -> dict[str, Any] | None:
    """A stored `AgentError` with its message in the reader's language."""
    if not error or not error.get("message"):
        return error
    return error | {"message": gettext(error["message"])}
