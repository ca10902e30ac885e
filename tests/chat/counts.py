"""What the process has counted (`chat.metrics`)."""

from prometheus_client import Counter, Histogram


def read_count(metric: Counter | Histogram) -> int:
    """How often, since the process started."""
    [family] = metric.collect()
    [count] = (each.value for each in family.samples if each.name.endswith(("_total", "_count")))
    return int(count)
