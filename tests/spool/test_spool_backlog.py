"""Counting what a sink has still to acknowledge."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog.spool import Spool, pending

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 40)),
        st.tuples(st.just("ack"), st.integers(1, 40)),
        st.tuples(st.sampled_from(["seal", "count", "count on disk", "forget", "damage"]), st.just(0)),
    ),
    max_size=30,
)


@given(steps=STEPS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counting_is_right_after_whatever_happened(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """However it was written, acknowledged, damaged and counted before: the count is that of the frames that
    are there, for the reader itself and for somebody who reads the cursor from the disk. (What is damaged
    after it was counted stays counted until it is passed.)
    """
    directory = tmp_path_factory.mktemp("spool")
    spool = Spool(directory)
    writer, reader, other = spool.writer(), spool.reader("s"), spool.reader("s")
    counted = False
    for step, number in steps:
        counted = counted or step.startswith("count")
        if step == "write":
            for at in range(number):
                writer.append(20, 0, b"x" * (at * 7919 % 3000))
        elif step == "ack":
            frames = reader.read(max_records=number)
            if frames:
                reader.ack(frames[-1])
        elif step == "seal":
            writer.seal()
        elif step == "forget":
            reader.forget()
        elif step == "damage":
            for segment in () if counted else spool.segments():
                if segment.size > 500:
                    with segment.path.open("r+b") as file:
                        file.seek(segment.size - 50)
                        file.write(b"\0" * 10)
        elif step == "count":
            reader.pending()
        else:
            other.reload()
            other.pending()
    expected = len(list(pending(directory, "s")))
    other.reload()
    assert other.pending() == reader.pending() == spool.reader("s").pending() == expected


def test_counting_can_be_stopped_and_goes_on(directory: Path) -> None:
    """When `stop` says yes, what was counted so far is returned; the next call has all."""
    spool = Spool(directory)
    writer = spool.writer()
    for _ in range(40):
        writer.append(20, 0, b"x" * 200_000)
    reader = spool.reader("s")
    asked = iter([False, False, True])
    first = reader.pending(lambda: next(asked, True))
    assert 0 < first < 40
    assert reader.pending() == 40


def test_counting_does_not_keep_the_reader_from_reading(directory: Path) -> None:
    """While one thread counts, another reads and acknowledges."""
    spool = Spool(directory)
    writer = spool.writer()
    for _ in range(30):
        writer.append(20, 0, b"x" * 200_000)
    reader = spool.reader("s")
    counting, read = threading.Event(), threading.Event()

    def stop() -> bool:
        counting.set()
        assert read.wait(60), "the reader is held up"
        return False

    thread = threading.Thread(target=reader.pending, args=(stop,))
    thread.start()
    assert counting.wait(60)
    frames = reader.read(max_records=3)
    assert reader.ack(frames[-1])
    read.set()
    thread.join()
    assert reader.pending() == 27
