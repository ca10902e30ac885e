"""Which models may be asked for somebody: none that an administrator switched off, in old
conversations either, and only those that their groups have."""

from django.conf import settings

from accounts.policies import load_rights
from agent.errors import AgentError, ErrorCode, gettext_noop
from chat.db.rows import read_row
from chat.models import ModelProfile

SWITCHED_OFF = gettext_noop("An administrator switched this model off. Choose another model.")
NOT_OFFERED = gettext_noop("Your account may not use this model. Choose another model.")


def explain_barred(owner_id: int, profile: ModelProfile) -> str:
    """Why a model may not answer in somebody's conversations, to be translated; "": it may. One
    that is not in the table of models is not switched off: nobody has decided anything about it."""
    if profile.is_switched_off:
        return SWITCHED_OFF
    return "" if load_rights(owner_id).may_use_model(profile.name) else NOT_OFFERED


def explain_barred_writer(owner_id: int, name: str) -> str:
    """The same for one that writes summaries or titles. `SUMMARY_MODEL` is the site's choice:
    nobody needs a right for it."""
    profile = read_row(ModelProfile, name=name) or ModelProfile(name=name)
    if name == settings.SUMMARY_MODEL:
        return SWITCHED_OFF if profile.is_switched_off else ""
    return explain_barred(owner_id, profile)


def require_writer(owner_id: int, name: str) -> None:
    """Raises AgentError. For every request whose reply is read as a whole, just before it."""
    if words := explain_barred_writer(owner_id, name):
        raise AgentError(ErrorCode.UNKNOWN_MODEL, words, said=name)
