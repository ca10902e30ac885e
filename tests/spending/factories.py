"""Rows of spending for tests: `make_call("0.25", user=ada)` is an answer that cost so much."""

from decimal import Decimal
from typing import Any

from django.utils import timezone

from spending.models import ModelCall


def make_call(dollars: str | Decimal = "0.01", **values: Any) -> ModelCall:
    """A call that was settled, just now where `opened_at` says nothing else."""
    defaults: dict[str, Any] = {
        "opened_at": timezone.now(),
        "model": "test-model",
        "kind": ModelCall.Kind.ANSWER,
        "state": ModelCall.State.SETTLED,
        "input_tokens": 1_000,
        "output_tokens": 100,
        "cost": Decimal(dollars),
    }
    return ModelCall.objects.create(**defaults | values)
