"""A search server that hangs, as the program that ships to it sees it."""

from __future__ import annotations

import importlib
import sys

import pytest

from tests.services.opensearch import OpenSearch
from tests.services.shared import ROOT


@pytest.mark.slow
@pytest.mark.timeout(300)  # on a busy machine the server needs its time for what was waiting
def test_server_that_hangs_for_ten_seconds(opensearch: OpenSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server hangs, a call takes as long as before and memory stays; afterwards each record that
    was made is in the index, by the server's own count.
    """
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    got = importlib.import_module("outage").measure_outage(10, 10_000, well=5)
    assert got["found"] == got["made"] > 15_000
    assert got["dropped"] == 0
    assert got["memory_mib"] < 64
    # On a busy machine single calls take long whatever the sink does; to wait for one takes seconds.
    assert got["hung_p99"] <= max(2 * got["well_p99"], 100_000), got
