"""What waits for a sink that whoever ships the spool does not serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spool.frames import write
from toolog.errors import SpoolError
from toolog.spool import Spool, SpoolReader
from toolog.spool.claims import forget, read_claims, take_claims


def read(reader: SpoolReader) -> list[bytes]:
    """Read and acknowledge everything."""
    frames = reader.read()
    if frames:
        reader.ack(frames[-1])
    return [frame.payload for frame in frames]


@pytest.mark.parametrize("acknowledged", [0, 1])
def test_a_segment_stays_that_a_sink_left_unread(directory: Path, acknowledged: int) -> None:
    """A sink that went in the middle, or before it acknowledged anything, finds its records when it is
    back.
    """
    spool = Spool(directory)
    writer = spool.writer()
    write(writer, "a", "b")
    writer.close()
    assert spool.reserve("down")
    if acknowledged:
        down = spool.reader("down")
        down.ack(down.read()[0])
    out = spool.reader("out")
    claims = take_claims(directory, ["out"])
    assert [(claim.sink, claim.pending(), claim.waits()) for claim in claims] == [
        ("down", 2 - acknowledged, True)
    ]
    assert read(out) == [b"a", b"b"]
    assert spool.retire([out, *claims]) == 0
    assert take_claims(directory, ["out", "down"]) == []
    down = spool.reader("down")
    assert read(down) == [b"a", b"b"][acknowledged:]
    assert spool.retire([out, down]) == 1


def test_what_comes_after_a_sink_went_is_not_for_it(directory: Path) -> None:
    """Segments that are written later are not kept for it, not even by the next shipper."""
    spool = Spool(directory)
    spool.reserve("down")
    out = spool.reader("out")
    assert [claim.waits() for claim in take_claims(directory, ["out"])] == [False]
    writer = spool.writer()
    write(writer, "a")
    writer.close()
    claims = take_claims(directory, ["out"])
    assert [claim.pending() for claim in claims] == [0]
    read(out)
    assert spool.retire([out, *claims]) == 1


def test_a_sink_that_went_twice_claims_what_came_between(directory: Path) -> None:
    """When it is served again its claim ends; what waits when it goes the second time is kept."""
    spool = Spool(directory)
    spool.reserve("down")
    take_claims(directory, ["out"])
    take_claims(directory, ["out", "down"])
    writer = spool.writer()
    write(writer, "a")
    writer.close()
    (claim,) = take_claims(directory, ["out"])
    assert claim.pending() == 1


def test_what_only_unserved_sinks_wait_for_is_given_up_first(directory: Path) -> None:
    """At the bound an ERROR that waits for an unserved sink goes before an INFO that a served one needs, is
    counted, and room for an INFO is made that way; what stays keeps its place for both.
    """
    spool = Spool(directory)
    spool.reserve("down")
    writer = spool.writer()
    write(writer, "x" * 4000, levelno=40)
    writer.seal()
    write(writer, "a", levelno=20)
    writer.close()
    out = spool.reader("out")
    (claim,) = take_claims(directory, ["out"])
    out.ack(out.read(max_records=1)[0])
    given = spool.drop_oldest(1000, [out], below=20, last=[claim])
    assert given.frames == {40: 1}
    assert given.by_sink == {"out": {}, "down": {40: 1}}
    assert given.freed > 4000
    assert claim.pending() == 1
    assert read(out) == [b"a"]


def test_what_is_carried_over_stays_claimed(directory: Path) -> None:
    """A segment that loses some of its records is still the unserved sink's, and the next shipper's claim."""
    spool = Spool(directory)
    spool.reserve("down")
    writer = spool.writer()
    write(writer, "x" * 4000, levelno=10)
    write(writer, "a", levelno=40)
    writer.close()
    out = spool.reader("out")
    (claim,) = take_claims(directory, ["out"])
    read(out)
    spool.drop_oldest(1000, [out], last=[claim])
    assert claim.pending() == 1
    (claim,) = take_claims(directory, ["out"])
    assert claim.pending() == 1
    assert spool.retire([out, claim]) == 0
    take_claims(directory, ["down"])
    assert read(spool.reader("down")) == [b"a"]


def test_forgetting_gives_up_what_waits_and_says_how_much(directory: Path) -> None:
    """After `forget` the segment goes, also for a shipper that knew the claim; served sinks are refused, and
    without the lock so are sinks that whoever has it may serve.
    """
    spool = Spool(directory)
    writer = spool.writer()
    write(writer, "a", "b")
    writer.close()
    spool.reserve("down")
    out = spool.reader("out")
    with pytest.raises(SpoolError, match="serves the sink 'down'"):
        forget(directory, "down", ["out"], is_shipper=False)
    (claim,) = take_claims(directory, ["out"])
    with pytest.raises(SpoolError, match="down"):
        forget(directory, "donw", ["out"], is_shipper=True)
    read(out)
    assert spool.retire([out, claim]) == 0
    assert forget(directory, "down", ["out"], is_shipper=False) == 2
    assert claim.is_given_up()
    assert read_claims(directory, ["out"]) == []
    assert spool.retire([out]) == 1


def test_looking_at_claims_changes_nothing(directory: Path) -> None:
    """read_claims leaves every file as it was."""
    spool = Spool(directory)
    writer = spool.writer()
    write(writer, "a")
    spool.reserve("down")
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert [claim.sink for claim in read_claims(directory, ["out"])] == ["down"]
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before
