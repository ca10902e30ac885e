"""What this process counts because no row has it; `chat.web.metrics` shows it."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

REGISTRY = CollectorRegistry()
disable_created_metrics()  # otherwise each has a second one, of the time when it was made
_counter = partial(Counter, namespace="everlong", registry=REGISTRY)

# Defects that did not stop the process, and limits that something came up against.
REQUEST_REPAIRED = _counter(
    "request_repaired", "Requests that broke a rule of the API and went out as text."
)
REQUEST_REFUSED = _counter(
    "request_refused", "Requests that broke a rule of the API and did not go out."
)
NOT_DRAWN = _counter(
    "not_drawn", "Content that was shown as its source, because drawing it failed."
)
USAGE_NOT_BELIEVED = _counter(
    "usage_not_believed",
    "Answers for which the server reported too few tokens to be true.",
)
STATEMENTS_LEFT = _counter(
    "statements_left", "Statements that left a summary, because all chapters were too large."
)
NOT_PREPARED = _counter(
    "not_prepared",
    "Summaries that were not prepared: over the tokens of a day, or a fault.",
)
PUSHES = _counter("pushes", "Pushes to browsers, by what became of them.", ["outcome"])
TURN_WAITS = Histogram(
    "turn_wait_seconds",
    "How long turns waited to begin.",
    namespace="everlong",
    registry=REGISTRY,
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 20),
)
