"""The figures of a shipper: what `--metrics` takes, and that the documentation lists them all."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from toolog import counters
from toolog.errors import ConfigError
from toolog.pipeline import progress
from toolog.shipper import metrics
from toolog.shipper.metrics import METRICS, parse_address

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "ship.md"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9464", ("127.0.0.1", 9464)),
        ("0", ("127.0.0.1", 0)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:9", ("::1", 9)),
    ],
)
def test_address(text: str, address: tuple[str, int]) -> None:
    """A port alone is on loopback; a host may stand before it."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "web", "host:", "70000", "-1", "1:2:x", "٣"])
def test_what_is_no_address(text: str) -> None:
    """What has no port in it is an error that shows one."""
    with pytest.raises(ConfigError, match="PORT or HOST:PORT"):
        parse_address(text)


def test_the_page_lists_every_metric_and_no_other() -> None:
    """The table in the documentation has the names, kinds, labels and words of the code."""
    rows = re.findall(r"^\| `(toolog_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [
        (one.name, one.kind, ", ".join(f"`{label}`" for label in one.labels), one.help) for one in METRICS
    ]


def test_a_missing_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without prometheus-client the error says how to install it."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigError, match=r"toolog\[metrics\]"):
        metrics.serve(None, ("127.0.0.1", 0))  # type: ignore[arg-type]


def test_the_durations_of_writes_are_counted_by_their_bounds() -> None:
    """Each bucket counts the writes that took no longer; the sum is in seconds; another sink has its own."""
    counters.reset()
    for seconds in (0.001, 0.005, 0.03, 0.2, 700.0):
        progress.note_write("out", seconds)
    progress.note_write("other", 1.0)
    buckets, total = progress.histogram("out")
    found = dict(buckets)
    assert (found["0.005"], found["0.05"], found["0.25"], found["60.0"], found["+Inf"]) == (2, 3, 4, 4, 5)
    assert total == pytest.approx(700.236, abs=0.01)
    assert [bound for bound, _ in buckets] == [*map(repr, progress.BOUNDS), "+Inf"]
