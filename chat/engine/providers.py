"""Where the models of a provider are asked, and with which key."""

from dataclasses import dataclass, field

from agent.errors import AgentError, ErrorCode, gettext_noop
from chat.db.encryption import Undecryptable, decrypt
from chat.db.rows import read_row
from chat.models import Provider

GONE = gettext_noop("The provider of this model was removed or switched off. Choose another model.")
UNREADABLE = gettext_noop(
    "The stored key of this model's provider cannot be read: SECRET_KEY or ENCRYPTION_KEYS is "
    "another one than when it was stored. An administrator has to set the old value again, or to "
    "enter the key anew in the administration."
)
ELSEWHERE = gettext_noop(
    "The stored key of this model's provider was entered for another address. An administrator has "
    "to enter the key anew in the administration."
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of models: "" is Anthropic's API. The key is not shown where one is printed."""

    base_url: str
    key: str = field(repr=False)


def load_provider_endpoint(name: str) -> Endpoint:
    """A provider's by its name. Raises AgentError where it cannot be used."""
    provider = read_row(Provider, name=name)
    if provider is None or not provider.enabled:
        raise AgentError(ErrorCode.UNKNOWN_MODEL, GONE, said=name)
    return read_endpoint(provider)


def read_endpoint(provider: Provider) -> Endpoint:
    """Its address and the key in plain text. Raises AgentError where there is no reading it."""
    if not provider.encrypted_key:
        return Endpoint(provider.base_url, "")
    try:
        origin, _, key = decrypt(provider.encrypted_key).partition("\n")
    except Undecryptable as error:
        raise AgentError(ErrorCode.BAD_KEY, UNREADABLE, said=provider.name) from error
    if origin != provider.origin:
        raise AgentError(ErrorCode.BAD_KEY, ELSEWHERE, said=provider.name)
    return Endpoint(provider.base_url, key)
