"""What happens to a log line before it is written, whoever wrote it."""

from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from agent.wire.masking import mask

# Of each line, ours and those of Django, Celery, daphne and asyncio.
SHARED: list[Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso"),
]


def drop_trace_of_refusal(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Django attaches the exception to what it logs of a request that it answers with 4xx (a wrong
    host, a missing permission): 30 lines of our own code for what is the client's fault."""
    if getattr(event["_record"], "status_code", 500) < 500:
        event.pop("exc_info", None)
    return event


def mask_secrets(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """A library's error, and so a traceback, may hold what a server repeated."""
    return {key: value if key.startswith("_") else _masked(value) for key, value in event.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(each) for each in value]
    text = str(value)
    masked = mask(text)
    return value if masked == text else masked


OURS: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    *SHARED,
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    mask_secrets,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]
FOREIGN: list[Processor] = [
    *SHARED,
    drop_trace_of_refusal,
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    mask_secrets,
]


def choose_renderer(json: bool) -> Processor:
    """JSON, one object a line, or text for a console."""
    if json:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
