"""Whether a model may be asked. Whatever leads to a model call comes here before anything is begun:
whether the model may answer is asked, and it is counted for whom it does.

- A turn: `chat.services.turns.turns.begin_turn` counts it, and each of its requests is asked for
  anew (`chat.services.turns.requests`).
- What a user wants written again: `permit`, which refuses, or `is_permitted`, where it waits for
  the next turn instead.
- What follows a turn by itself, a title or a preparation: `is_permitted` without a user, as the
  turn was counted.

Each call of a worker asks once more for the model (`chat.engine.model_server.new_client`): an
administrator may have switched it off meanwhile.
"""

import structlog
from django.utils.translation import gettext

from chat.engine.rights import SWITCHED_OFF, is_switched_off
from chat.errors import RefusalCode, Refused
from chat.models import ModelProfile
from chat.services.people.rate_limit import count_turn

log = structlog.get_logger(__name__)


def permit(user_id: int | None, model: str) -> None:
    """Let a user have a model asked, or what follows their turn: None. Refused where it is switched
    off, and above the limits."""
    if is_switched_off(model):
        raise model_off()
    if user_id is not None:
        count_turn(user_id)


def is_permitted(model: str, user_id: int | None = None) -> bool:
    """Whether a model may be asked in the background, and if it is for a user, whether that is
    within their limits; it is counted then."""
    try:
        permit(user_id, model)
    except Refused as refusal:
        log.warning("not asked in the background", model=model, reason=str(refusal.code))
        return False
    return True


def refuse_if_off(profile: ModelProfile) -> None:
    """Refused (`model_off`) for a model that an administrator switched off."""
    if profile.is_switched_off:
        raise model_off()


def model_off() -> Refused:
    return Refused(RefusalCode.MODEL_OFF, gettext(SWITCHED_OFF))
