"""Which models may be asked: one that an administrator switched off answers nobody, not in old
conversations either."""

from agent.errors import AgentError, ErrorCode, gettext_noop
from chat.db.rows import read_row
from chat.models import ModelProfile

SWITCHED_OFF = gettext_noop("An administrator switched this model off. Choose another model.")


def is_switched_off(name: str) -> bool:
    """Whether a model is in the table and off. One that is not in it may be asked: nobody has
    decided anything about it."""
    profile = read_row(ModelProfile, name=name)
    return profile is not None and profile.is_switched_off


def require_switched_on(name: str) -> None:
    """Raises AgentError. For every request whose answer is read as a whole, just before it."""
    if is_switched_off(name):
        raise AgentError(ErrorCode.UNKNOWN_MODEL, SWITCHED_OFF, said=name)
