"""The profiles of models, read from the server's list."""

from collections.abc import Sequence

import structlog
from django.conf import settings
from django.db import IntegrityError
from django.db.models import QuerySet

from agent.errors import AgentError
from agent.model.listing import ModelInfo
from agent.model_names import MARK, join_name
from chat.db.threads import in_db
from chat.engine import model_server
from chat.engine.model_profiles import (
    BUILT_IN,
    does_model_think,
    is_demo,
    load_profile,
)
from chat.models import ModelProfile, Provider
from chat.models.model_profile import SMALLEST_WINDOW

log = structlog.get_logger(__name__)


async def refresh_profiles() -> int:
    """Read the server's model list into the table; how many models it named.

    The default model is always offered; where Anthropic's API lists none, the built-in ones are.
    """
    try:
        listed = await model_server.get_client().models()
    except AgentError as error:
        log.warning("model list not available", code=error.code, reason=error.message)
        listed = []
    names = [settings.DEFAULT_MODEL, *([] if listed or model_server.server_url() else BUILT_IN)]
    known = {info.name for info in listed}
    unlisted = [ModelInfo(name) for name in dict.fromkeys(names) if name not in known]
    try:
        await in_db(store_listed, [*listed, *unlisted])
    except IntegrityError:  # somebody else has stored them meanwhile
        await in_db(store_listed, [*listed, *unlisted])
    return len(listed)


def store_listed(found: Sequence[ModelInfo], provider: Provider | None = None) -> None:
    """Fill the table in with what the site's own server has listed, or a provider."""
    base_url = provider.base_url if provider else model_server.server_url()
    for info in found:
        if provider is None and MARK in info.name:  # it would be taken for a provider's
            continue
        profile = load_profile(join_name(provider.name if provider else "", info.name))
        profile.provider = provider
        profile.efforts, profile.thinking_types = [*info.efforts], [*info.thinking]
        if profile.edited:
            profile.save(update_fields=["efforts", "thinking_types"])
            continue
        profile.display_name = info.display_name or profile.display_name
        told = settings.MODEL_WINDOWS.get(profile.name) or info.context_window
        profile.context_window = told or profile.context_window
        profile.max_output = info.max_output or profile.max_output
        profile.temperature = info.temperature
        profile.base_url = "" if provider else base_url
        profile.web_tools = not base_url
        profile.show_thinking = does_model_think(info.name, base_url)
        if profile.context_window < SMALLEST_WINDOW and not is_demo(profile.name):
            log.warning(
                "model window below 16,000 tokens: not offered",
                model=profile.name,
                window=profile.context_window,
            )
            profile.enabled = False
        profile.save()


def release_profiles(profiles: QuerySet[ModelProfile]) -> int:
    """Let a refresh overwrite what an administrator has edited; how many profiles."""
    return profiles.update(edited=False)
