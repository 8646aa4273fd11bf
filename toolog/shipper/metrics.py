"""The figures of a shipper in Prometheus' text format, over HTTP.

``METRICS`` is the table of names; docs/reference/ship.md shows it. The client library is imported when the
server starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from toolog import counters
from toolog.errors import ConfigError
from toolog.pipeline import progress
from toolog.pipeline.crew import worst

if TYPE_CHECKING:
    from toolog.shipper import Shipper

Samples = list[tuple[dict[str, str], float]]
_PATIENCE = 0.5
"""Seconds that a scrape waits for a fresh count of the spool; then it is given the last one."""


class Metric(NamedTuple):
    """One row: ``source`` is the counter of toolog's that it shows, or empty."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    source: str = ""


METRICS = (
    Metric("toolog_read_total", "counter", ("sink",),
           "Accepted records that were read from the spool for a sink.", "read"),
    Metric("toolog_stored_total", "counter", ("sink",), "Records that a sink stored.", "stored"),
    Metric("toolog_dead_letters_total", "counter", ("sink",),
           "Records that a sink refused for good.", "dead_letters"),
    Metric("toolog_resent_total", "counter", ("sink",),
           "Dead letters that were sent again and stored.", "resent"),
    Metric("toolog_delivered_again_total", "counter", ("sink",),
           "Records that were handed to a sink more than once.", "delivered_again"),
    Metric("toolog_retries_total", "counter", ("sink",), "Writes that repeated others.", "retries"),
    Metric("toolog_timeouts_total", "counter", ("sink",),
           "Writes that did not return within the sink's timeout.", "timeouts"),
    Metric("toolog_in_spool", "gauge", ("sink",), "Records that a sink has not acknowledged yet."),
    Metric("toolog_dropped_total", "counter", ("reason", "level"), "Records that were given up.", "dropped"),
    Metric("toolog_damaged_total", "counter", ("sink",),
           "Frames of the spool that were damaged.", "damaged"),
    Metric("toolog_purged_total", "counter", ("sink",),
           "Records that were deleted because they were past their keep.", "purged"),
    Metric("toolog_internal_total", "counter", ("reason",), "Troubles of toolog's own.", "internal"),
    Metric("toolog_breaker_open", "gauge", ("sink",),
           "1 while a sink is sent nothing but probes (its breaker is open or half open), else 0."),
    Metric("toolog_policy_breaker_open", "gauge", ("sink", "policy"),
           "The same for each policy of a sink that is served by policy."),
    Metric("toolog_batch_seconds", "histogram", ("sink",), "How long the writes took that a sink answered."),
    Metric("toolog_last_success_timestamp_seconds", "gauge", ("sink",),
           "When a sink last answered a write, in seconds of the Unix epoch."),
    Metric("toolog_shipping", "gauge", (),
           "1 while this process ships the spool, 0 while it waits for another one to end."),
    Metric("toolog_spool_bytes", "gauge", (), "Bytes of all segments in the spool."),
    Metric("toolog_reloads_total", "counter", ("result",),
           "How often the configuration was read again: done, or refused.", "reloads"),
)  # fmt: skip


class Collector:
    """Makes the families of metrics from what toolog counted, whenever somebody asks."""

    def __init__(self, shipper: Shipper) -> None:
        self._shipper = shipper
        self._gauges: dict[str, Callable[[], Samples]] = {
            "toolog_in_spool": self._left,
            "toolog_breaker_open": self._breakers,
            "toolog_policy_breaker_open": self._policy_breakers,
            "toolog_last_success_timestamp_seconds": self._successes,
            "toolog_shipping": lambda: [({}, float(shipper.is_shipping))],
            "toolog_spool_bytes": self._bytes,
        }

    def collect(self) -> Iterator[Any]:
        """Yield one family for each row of the table."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for metric in METRICS:
            family: Any
            if metric.kind == "histogram":
                family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
                for sink in self._sinks():
                    buckets, total = progress.histogram(sink)
                    family.add_metric([sink], buckets, total)
            else:
                kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
                family = kind(metric.name, metric.help, labels=metric.labels)
                for labels, number in self._samples(metric):
                    family.add_metric([labels[name] for name in metric.labels], number)
            yield family

    def _samples(self, metric: Metric) -> Samples:
        if metric.name in self._gauges:
            return self._gauges[metric.name]()
        counted: Samples = [
            (dict(labels), float(number)) for labels, number in counters.table(metric.source).items()
        ]
        if metric.labels == ("sink",):  # a rate needs the zero that it began with
            seen = {labels["sink"] for labels, _ in counted}
            counted += [({"sink": sink}, 0.0) for sink in self._sinks() if sink not in seen]
        return counted

    def _sinks(self) -> list[str]:
        return list(self._shipper.pipeline.options.sinks)

    def _left(self) -> Samples:
        left = self._shipper.census.take(_PATIENCE)
        return [({"sink": sink}, float(number)) for sink, number in left.items()]

    def _breakers(self) -> Samples:
        states = worst(self._shipper.pipeline.shipping.crew.breakers())
        return [({"sink": sink}, float(states.get(sink, "closed") != "closed")) for sink in self._sinks()]

    def _policy_breakers(self) -> Samples:
        breakers = self._shipper.pipeline.shipping.crew.breakers()
        return [
            ({"sink": sink, "policy": policy}, float(state != "closed"))
            for (sink, policy), state in breakers.items()
            if policy
        ]

    def _successes(self) -> Samples:
        times = {sink: progress.last_success(sink) for sink in self._sinks()}
        return [({"sink": sink}, when) for sink, when in times.items() if when is not None]

    def _bytes(self) -> Samples:
        spool = self._shipper.pipeline.outlet.spool
        return [] if spool is None else [({}, float(spool.size()))]


def parse_address(text: str) -> tuple[str, int]:
    """Return (host, port) of ``PORT`` or ``HOST:PORT``; loopback without a host. Raises ConfigError."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"--metrics takes PORT or HOST:PORT, for example 9464, not {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def serve(shipper: Shipper, address: tuple[str, int]) -> str:
    """Serve a shipper's figures on a thread of its own; return the URL. Raises ConfigError."""
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
    except ImportError:
        raise ConfigError("--metrics needs prometheus-client: pip install 'toolog[metrics]'") from None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(shipper))
    ProcessCollector(registry=registry)
    host, port = address
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigError(f"--metrics cannot listen on {host}:{port}: {error.strerror or error}") from error
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{server.server_port}/metrics"
