"""The profiles of models, read from the server's list."""

import structlog
from django.conf import settings
from django.db.models import QuerySet

from agent.errors import AgentError
from agent.model.listing import ModelInfo
from chat.db import in_db
from chat.models import ModelProfile
from chat.queries import model_server
from chat.queries.model_profiles import BUILT_IN, SMALLEST_WINDOW, does_model_think, load_profile

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
    await in_db(_store, [*listed, *unlisted])
    return len(listed)


def _store(found: list[ModelInfo]) -> None:
    for info in found:
        profile = load_profile(info.name)
        profile.efforts, profile.thinking_types = [*info.efforts], [*info.thinking]
        if profile.edited:
            profile.save(update_fields=["efforts", "thinking_types"])
            continue
        profile.display_name = info.display_name or profile.display_name
        profile.context_window = (
            settings.MODEL_WINDOWS.get(info.name) or info.context_window or profile.context_window
        )
        profile.max_output = info.max_output or profile.max_output
        profile.temperature = info.temperature
        profile.base_url = model_server.server_url()
        profile.web_tools = not model_server.server_url()
        profile.show_thinking = does_model_think(info.name)
        if profile.context_window < SMALLEST_WINDOW and not settings.DEMO:
            log.warning(
                "model window below 16,000 tokens: not offered",
                model=info.name,
                window=profile.context_window,
            )
            profile.enabled = False
        profile.save()


def release(profiles: QuerySet[ModelProfile]) -> int:
    """Let a refresh overwrite what an administrator has edited; how many profiles."""
    return profiles.update(edited=False)
