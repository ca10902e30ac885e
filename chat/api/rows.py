"""Rows as the API says them."""

from collections.abc import Sequence
from typing import Any

from chat.api.schemas import (
    ChapterOut,
    CompactionOut,
    CompactionTextOut,
    ConversationOut,
    FileOut,
    MessageOut,
    ModelOut,
    ProblemOut,
    QueuedOut,
    TurnOut,
)
from chat.errors import translate_error
from chat.models import (
    Attachment,
    Compaction,
    Conversation,
    Message,
    ModelProfile,
    QueuedPrompt,
    Turn,
)
from chat.queries.turns import read_written


def as_file(row: Attachment) -> FileOut:
    return FileOut(id=row.pk, name=row.name, kind=row.kind, tokens=row.tokens, size=row.size)


def as_message(row: Message) -> MessageOut:
    """Its parent and its attachments should have been read along."""
    return MessageOut(
        number=row.number,
        parent=row.parent.number if row.parent else None,
        role=row.role,
        status=row.status,
        text=read_written(row) if row.role == Message.Role.ASSISTANT else row.text,
        blocks=row.blocks,
        active=row.active,
        left_out=row.left_out,
        source=row.source,
        model=row.model,
        stop_reason=row.stop_reason,
        usage=row.usage,
        files=[as_file(each) for each in row.attachments.all()],
        created_at=row.created_at,
    )


def as_turn(turn: Turn, messages: Sequence[Message]) -> TurnOut:
    """`messages`: the turn's own, in order."""
    answers = [row for row in messages if row.role == Message.Role.ASSISTANT]
    told = {
        "id": turn.pk,
        "kind": turn.kind,
        "status": turn.status,
        "error": translate_error(turn.error) or None,
        "notice": turn.notice_text,
        "prompt": _find_prompt(messages),
        "message": as_message(answers[-1]) if answers else None,
        "created_at": turn.created_at,
        "finished_at": turn.finished_at,
    }
    return TurnOut.model_validate(told)


def _find_prompt(messages: Sequence[Message]) -> int | None:
    """The number of the message that a turn with these messages answers: its first, unless that
    answers an older one."""
    if not messages:
        return None
    first = messages[0]
    if first.role == Message.Role.USER:
        return first.number
    return first.parent.number if first.parent else None


def as_queued(row: QueuedPrompt) -> QueuedOut:
    return QueuedOut(
        id=row.pk,
        text=row.text,
        command=row.command,
        source=row.source,
        send_now=row.send_now,
        problem=_describe_problem(row.problem),
        files=[as_file(each) for each in row.attachments.all()],
        created_at=row.created_at,
    )


def _describe_problem(problem: dict[str, Any] | None) -> ProblemOut | None:
    translated = translate_error(problem)
    return ProblemOut(**translated) if translated else None


def as_conversation(row: Conversation) -> ConversationOut:
    names = ConversationOut.model_fields.keys() - {"id", "title", "project"}
    values = {name: getattr(row, name) for name in names}
    return ConversationOut(id=row.pk, title=str(row), project=row.project_id, **values)


def as_compaction(row: Compaction) -> CompactionOut:
    """Its conversation, its first and its last message should have been read along."""
    return CompactionOut(**_describe_compaction(row))


def as_compaction_text(row: Compaction) -> CompactionTextOut:
    chapters = [
        ChapterOut(first=each["first"], through=each["through"], text=each["text"])
        for each in row.chapters
    ]
    return CompactionTextOut(**_describe_compaction(row), summary=row.summary, chapters=chapters)


def _describe_compaction(row: Compaction) -> dict[str, Any]:
    own = CompactionOut.model_fields.keys() - {"id", "current", "first", "through"}
    return {name: getattr(row, name) for name in own} | {
        "id": row.pk,
        "current": row.conversation.compaction_id == row.pk,
        "first": row.first.number,
        "through": row.through.number,
    }


def as_model(row: ModelProfile, default: str) -> ModelOut:
    return ModelOut(
        name=row.name,
        display_name=row.display_name,
        context_window=row.context_window,
        max_output=row.max_output,
        default=row.name == default,
    )
