"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xskip.errors import XskipError

__all__ = ["gauges_text"]


def gauges_text(gauges: Mapping[str, tuple[str, Iterable[tuple[str | None, float]]]]) -> str:
    """Return gauges as text: for each name a sentence, and the values with their datasets; None is no dataset."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ImportError as error:
        raise XskipError(
            "metrics need the package prometheus-client", hint="install it, or xskip[prometheus]"
        ) from error
    registry = CollectorRegistry()
    for name, (sentence, values) in gauges.items():
        known = list(values)
        of_datasets = not known or known[0][0] is not None
        gauge = Gauge(name, sentence, ["dataset"] if of_datasets else [], registry=registry)
        for dataset, value in known:
            (gauge if dataset is None else gauge.labels(dataset.encode(errors="replace").decode())).set(value)
    return str(generate_latest(registry).decode())
