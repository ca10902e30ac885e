"""The format of our own exports follows the tables: whoever adds a column decides what becomes of
it in an export."""

import pytest
from django.db.models import Model

from agent.audit.audit import Findings
from agent.compaction.chapters.chapter import Chapter
from agent.errors import AgentError, ErrorCode
from chat.importers.everlong_records import (
    AuditRecord,
    ChapterRecord,
    ConversationRecord,
    ErrorRecord,
    FactRecord,
    MessageRecord,
    ProjectRecord,
    ProposalRecord,
    Record,
    TurnRecord,
    VersionRecord,
)
from chat.models import Compaction, Conversation, Memory, MemoryProposal, Message, Project, Turn

# Columns that no export has, or under another name; docs/export_format.md says why.
DERIVED = {"history_version", "compressed_context", "compressed_at", "compressed_through", "tokens"}
OF_THIS_SITE = {
    *("owner", "held", "deleted_at", "imported_at", "client_id"),
    *("meter_valid_from", "record_agreed_at"),
}
WHILE_IT_RUNS = {
    *("holder", "lease_expires", "stop_requested", "compaction_wanted", "worker_pid", "temporary"),
}
READ_ANEW = {"project_parts", "text", "key", "changed_at", "conversation", "project", "memory"}
RENAMED = {"active": "shown"}
LEFT_OUT = DERIVED | OF_THIS_SITE | WHILE_IT_RUNS | READ_ANEW


@pytest.mark.parametrize(
    ("model", "record"),
    [
        (Conversation, ConversationRecord),
        (Message, MessageRecord),
        (Turn, TurnRecord),
        (Compaction, VersionRecord),
        (Project, ProjectRecord),
        (Memory, FactRecord),
        (MemoryProposal, ProposalRecord),
    ],
)
def test_every_column_is_exported_or_known_to_be_left_out(
    model: type[Model], record: type[Record]
) -> None:
    columns = {field.name for field in model._meta.concrete_fields} - {"id"}
    told = {RENAMED.get(name, name) for name in columns}
    assert told - set(record.model_fields) <= LEFT_OUT


def test_what_is_stored_as_json_is_known_field_by_field() -> None:
    assert set(Chapter("", 1, 1, by_rule=True).as_dict()) == set(ChapterRecord.model_fields)
    assert set(Findings().as_dict()) <= set(AuditRecord.model_fields)
    error = AgentError(ErrorCode.INTERNAL, "It failed.")
    assert set(error.as_dict()) == set(ErrorRecord.model_fields)
