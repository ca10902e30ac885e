"""Whether a model may be asked. Whatever leads to a model call comes here before anything is begun:
whether the model may answer is asked, and it is counted for whom it does.

- A turn: `chat.services.turns.turns.begin_turn` counts it, and each of its requests is asked for
  anew (`chat.services.turns.requests`).
- What a user wants written again: `permit`, which refuses, or `is_permitted`, where it waits for
  the next turn instead.
- What follows a turn by itself, a title or a preparation: `is_permitted` without a user, as the
  turn was counted.

Each call of a worker asks once more for the model (`chat.engine.model_server.new_client`), and
while it runs the worker looks each second (`chat.services.summary.compaction_jobs`): an
administrator may have switched it off, or taken the right away, meanwhile.
"""

import structlog
from django.utils.translation import gettext

from chat.engine.model_profiles import load_profile
from chat.engine.rights import explain_barred, explain_barred_writer
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, ModelProfile
from chat.services.people.rate_limit import count_turn
from spending.budgets import may_begin_in_background

log = structlog.get_logger(__name__)


class ModelBarred(Refused):
    """A model may not answer; `words` say why, not yet translated."""

    def __init__(self, words: str) -> None:
        super().__init__(RefusalCode.MODEL_OFF, gettext(words))
        self.words = words


def permit(conversation: Conversation, writer: str, *, counted_for: int | None = None) -> None:
    """Let a model write about a conversation, for the user with the id `counted_for` if any. The
    conversation's own model must be one that may answer there. Refused where either is barred, and
    above the user's limits."""
    refuse_if_barred(conversation, load_profile(conversation.model))
    if writer != conversation.model:
        _refuse_for(explain_barred_writer(conversation.owner_id, writer))
    if counted_for is not None:
        count_turn(counted_for)


def is_permitted(
    conversation: Conversation, writer: str, *, counted_for: int | None = None
) -> bool:
    """`permit` in the background: whether it did. Work that nobody waits for leaves what is left of
    a budget to its person."""
    if not may_begin_in_background(conversation.owner_id):
        log.info("not asked in the background", model=writer, reason="budget")
        return False
    try:
        permit(conversation, writer, counted_for=counted_for)
    except Refused as refusal:
        log.warning("not asked in the background", model=writer, reason=str(refusal.code))
        return False
    return True


def refuse_if_barred(conversation: Conversation, profile: ModelProfile) -> None:
    """ModelBarred for a model that may not answer in a conversation: an administrator switched it
    off, or the owner's groups do not have it."""
    _refuse_for(explain_barred(conversation.owner_id, profile))


def _refuse_for(words: str) -> None:
    if words:
        raise ModelBarred(words)
