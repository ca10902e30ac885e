"""The one error type that a page can show."""


class AgentError(Exception):
    """A model call that failed, in words for the person who waits for it.

    `code` is stable (docs/protocol.md lists them), `message` names the cause and the next step,
    `retryable` says whether the same request may succeed later, `retry_after` in how many seconds
    where the server said so.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after

    def as_dict(self) -> dict[str, object]:
        """`{code, message, retryable, retry_after}` for storage and the browser."""
        return {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            "retry_after": self.retry_after,
        }
