"""The errors that a page or a model is shown."""

from enum import StrEnum

from agent.wire.masking import mask


def gettext_noop(text: str) -> str:
    """Marks a text for translators. Whoever shows it looks the translation up."""
    return text


DAMAGED = gettext_noop("The server sent a damaged stream. Retry.")
TOO_MUCH = gettext_noop(
    "The answer was cut off: the server sent more than Everlong takes. What came is kept. Retry."
)


class ErrorCode(StrEnum):
    """Why a turn failed; docs/protocol.md says what each means."""

    BAD_KEY = "bad_key"
    BAD_REQUEST = "bad_request"
    BUDGET_BUSY = "budget_busy"
    BUDGET_USED = "budget_used"
    COMPACTION_FAILED = "compaction_failed"
    CONNECTION_LOST = "connection_lost"
    IMPORTED = "imported"
    INTERNAL = "internal"
    INTERRUPTED = "interrupted"
    NO_CREDIT = "no_credit"
    NOT_ALLOWED = "not_allowed"
    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    REQUEST_TOO_LARGE = "request_too_large"
    SERVER_ERROR = "server_error"
    SERVER_UNREACHABLE = "server_unreachable"
    STREAM_CUT = "stream_cut"
    THINKING_REFUSED = "thinking_refused"
    TIMEOUT = "timeout"
    TOO_LONG = "too_long"
    TOO_MANY_ROUNDS = "too_many_rounds"
    UNKNOWN_MODEL = "unknown_model"
    UNKNOWN_STOP_REASON = "unknown_stop_reason"


class AgentError(Exception):
    """A model call that failed, in words for the person who waits for it.

    `code` is stable, `message` names the cause and the next step and is marked with
    `gettext_noop`, `said` is what the server said about it in its own words, without secrets,
    `retryable` says whether the same request may succeed later, `retry_after` in how many seconds
    where the server said so, `share_taken` how much of a request that was too long its server would
    take (0 to 1), where it told.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        said: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        share_taken: float | None = None,
    ) -> None:
        said = mask(said)
        super().__init__(f"{message} {said}".rstrip())
        self.code = code
        self.message = message
        self.said = said
        self.retryable = retryable
        self.retry_after = retry_after
        self.share_taken = share_taken

    def as_dict(self) -> dict[str, object]:
        """`{code, message, said, retryable, retry_after}` for storage and the browser."""
        return {
            "code": self.code,
            "message": self.message,
            "said": self.said,
            "retryable": self.retryable,
            "retry_after": self.retry_after,
        }


class ToolError(Exception):
    """A tool call that failed; the message is written for the model, without secrets."""

    def __init__(self, message: str) -> None:
        super().__init__(mask(message))
