"""The format on disk: golden bytes, and a second reader that was written from the specification alone."""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import zlib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from toolog.spool import SegmentName, SpoolWriter, iter_frames
from toolog.spool.frame import build, salt_of
from toolog.spool.segment import header


def read_by_specification(path: Path) -> list[tuple[int, int, int, bytes]]:
    """Return (seq, level, serializer, payload) of each good frame.

    Knows nothing but `toolog.spool.__doc__`.
    """
    data = path.read_bytes()
    salt = zlib.crc32(path.name.removesuffix(".seg").encode("ascii"))
    found = []
    at = data.find(b"\xc1\xfe\x9b\xc0")
    while at >= 0 and at + 28 <= len(data):
        frame_crc, header_crc, length, seq, level, serializer, flags = struct.unpack_from(
            "<IIIQHBB", data, at + 4
        )
        end = at + 28 + length
        sound = zlib.crc32(data[at + 12 : at + 28], salt) == header_crc
        if sound and end <= len(data) and zlib.crc32(data[at + 28 : end], header_crc) == frame_crc:
            if not flags & 1:
                found.append((seq, level, serializer, data[at + 28 : end]))
            at = data.find(b"\xc1\xfe\x9b\xc0", end)
        else:
            at = data.find(b"\xc1\xfe\x9b\xc0", at + 1)
    return found


def test_the_bytes_of_a_frame_are_these() -> None:
    """A frame has exactly the bytes that the specification says, for ever."""
    salt = salt_of("20261129T131502123456Z_web-1_4711_9f86d081884c_000001")
    assert salt == 0xCEBE47DE
    made = build(salt, 7, 40, 1, b"\x81\xa1a\x01")
    assert made.hex() == (
        "c1fe9bc0" "2f8ffc19" "4bb96cd1" "04000000" "0700000000000000" "2800" "01" "00" "81a16101"
    )  # fmt: skip


def test_a_segment_begins_with_magic_bytes_and_a_frame_that_describes_it() -> None:
    """The header frame repeats what the segment's name says, and is marked by flag 1."""
    name = SegmentName("20261129T131502123456Z", "web-1", 4711, "9f86d081884c", 1)
    data = header(name)
    assert data[:8] == b"TLSPOOL1"
    assert data[8 + 27] == 1
    facts = json.loads(data[8 + 28 :])
    assert facts.pop("boot_id") is not None
    assert facts == {
        "version": 1,
        "segment": "20261129T131502123456Z_web-1_4711_9f86d081884c_000001",
        "host": "web-1",
        "pid": 4711,
        "created_ns": 1795958102123456000,
    }


def test_a_segment_name_tells_its_writer_and_its_hour() -> None:
    """The name alone gives host, process, day and hour, and parses back to itself."""
    text = "20261129T131502123456Z_web-1_4711_9f86d081884c_000012"
    name = SegmentName.parse(text)
    assert str(name) == text
    assert (name.host, name.pid, name.number) == ("web-1", 4711, 12)
    assert (name.date, name.hour, name.writer) == ("2026-11-29", "13", "web-1_4711_9f86d081884c")


def test_files_have_names_of_the_documented_form(directory: Path) -> None:
    """A writer's segments carry time, host, process id, random part and number in their names."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"one")
    writer.seal()
    writer.append(20, 0, b"two")
    first, second = sorted(path.name for path in directory.glob("*.seg"))
    form = r"\d{8}T\d{12}Z_[A-Za-z0-9.-]+_" + str(os.getpid()) + r"_([0-9a-f]{12})_00000(\d)\.seg"
    one, two = re.fullmatch(form, first), re.fullmatch(form, second)
    assert one is not None
    assert two is not None
    assert one[1] == two[1]
    assert (one[2], two[2]) == ("1", "2")


def test_a_live_segment_is_locked_and_a_left_one_is_not(directory: Path) -> None:
    """Whether a writer is alive can be asked of the kernel, as the specification says."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"x")
    (path,) = directory.glob("*.seg")
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        assert not free
        writer.close()
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 65535), st.integers(0, 255), st.binary(max_size=300)),
        min_size=1,
        max_size=20,
    )
)
def test_a_reader_written_from_the_specification_reads_what_the_writer_wrote(
    tmp_path_factory: object, records: list[tuple[int, int, bytes]]
) -> None:
    """Two independent readers agree on every record, whatever levels, serializers and bytes it has."""
    directory = tmp_path_factory.mktemp("spool")  # type: ignore[attr-defined]
    writer = SpoolWriter(directory)
    for record in records:
        writer.append(*record)
    writer.close()
    (path,) = directory.glob("*.seg")
    expected = [(seq, *record) for seq, record in enumerate(records, 1)]
    assert read_by_specification(path) == expected
    assert [(f.seq, f.levelno, f.serializer, f.payload) for f in iter_frames(directory)] == expected
