"""Profiles of the models that answer."""

from decimal import Decimal

from django.db import models

from agent.messages import Usage
from agent.model_names import split_name
from agent.tokens import Prices
from chat.models.provider import Provider

SMALL_WINDOW = 32_000  # tokens
SMALLEST_WINDOW = 16_000  # of a model that is offered


class ModelProfile(models.Model):
    """What is known about a model: limits in tokens, prices in US dollars per million tokens.

    Filled from the server's model list or the built-in table; edited values are kept.
    """

    name = models.CharField(
        max_length=200,
        unique=True,
        help_text="The id sent to the API; after a provider's name and two colons, if it is one's "
        "of the table of providers.",
    )
    provider = models.ForeignKey(
        Provider, null=True, blank=True, on_delete=models.CASCADE, related_name="profiles"
    )
    display_name = models.CharField(max_length=200, blank=True)
    context_window = models.PositiveIntegerField()
    max_output = models.PositiveIntegerField()
    input_price = models.FloatField(default=0.0)
    output_price = models.FloatField(default=0.0)
    cache_read_price = models.FloatField(default=0.0)
    cache_write_price = models.FloatField(default=0.0)
    token_factor = models.FloatField(
        default=1.5, help_text="Real tokens per cl100k_base token; learned from reported usage."
    )
    token_samples = models.PositiveIntegerField(
        default=0, help_text="Replies that the factor was learned from."
    )
    base_url = models.URLField(
        blank=True,
        help_text="The site's own server that listed this model; its key is sent nowhere else.",
    )
    enabled = models.BooleanField(
        default=True,
        help_text="Offered in the model picker. One that is switched off answers nobody, in old "
        "conversations either, and writes no summaries or titles.",
    )
    tools = models.BooleanField(
        default=True, help_text="It can call tools; some local models cannot."
    )
    show_thinking = models.BooleanField(
        default=False, help_text="It always thinks; ask it to show a summary of its thinking."
    )
    web_tools = models.BooleanField(
        default=False, help_text="Its server runs Anthropic's web_search and web_fetch."
    )
    temperature = models.BooleanField(
        default=False,
        help_text="Its server takes a temperature: local ones do, Anthropic's API refuses it.",
    )
    efforts = models.JSONField(
        default=list, editable=False, help_text="The efforts to choose from, as its server says."
    )
    thinking_types = models.JSONField(
        default=list, editable=False, help_text="What thinking can be set to, as its server says."
    )
    edited = models.BooleanField(
        default=False, help_text="Changed by an administrator; a refresh leaves it alone."
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        provider, model_id = split_name(self.name)
        label = self.display_name or model_id
        return f"{label} · {provider}" if provider else label

    @property
    def thinking_on(self) -> str:
        """The type that asks it to think; "" where nothing can be chosen."""
        return next((each for each in ("adaptive", "enabled") if each in self.thinking_types), "")

    @property
    def thinking_off(self) -> str:
        """The type that asks it not to think; "" where it cannot be told."""
        return "disabled" if "disabled" in self.thinking_types else ""

    @property
    def is_switched_off(self) -> bool:
        """Whether an administrator did that. One whose window is too small to be offered may go on
        where it is the site's default, or a conversation has it already."""
        return not self.enabled and (self.edited or self.context_window >= SMALLEST_WINDOW)

    @property
    def has_small_window(self) -> bool:
        """Whether summaries come often and hold little."""
        return self.context_window < SMALL_WINDOW

    @property
    def prices(self) -> Prices:
        return Prices.of(
            self.input_price, self.output_price, self.cache_read_price, self.cache_write_price
        )

    def price(self, usage: Usage) -> Decimal:
        """US dollars for one call's usage."""
        return self.prices.dollars(usage)
