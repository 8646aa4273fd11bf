"""Segments that are for one sink alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.spool import SegmentName, Spool, addressee, naming, pending, segment
from toolog.spool.frame import build, salt_of


def put(directory: Path, sink: str, *payloads: bytes, level: int = 20) -> str:
    """Put a complete segment for one sink into a spool; return its name."""
    name = SegmentName(
        naming.stamp(1_800_000_000 * 10**9), "web-1", os.getpid(), "0123456789ab", 1, naming.address(sink)
    )
    text = str(name)
    parts = [build(salt_of(text), seq, level, 1, payload) for seq, payload in enumerate(payloads, 1)]
    segment.create(directory, name, b"".join(parts))
    return text


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=150))
def test_any_sinks_name_can_be_an_address(sink: str) -> None:
    """A name with an address reads back as it was written, and is that sink's and no other's."""
    name = SegmentName("20261129T131502123456Z", "web-1", 4711, "9f86d081884c", 1, naming.address(sink))
    assert SegmentName.parse(str(name)) == name
    assert addressee(str(name)) == name.to
    assert len(str(name)) < 250
    assert not naming.is_foreign(str(name), sink)
    assert naming.is_foreign(str(name), sink + "2")


def test_only_its_sink_reads_it_whatever_the_level(tmp_path: Path) -> None:
    """Its sink gets it although its policies want no such level; others pass it over, and count it not."""
    spool = Spool(tmp_path)
    put(tmp_path, "search", b"one", b"two", level=10)
    mine = spool.reader("search", keep=lambda levelno: levelno >= 40)
    other = spool.reader("archive")
    assert (mine.pending(), other.pending()) == (2, 0)
    assert [frame.payload for frame in mine.read()] == [b"one", b"two"]
    assert other.read() == []
    assert len(list(pending(tmp_path, "search"))) == 2
    assert list(pending(tmp_path, "archive")) == []


def test_its_sink_alone_decides_when_it_goes(tmp_path: Path) -> None:
    """It stays until its sink has it, also when those who ship know no such sink."""
    spool = Spool(tmp_path)
    put(tmp_path, "search", b"one")
    mine, other = spool.reader("search"), spool.reader("archive")
    assert spool.retire([other]) == 0
    assert spool.retire([mine, other]) == 0
    mine.ack(mine.read()[-1])
    assert spool.retire(list(spool.cursors().values())) == 1
    assert spool.segments() == []


def test_making_room_gives_up_only_what_somebody_would_get(tmp_path: Path) -> None:
    """At the bound it counts among its sink's records; without that sink it is not touched."""
    spool = Spool(tmp_path)
    put(tmp_path, "search", b"x" * 1000)
    assert spool.drop_oldest(500, [spool.reader("archive")]).freed == 0
    given_up = spool.drop_oldest(500, [spool.reader("archive"), spool.reader("search")])
    assert given_up.frames == {20: 1}
    assert given_up.by_sink == {"archive": {}, "search": {20: 1}}


@pytest.mark.parametrize("name", ["_to-", "_to-a b", "_to-" + "x" * 101, "_to-a/b"])
def test_what_is_no_address_is_no_segment(name: str) -> None:
    """A name with a wrong address is not a segment's."""
    with pytest.raises(ValueError, match="no segment's name"):
        SegmentName.parse(f"20261129T131502123456Z_web-1_4711_9f86d081884c_000001{name}")
