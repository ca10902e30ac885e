"""Which messages a statement of a summary may be cited from."""

from typing import NamedTuple

from agent.audit.evidence import Source, strip_citations
from agent.audit.grounding import check_bullet
from agent.search.excerpts import Excerpt, make_excerpt
from agent.search.lexical import parse_query
from chat.engine.recent_messages import to_agent_message
from chat.models import Compaction, Message
from chat.queries.search import find_messages
from chat.queries.summary_versions import load_messages_between

MOST = 5
EXCERPT = 160  # characters


class Proposal(NamedTuple):
    """A message that may be cited; `supports` as the audit of a summary judges it."""

    number: int
    role: str
    excerpt: Excerpt
    supports: bool


def propose_sources(version: Compaction, statement: str, owner_id: int) -> list[Proposal]:
    """The messages that a version covers which fit a statement best: first those that support
    it."""
    said = strip_citations(statement)
    query = parse_query(said)
    hits = find_messages(owner_id, query, conversation_id=version.conversation_id)
    covered = load_messages_between(version.conversation_id, 0, version.through.position)
    kept = covered.filter(pk__in=[hit.message_id for hit in hits], left_out=False)
    found = set(kept.values_list("pk", flat=True))
    best = [hit for hit in hits if hit.message_id in found][:MOST]
    rows = Message.objects.in_bulk([hit.message_id for hit in best])
    proposals = []
    for hit in best:
        source = Source([to_agent_message(rows[hit.message_id])])
        verdict = check_bullet(f"- {said} [#{hit.number}]", source, "")
        excerpt = make_excerpt(" ".join(hit.text.split()), query, EXCERPT)
        supports = verdict.supported and not verdict.wrong
        proposals.append(Proposal(hit.number, hit.role, excerpt, supports))
    return sorted(proposals, key=lambda proposal: not proposal.supports)
