"""What a reply must be to be a summary: it says something, as a record, and no more than what it
replaces."""

from collections.abc import Sequence

from agent.compaction.failures import Declined, SummaryRejected
from agent.compaction.reading.notation import Covered
from agent.compaction.reading.record import Record, read_record
from agent.compaction.skills import HEADINGS, INSTRUCTIONS
from agent.errors import gettext_noop
from agent.messages import AgentMessage, plain_text
from agent.model.reply import Reply

LEAST_FOUND = 0.4  # of a form's headings in a record that was not cut
SMALLEST_LIMIT = 2_000  # characters that a record may have, however little it replaces
MISSING = {  # whole sentences, so that they can be translated
    "Overview": gettext_noop("the heading “Overview” is missing"),
    "Goal and constraints": gettext_noop("the heading “Goal and constraints” is missing"),
    INSTRUCTIONS: gettext_noop("the heading “Standing instructions” is missing"),
    "Decisions": gettext_noop("the heading “Decisions” is missing"),
    "Facts and values": gettext_noop("the heading “Facts and values” is missing"),
    "Progress": gettext_noop("the heading “Progress” is missing"),
    "Open tasks": gettext_noop("the heading “Open tasks” is missing"),
    "Files and artifacts": gettext_noop("the heading “Files and artifacts” is missing"),
    "Errors and fixes": gettext_noop("the heading “Errors and fixes” is missing"),
    "Open questions": gettext_noop("the heading “Open questions” is missing"),
    "Current work and next step": gettext_noop(
        "the heading “Current work and next step” is missing"
    ),
}
BROKE_OFF = gettext_noop("it broke off at the model's limit before half of it was written")


def read_valid_record(
    reply: Reply,
    source: Sequence[AgentMessage],
    previous: str = "",
    headings: Sequence[str] = HEADINGS,
) -> str:
    """The record in a reply that was not cut, or `SummaryRejected`: refused, a tool call, empty,
    without the headings, or not smaller than what it replaces: the source, and the `previous`
    records that it merges."""
    return check_size(read_whole(reply, headings, cover(source)).text, source, previous)


def read_whole(reply: Reply, headings: Sequence[str], covered: Covered) -> Record:
    """The record in a reply, or `SummaryRejected` with the headings that it lacks."""
    record = read_record(read_text(reply), headings, covered)
    if missing := list_needed(record):
        raise SummaryRejected(MISSING[missing[0]], missing=missing)
    return record


def list_needed(record: Record) -> Sequence[str]:
    """The headings that a record lacks, none where it may do so: where it has the first and the
    last, and some of the others, its writer left those out that have nothing under them."""
    missing = [heading for heading in record.missing if heading != INSTRUCTIONS]
    found = {section.heading for section in record.sections}
    ends = {record.headings[0], record.headings[-1]}
    enough = len(found) >= LEAST_FOUND * len(record.headings)
    return [] if enough and ends <= found else missing


def read_text(reply: Reply) -> str:
    """What a reply says, or `SummaryRejected` where it says nothing or is none."""
    if reply.stop_reason == "refusal":
        raise Declined(gettext_noop("the model refused to summarise this part"))
    if any(block["type"] == "tool_use" for block in reply.blocks):
        raise SummaryRejected(gettext_noop("it calls a tool instead of being a summary"))
    text = "\n\n".join(b["text"] for b in reply.blocks if b["type"] == "text").strip()
    if not text:
        raise SummaryRejected(gettext_noop("it is empty"))
    return text


def check_size(text: str, source: Sequence[AgentMessage], previous: str) -> str:
    """The text, or `SummaryRejected` where it is longer than what it replaces."""
    replaced = len(previous) + sum(len(plain_text(message.blocks)) for message in source)
    if len(text) > max(replaced, SMALLEST_LIMIT):
        raise SummaryRejected(gettext_noop("it is longer than what it replaces"))
    return text


def cover(source: Sequence[AgentMessage]) -> Covered:
    """The messages that a record of some may cite."""
    return Covered(source[0].number, source[-1].number)
