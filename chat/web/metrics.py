"""HTTP: what a monitoring system reads, in the text format of Prometheus."""

import hmac
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Case, Count, QuerySet, When
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agent.model_names import join_name
from chat.db import outages
from chat.engine.model_server import get_counter
from chat.live.runner import runner
from chat.metrics import REGISTRY
from chat.models import Compaction, Turn
from chat.models.notices import Notice
from spending.models import ModelCall
from spending.queries import add_up, fold, load_held

DAY = timedelta(days=1)
OF_SUMMARIES = {ModelCall.Kind.SUMMARY, ModelCall.Kind.PREPARATION, ModelCall.Kind.CORRECTION}


@require_GET
def exposition(request: HttpRequest) -> HttpResponse:
    """For staff, and for anyone with the METRICS_TOKEN."""
    if not _has_token(request) and not (request.user.is_active and request.user.is_staff):
        raise PermissionDenied
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _has_token(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    token = settings.METRICS_TOKEN
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


class _Site(Collector):
    """What is looked up when somebody asks: rows, and the state of this process."""

    def collect(self) -> Iterable[Metric]:
        # Of the last day, for more would read whole tables each time. They can also fall: gauges.
        since = timezone.now() - DAY
        outcomes: Counter[tuple[str, ...]] = Counter()
        modes: Counter[str] = Counter()
        turns = Turn.objects.filter(created_at__gte=since)
        for (kind, status, notice), number in _count(turns, "kind", "status", "notice").items():
            outcomes[kind, status] += number
            modes[notice] += number
        words = "Turns of the last 24 hours by outcome."
        yield _gauge("turns", words, outcomes, "kind", "status")
        words = "Turns of the last 24 hours in a degraded mode."
        stored = {(mode,): modes[mode] for mode in Notice if mode is not Notice.UNSTORED}
        yield _gauge("degraded_turns", words, stored, "mode")

        compactions = Compaction.objects.filter(created_at__gte=since)
        words = "Compactions of the last 24 hours; the engine is the method that wrote the summary."
        # As `Compaction.occasion`; the labels are older than the columns.
        why = Case(When(trigger="", then="origin"), default="trigger")
        counted = _count(compactions.annotate(why=why), "status", "why", "method")
        yield _gauge("compactions", words, counted, "status", "trigger", "engine")
        yield from _measure_spending(since)

        words = "1: tokens are estimated from bytes."
        yield _gauge("vocabulary_missing", words, {(): get_counter().encoding is None})
        words = "1: a service is away, and the site works without it."
        away = {(each.service,): each.is_ongoing for each in outages.ALL}
        yield _gauge("outage", words, away, "service")
        words = "How often a service went away."
        begun = CounterMetricFamily("everlong_outages", words, labels=["service"])
        for each in outages.ALL:
            begun.add_metric([each.service], each.count)
        yield begun
        words = "Turns that wait to begin."
        yield _gauge("waiting_turns", words, {(): runner.admission.count_waiting()})


REGISTRY.register(_Site())


def _measure_spending(since: datetime) -> Iterable[Metric]:
    """From the rows of model calls, which stay when conversations go."""
    calls = ModelCall.objects.filter(opened_at__gte=since)
    found = add_up(calls, "provider", "model", "kind", "state")
    ended = fold(found, lambda provider, model, kind, state: (kind, state))
    counts = {key: sums.calls for key, sums in ended.items()}
    words = "Model calls of the last 24 hours that have ended; the cost of lost ones is estimated."
    yield _gauge("model_calls", words, counts, "kind", "state")
    spent = fold(found, lambda provider, model, kind, state: (join_name(provider, model), kind))
    dollars = {key: float(sums.dollars) for key, sums in spent.items()}
    words = "What they cost."
    yield _gauge("model_call_dollars", words, dollars, "model", "kind")
    words = "Of that, summaries of the last 24 hours."
    summaries = sum(each for (_, kind), each in dollars.items() if kind in OF_SUMMARIES)
    yield _gauge("compaction_dollars", words, {(): summaries})
    held = load_held()
    words = "Model calls that are open at this moment."
    yield _gauge("open_model_calls", words, {(): held.calls})
    words = "What they may cost at most."
    yield _gauge("held_dollars", words, {(): float(held.dollars)})


def _count(rows: QuerySet[Turn] | QuerySet[Compaction], *fields: str) -> dict[tuple[str, ...], int]:
    """How many rows have the same values of these fields, by the values."""
    counted = rows.order_by().values_list(*fields).annotate(Count("pk"))
    return {tuple(values): number for *values, number in counted}


def _gauge(name: str, words: str, samples: Mapping[Any, float], *labels: str) -> GaugeMetricFamily:
    """`samples`: numbers by tuples of the labels' values."""
    family = GaugeMetricFamily(f"everlong_{name}", words, labels=labels)
    for values, number in samples.items():
        family.add_metric(values, number)
    return family
