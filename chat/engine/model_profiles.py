"""What is known about each model: its stored profile, or this table where there is none."""

from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db.models import F, Q, QuerySet

from accounts.policies import load_rights
from agent.context.request import ReplySettings
from agent.model_names import split_name
from agent.tokens import Factor, Limits, Prices
from chat.db.rows import read_row
from chat.engine import model_server
from chat.models import Conversation, ModelProfile

# Where neither the server, MODEL_WINDOWS nor the table knows the model.
ASSUMED_WINDOW = 128_000
ASSUMED_OUTPUT = 8_192
_OWN_FIRST = F("provider__name").asc(nulls_first=True)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """Limits in tokens, prices in US dollars per million tokens."""

    display_name: str
    window: int
    output: int
    input_price: float
    output_price: float
    cache_read: float  # share of the input price


# Prices and limits of November 2026; the API's list has no prices.
BUILT_IN = {
    "claude-fable-5-2": KnownModel("Claude Fable 5.2", 1_000_000, 128_000, 8, 40, 0.1),
    "claude-fable-5-1": KnownModel("Claude Fable 5.1", 1_000_000, 128_000, 10, 50, 0.025),
    "claude-opus-5-5": KnownModel("Claude Opus 5.5", 1_000_000, 128_000, 4, 20, 0.05),
    "claude-sonnet-5-5": KnownModel("Claude Sonnet 5.5", 1_000_000, 128_000, 2, 10, 0.05),
    "claude-haiku-5-5": KnownModel("Claude Haiku 5.5", 1_000_000, 128_000, 0.10, 0.50, 0.1),
    "claude-opus-5": KnownModel("Claude Opus 5", 1_000_000, 128_000, 5, 25, 0.1),
    "claude-sonnet-5": KnownModel("Claude Sonnet 5", 1_000_000, 128_000, 2, 10, 0.1),
    "claude-haiku-4-5": KnownModel("Claude Haiku 4.5", 200_000, 64_000, 1, 5, 0.1),
}
THINKING = ("claude-fable-5", "claude-opus-5", "claude-sonnet-5")  # by default
CACHE_WRITE = 1.25  # of the input price, for five minutes
PRICE_DIGITS = 6


def load_profile(name: str) -> ModelProfile:
    """The stored profile of a model, or an unsaved one from the table or from assumptions."""
    return read_row(ModelProfile, name=name) or _default(name)


def load_profiles(names: Collection[str]) -> dict[str, ModelProfile]:
    """`load_profile` of several models."""
    stored = {profile.name: profile for profile in ModelProfile.objects.filter(name__in=names)}
    return {name: stored.get(name) or _default(name) for name in names}


def _default(name: str) -> ModelProfile:
    provider, model_id = split_name(name)
    known = BUILT_IN.get(model_id)
    profile = ModelProfile(
        name=name,
        display_name=known.display_name if known else model_id,
        context_window=settings.MODEL_WINDOWS.get(name)
        or (known.window if known else ASSUMED_WINDOW),
        max_output=known.output if known else ASSUMED_OUTPUT,
        token_factor=Factor.start(name).value,
        base_url="" if provider else model_server.server_url(),
        web_tools=not (provider or model_server.server_url()),
        show_thinking=does_model_think(name, model_server.server_url()),
    )
    if known:
        profile.input_price = known.input_price
        profile.output_price = known.output_price
        # Rounded: 0.1 times 0.1 is a little more than 0.01.
        profile.cache_read_price = round(known.input_price * known.cache_read, PRICE_DIGITS)
        profile.cache_write_price = round(known.input_price * CACHE_WRITE, PRICE_DIGITS)
    return profile


def has_prices(profile: ModelProfile) -> bool:
    """Whether a model's price is known: where all are 0, by the demo or an administrator only."""
    return is_demo(profile.name) or profile.edited or profile.prices != Prices()


def is_demo(name: str) -> bool:
    """Whether the demo server answers for a model."""
    return settings.DEMO and not split_name(name)[0]


def find_default_name(user_id: int) -> str:
    """The model of somebody's new conversations: their own choice, their group's or the site's;
    else any that they may use."""
    rights = load_rights(user_id)
    for name in rights.default_models:
        if is_offered(user_id, name):
            return name
    name = _find_site_default()
    if rights.may_use_model(name):
        return name
    return next((each.name for each in list_offered(user_id)), name)


def _find_site_default() -> str:
    """Of a provider, where only the demo would answer otherwise."""
    if not is_demo(settings.DEFAULT_MODEL):
        return settings.DEFAULT_MODEL
    of_providers = _offered().exclude(provider=None).order_by("name")
    return of_providers.values_list("name", flat=True).first() or settings.DEFAULT_MODEL


def does_model_think(model_id: str, base_url: str) -> bool:
    """Whether a model thinks without being asked to; those of Anthropic's own API are known."""
    return not base_url and model_id.startswith(THINKING)


def limits_for(profile: ModelProfile, conversation: Conversation) -> Limits:
    """Sizes for a conversation with a model: the budget is never more than the window."""
    budget = conversation.context_budget or default_budget(conversation)
    return Limits(
        window=profile.context_window,
        max_output=profile.max_output,
        budget=min(profile.context_window, budget),
        factor=Factor(profile.token_factor, profile.token_samples),
    )


def default_budget(conversation: Conversation) -> int:
    """Tokens of the budget that its project, or else the site, gives a conversation."""
    of_project: int | None = conversation.project_parts.get("budget")
    return of_project or settings.CONTEXT_BUDGET


def reply_settings_for(profile: ModelProfile, conversation: Conversation) -> ReplySettings:
    """What the user has chosen, as far as a model has it: another one may answer by now."""
    chosen = conversation.reply_settings
    effort = chosen.get("effort", "")
    thinking = {"on": profile.thinking_on, "off": profile.thinking_off}
    return ReplySettings(
        effort=effort if effort in profile.efforts else "",
        thinking=thinking.get(chosen.get("thinking", ""), ""),
        temperature=chosen.get("temperature") if profile.temperature else None,
    )


def list_offered(user_id: int) -> list[ModelProfile]:
    """The models of somebody's picker, which are those that they may use: of the site's own server,
    then those of providers. In the first seconds of a new site nobody has read the server's list:
    then the default model alone."""
    offered = list(_offered().order_by(_OWN_FIRST, "name"))
    if not offered and not ModelProfile.objects.exists():
        offered = [load_profile(settings.DEFAULT_MODEL)]
    rights = load_rights(user_id)
    return [each for each in offered if rights.may_use_model(each.name)]


def is_offered(user_id: int, name: str) -> bool:
    """Whether somebody's conversation can be given a model."""
    return load_rights(user_id).may_use_model(name) and _offered().filter(name=name).exists()


def _offered() -> QuerySet[ModelProfile]:
    own = Q(provider=None, base_url=model_server.server_url())
    return ModelProfile.objects.filter(own | Q(provider__enabled=True), enabled=True)
