"""HTTP: what a monitoring system reads, in the text format of Prometheus."""

import hmac
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Case, Count, QuerySet, Sum, When
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from chat import metrics
from chat.db import outages
from chat.engine.model_server import get_counter
from chat.live.runner import runner
from chat.models import Compaction, Turn
from chat.models.notices import Notice

Sample = tuple[Mapping[str, str], float]
DAY = timedelta(days=1)


@require_GET
def exposition(request: HttpRequest) -> HttpResponse:
    """For staff, and for anyone with the METRICS_TOKEN."""
    if not _has_token(request) and not (request.user.is_active and request.user.is_staff):
        raise PermissionDenied
    text = "\n".join(line for family in _families() for line in family)
    return HttpResponse(text + "\n", content_type="text/plain; version=0.0.4; charset=utf-8")


def _has_token(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    token = settings.METRICS_TOKEN
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


def _families() -> Iterable[list[str]]:
    # Of the last day, for more would read whole tables each time. They can also fall: gauges.
    since = timezone.now() - DAY
    turns = Turn.objects.filter(created_at__gte=since)
    outcomes = _counts(turns, kind="kind", status="status", notice="notice")
    by_outcome = _added_up(outcomes, "kind", "status")
    yield _family("turns", "gauge", "Turns of the last 24 hours by outcome.", by_outcome)
    yield _family(
        "degraded_turns",
        "gauge",
        "Turns of the last 24 hours in a degraded mode.",
        _degraded(outcomes),
    )
    # As `Compaction.occasion`; the labels are older than the columns.
    why = Case(When(trigger="", then="origin"), default="trigger")
    recent = Compaction.objects.filter(created_at__gte=since)
    compactions = recent.annotate(why=why)
    yield _family(
        "compactions",
        "gauge",
        "Compactions of the last 24 hours by outcome; the engine is the rung that wrote the "
        "summary.",
        _counts(compactions, status="status", trigger="why", engine="method"),
    )
    cost = compactions.aggregate(cost=Sum("cost"))["cost"] or 0.0
    help_text = "What compactions of the last 24 hours cost."
    yield _family("compaction_dollars", "gauge", help_text, [({}, cost)])
    estimated = get_counter().encoding is None
    yield _family(
        "vocabulary_missing", "gauge", "1: tokens are estimated from bytes.", [({}, estimated)]
    )
    lasting = [({"service": each.service}, each.is_ongoing) for each in outages.ALL]
    yield _family(
        "outage", "gauge", "1: a service is away, and the site works without it.", lasting
    )
    begun = [({"service": each.service}, each.count) for each in outages.ALL]
    yield _family("outages_total", "counter", "How often a service went away.", begun)
    waiting = runner.admission.count_waiting()
    yield _family("waiting_turns", "gauge", "Turns that wait to begin.", [({}, waiting)])
    yield _histogram("turn_wait_seconds", "How long turns waited to begin.", metrics.TURN_WAITS)
    for fault, help_text in metrics.WORDS.items():
        yield _family(
            f"{fault}_total", "counter", help_text, [({}, metrics.read_fault_count(fault))]
        )


def _counts(rows: QuerySet[Turn] | QuerySet[Compaction], **labels: str) -> list[Sample]:
    """How many rows there are, by labels and the columns that they stand for."""
    counted = rows.order_by().values_list(*labels.values()).annotate(Count("pk"))
    return [(dict(zip(labels, row, strict=False)), row[-1]) for row in counted]


def _added_up(samples: Iterable[Sample], *labels: str) -> list[Sample]:
    """By these labels alone."""
    sums: Counter[tuple[str, ...]] = Counter()
    for given, number in samples:
        sums[tuple(given[label] for label in labels)] += int(number)
    return [(dict(zip(labels, values, strict=True)), number) for values, number in sums.items()]


def _degraded(outcomes: Iterable[Sample]) -> list[Sample]:
    found = {labels["notice"]: number for labels, number in _added_up(outcomes, "notice")}
    stored = [mode for mode in Notice if mode is not Notice.UNSTORED]
    return [({"mode": mode}, found.get(mode, 0)) for mode in stored]


def _family(name: str, kind: str, help_text: str, samples: Iterable[Sample]) -> list[str]:
    name = f"everlong_{name}"
    lines = [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{{{pairs}}} {float(value):g}" if pairs else f"{name} {float(value):g}")
    return lines


def _histogram(name: str, help_text: str, histogram: metrics.Histogram) -> list[str]:
    name = f"everlong_{name}"
    buckets = [*histogram.list_buckets(), ("+Inf", histogram.count)]
    return [
        f"# HELP {name} {help_text}",
        f"# TYPE {name} histogram",
        *(f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in buckets),
        f"{name}_sum {histogram.sum:g}",
        f"{name}_count {histogram.count}",
    ]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
