"""Counting what is left beside shipping, and what that costs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from toolog.pipeline import Options, Pipeline
from toolog.retention import Policies
from toolog.shipper.census import Census
from toolog.spool import Spool


class Endless:
    """Stands for a pipeline whose backlog takes longer to count than anybody waits."""

    def __init__(self) -> None:
        self.stopped = False

    def in_spool(self, stop: Callable[[], bool]) -> dict[str, int]:
        """Count until told to stop."""
        while not stop():
            time.sleep(0.005)
        self.stopped = True
        return {"out": 1}


class Quick:
    """Stands for a pipeline with nothing left."""

    def in_spool(self, stop: Callable[[], bool]) -> dict[str, int]:
        """Return a figure."""
        return {"out": 7}


def test_nobody_waits_longer_for_a_count_than_said() -> None:
    """A count that takes too long gives the last figure, or none; it ends when the thread is told to."""
    endless = Endless()
    census = Census(lambda: cast("Any", endless), 1.0)
    census.start()
    began = time.monotonic()
    assert census.take(0.1) == {}
    assert time.monotonic() - began < 30  # it never comes to its end
    census.stop()
    while census.alive:
        assert time.monotonic() - began < 60
        time.sleep(0.01)
    assert endless.stopped
    assert census.figures == {}


def test_figures_of_a_replaced_pipeline_do_not_count() -> None:
    """After a reload a count that is under way is given up, and the new pipeline's figures are taken."""
    pipelines: list[Any] = [Endless()]
    census = Census(lambda: pipelines[-1], 60.0)
    census.start()
    try:
        assert census.take(0.05) == {}
        pipelines.append(Quick())
        assert census.take(10) == {"out": 7}
        pipelines.append(Endless())
        assert census.figures == {}
    finally:
        census.stop()


def test_asking_again_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not ship reads its backlog once, however often it asks; what another process
    acknowledged since is not counted any more.
    """
    spool = Spool(tmp_path / "spool")
    writer = spool.writer()
    for _ in range(50):
        writer.append_many([(20, 0, b"x" * 1000)] * 100)
    options = Options(
        tmp_path / "spool", {"out": {"type": "memory"}}, Policies.from_config({}, ["out"]), ship="none"
    )
    pipeline = Pipeline(options)
    read = 0
    pread = os.pread

    def spy(fd: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = pread(fd, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr("toolog.spool.backlog.os.pread", spy)
    assert pipeline.in_spool() == {"out": 5000}
    assert read > 5_000_000
    read = 0
    assert pipeline.in_spool() == {"out": 5000}
    assert read < 100_000
    reader = spool.reader("out")
    reader.ack(reader.read(max_records=10)[-1])
    writer.append(20, 0, b"y")
    read = 0
    assert pipeline.in_spool() == {"out": 4991}
    assert read < 200_000
    pipeline.finish()
