"""Providers and their keys, which are stored encrypted."""

import structlog
from django.utils import timezone

from agent.errors import AgentError
from agent.model.listing import ModelInfo
from chat.db.encryption import Undecryptable, encrypt, encrypt_again
from chat.db.threads import in_db
from chat.engine import model_server
from chat.engine.providers import read_endpoint
from chat.models import Provider
from chat.services.site import model_profiles

log = structlog.get_logger(__name__)

# Somebody waits for a list of models in the administration.
LIST_SECONDS = 20.0
# Of a key that is long enough for its end to tell nothing.
SHOWN, LONG = 4, 16


def save_provider(provider: Provider, *, key: str = "", forget: bool = False) -> None:
    """Store a provider, with a new key if one is given: for its address, and for no other."""
    if key:
        provider.encrypted_key = encrypt(f"{provider.origin}\n{key}")
        provider.key_end = key[-SHOWN:] if len(key) >= LONG else ""
        provider.key_set_at = timezone.now()
    elif forget:
        provider.encrypted_key, provider.key_end, provider.key_set_at = "", "", None
    provider.save()


async def check_provider(provider: Provider) -> int:
    """Ask a provider for its models and fill in their profiles; how many it named. Raises
    AgentError, which is stored too."""
    try:
        listed = await _list_models(provider)
    except AgentError as error:
        log.warning("provider not usable", provider=provider.name, code=error.code)
        await in_db(_note, provider, str(error))
        raise
    await in_db(model_profiles.store_listed, listed, provider)
    await in_db(_note, provider, "")
    return len(listed)


async def _list_models(provider: Provider) -> list[ModelInfo]:
    client = model_server.new_client(read_endpoint(provider), timeout=LIST_SECONDS)
    try:
        return await client.models()
    finally:
        await client.close()


def _note(provider: Provider, error: str) -> None:
    Provider.objects.filter(pk=provider.pk).update(checked_at=timezone.now(), error=error)


def encrypt_keys_again() -> tuple[int, list[str]]:
    """Encrypt all stored keys under the newest secret; how many, and the names of the providers
    whose key none of the secrets reads."""
    done, unreadable = 0, []
    for provider in Provider.objects.exclude(encrypted_key=""):
        old = provider.encrypted_key
        try:
            new = encrypt_again(old)
        except Undecryptable:
            unreadable.append(provider.name)
            continue
        # Not over a key that was entered meanwhile.
        done += Provider.objects.filter(pk=provider.pk, encrypted_key=old).update(encrypted_key=new)
    return done, unreadable
