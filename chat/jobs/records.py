"""Recording a giant that was imported, in a worker or in the process that imported it."""

from uuid import UUID

from chat.jobs.summary import write_summary
from chat.services.summary import records


def write_record(conversation_id: UUID) -> bool:
    """Write the record of a conversation that is a giant, so that it can be used at once; False
    where it is none. Asks no model."""
    compaction_id = records.begin_record(conversation_id)
    if compaction_id is None or not write_summary(compaction_id):
        return False
    records.use_record(conversation_id)
    return True
