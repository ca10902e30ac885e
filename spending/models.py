"""What model calls cost, and what may be spent. Amounts are US dollars."""

from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

# Of stored amounts: a token of the cheapest models costs some billionths of a dollar.
DECIMALS = 9
MONEY_DIGITS = 18


class ModelCall(models.Model):
    """One request to a server of models. It is opened before the request goes out, with the most
    that this can cost, and ends once: settled with what the server reported, or lost with an
    estimate. It outlives its conversation, and its person, whose name it then no longer has.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer"
        TOOL_ROUND = "tool_round"  # a later request of a turn, with the results of tools
        SUMMARY = "summary"
        PREPARATION = "preparation"
        CORRECTION = "correction"  # of a summary that did not pass its checks
        TITLE = "title"
        COUNT = "count"
        PROBE = "probe"

    class State(models.TextChoices):
        OPEN = "open"
        SETTLED = "settled"
        LOST = "lost"  # stopped, cut off or killed: an estimate

    opened_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Who pays; empty: an account that was deleted.",
    )
    group = models.ForeignKey(
        Group,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The cost centre: the group whose budget it came from, or the person's first.",
    )
    provider = models.CharField(
        max_length=100, blank=True, help_text="Of the table of providers; empty: the site's server."
    )
    model = models.CharField(max_length=200)
    kind = models.CharField(max_length=12, choices=Kind)
    # Plain values: the rows that they name may be gone.
    conversation = models.UUIDField(null=True, blank=True)
    turn = models.BigIntegerField(null=True, blank=True)
    message = models.BigIntegerField(null=True, blank=True)
    compaction = models.BigIntegerField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    bound = models.DecimalField(
        max_digits=MONEY_DIGITS,
        decimal_places=DECIMALS,
        default=Decimal(0),
        help_text="US dollars: the most that it can cost; held from budgets while it is open.",
    )
    bound_tokens = models.PositiveBigIntegerField(
        default=0, help_text="The same in tokens, read and written."
    )
    input_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(
        default=0, help_text="Written to the prompt cache for five minutes."
    )
    cache_write_1h_tokens = models.PositiveBigIntegerField(
        default=0, help_text="Written to the prompt cache for an hour."
    )
    output_tokens = models.PositiveBigIntegerField(default=0)
    web_searches = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(
        max_digits=MONEY_DIGITS,
        decimal_places=DECIMALS,
        default=Decimal(0),
        help_text="US dollars, at the prices of the time; web searches included.",
    )
    search_cost = models.DecimalField(
        max_digits=MONEY_DIGITS,
        decimal_places=DECIMALS,
        default=Decimal(0),
        help_text="US dollars: the web searches of it.",
    )
    request_id = models.CharField(max_length=100, blank=True, help_text="The API's own.")

    class Meta:
        indexes = [
            models.Index(fields=["opened_at"], name="call_time"),
            models.Index(fields=["user", "opened_at"], name="call_user"),
            models.Index(fields=["conversation"], name="call_conversation"),
            models.Index(fields=["turn"], name="call_turn"),
            models.Index(
                fields=["compaction"],
                condition=Q(compaction__isnull=False),
                name="call_compaction",
            ),
            models.Index(fields=["opened_at"], condition=Q(state="open"), name="call_open"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.model} ({self.state})"


class Period(models.TextChoices):
    """For how long a budget lasts, by the site's clock."""

    DAY = "day"
    MONTH = "month"


class Unit(models.TextChoices):
    """What a budget counts."""

    MONEY = "money"
    TOKENS = "tokens"


class Budget(models.Model):
    """What may be spent in a period: by the whole site together, where it has neither a group nor a
    person; by each member of a group; or by one person, which counts instead of the groups'."""

    group = models.ForeignKey(
        Group, null=True, blank=True, on_delete=models.CASCADE, related_name="budgets"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="budgets",
    )
    period = models.CharField(max_length=5, choices=Period)
    unit = models.CharField(max_length=6, choices=Unit)
    limit = models.DecimalField(
        max_digits=MONEY_DIGITS,
        decimal_places=DECIMALS,
        null=True,
        blank=True,
        help_text="US dollars or tokens. 0: nothing may be spent; empty: unlimited.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(group__isnull=True) | Q(user__isnull=True), name="budget_has_one_scope"
            ),
            models.UniqueConstraint(
                fields=["period", "unit"],
                condition=Q(group__isnull=True, user__isnull=True),
                name="one_budget_of_the_site",
            ),
            models.UniqueConstraint(
                fields=["group", "period", "unit"], name="one_budget_per_group"
            ),
            models.UniqueConstraint(
                fields=["user", "period", "unit"], name="one_budget_per_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit} a {self.period} of {self.user or self.group or 'the site'}"


class BudgetCounter(models.Model):
    """What a person, or the whole site, has spent and holds in one period: a sum of calls that is
    kept, so that one conditional update decides. In billionths of a dollar, or in tokens: whole
    numbers, which both databases compare exactly."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Empty: the whole site.",
    )
    period = models.CharField(max_length=5, choices=Period)
    starts = models.DateField()
    unit = models.CharField(max_length=6, choices=Unit)
    spent = models.BigIntegerField(default=0)
    held = models.BigIntegerField(default=0, help_text="By calls that are open.")
    told = models.PositiveSmallIntegerField(
        default=0, help_text="The share, in per cent, of which its person was told last."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["period", "starts", "unit"],
                condition=Q(user__isnull=True),
                name="one_counter_of_the_site",
            ),
            models.UniqueConstraint(
                fields=["user", "period", "starts", "unit"], name="one_counter_per_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit} since {self.starts} of {self.user or 'the site'}"
