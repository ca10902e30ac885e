"""What a service refuses to do, and what went wrong, in words for the reader."""

from enum import StrEnum
from typing import Any

from django.utils.translation import gettext


class RefusalCode(StrEnum):
    """docs/protocol.md says what each means."""

    BAD_FRAME = "bad_frame"
    BUDGET_BUSY = "budget_busy"
    BUDGET_USED = "budget_used"
    CONVERSATION_BUSY = "conversation_busy"
    DISK_FULL = "disk_full"
    DOES_NOT_FIT = "does_not_fit"
    EMPTY_INSTRUCTION = "empty_instruction"
    EMPTY_MEMORY = "empty_memory"
    EMPTY_MESSAGE = "empty_message"
    EMPTY_NAME = "empty_name"
    EMPTY_SUMMARY = "empty_summary"
    EMPTY_TITLE = "empty_title"
    FILE_DAMAGED = "file_damaged"
    FILE_EMPTY = "file_empty"
    FILE_ENCODING = "file_encoding"
    FILE_ENCRYPTED = "file_encrypted"
    FILE_GONE = "file_gone"
    FILE_TOO_LARGE = "file_too_large"
    FILE_TYPE = "file_type"
    HEAD_CHANGED = "head_changed"
    IMPORT_ACTIVE = "import_active"
    IMPORT_FILES = "import_files"
    IMPORT_OVER = "import_over"
    IMPORT_TOO_LARGE = "import_too_large"
    INSTRUCTION_TOO_LONG = "instruction_too_long"
    INSTRUCTIONS_TOO_LONG = "instructions_too_long"
    INTERNAL = "internal"
    LEFT_OUT = "left_out"
    MEMORY_TOO_LONG = "memory_too_long"
    MESSAGE_TOO_LONG = "message_too_long"
    MODEL_OFF = "model_off"
    NAME_TOO_LONG = "name_too_long"
    NOT_ASKED = "not_asked"
    NOT_CURRENT = "not_current"
    NOT_EDITABLE = "not_editable"
    NOT_LINKABLE = "not_linkable"
    NOT_QUEUED = "not_queued"
    NOT_SHOWN = "not_shown"
    NOTHING_TO_ANSWER = "nothing_to_answer"
    NOTHING_TO_COMPACT = "nothing_to_compact"
    NOTHING_TO_RETRY = "nothing_to_retry"
    NOTHING_TO_STOP = "nothing_to_stop"
    PROJECT_FULL = "project_full"
    PROJECT_GONE = "project_gone"
    QUEUE_FULL = "queue_full"
    RATE_LIMITED = "rate_limited"
    SCHEDULE_OVER = "schedule_over"
    SERVER_BUSY = "server_busy"
    SHUTTING_DOWN = "shutting_down"
    SUMMARY_TOO_LONG = "summary_too_long"
    TOO_MANY_FILES = "too_many_files"
    TOO_MANY_MEMORIES = "too_many_memories"
    TOO_MANY_PROPOSALS = "too_many_proposals"
    TOO_MANY_PROJECTS = "too_many_projects"
    TOO_MANY_SCHEDULES = "too_many_schedules"
    TOO_MANY_SHARES = "too_many_shares"
    UNAVAILABLE = "unavailable"


class Refused(Exception):
    """Nothing was changed. `code` is for programs, `message` names the next step;
    `retry_after` are the seconds until another try makes sense, where they are known."""

    def __init__(
        self,
        code: RefusalCode,
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


def translate_error(error: dict[str, Any] | None) -> dict[str, Any] | None:
    """A stored `AgentError` with its message in the reader's language."""
    if not error or not error.get("message"):
        return error
    return error | {"message": gettext(error["message"])}
