"""Damage: whatever happens to the bytes, reading starts, and what was not hit is read."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolog.spool import Frame, Spool, SpoolReader, SpoolWriter, iter_frames, pending
from toolog.spool.frame import HEAD_SIZE, MARK, build, salt_of, scan

MUTATIONS = int(os.environ.get("TOOLOG_MUTATIONS", "150"))
Drain = Callable[[SpoolReader], list[Frame]]
NAME = "20200101T000000000001Z_host_1_0123456789ab_000001"


def make(directory: Path, randomness: random.Random) -> dict[Path, list[bytes]]:
    """Write three segments; return the bytes of every frame of each."""
    writer = SpoolWriter(directory)
    for _ in range(3):
        for _ in range(randomness.randint(1, 12)):
            writer.append(20, 1, randomness.randbytes(randomness.choice([0, 1, 30, 300, 3000])))
        writer.seal()
    frames: dict[Path, list[bytes]] = {path: [] for path in sorted(directory.glob("*.seg"))}
    for frame in iter_frames(directory):
        path = directory / f"{frame.segment}.seg"
        frames[path].append(path.read_bytes()[frame.offset : frame.end])
    return frames


def mutate(data: bytes, randomness: random.Random) -> bytes:
    """Return the bytes with one kind of damage."""
    at = randomness.randrange(len(data) + 1)
    length = randomness.choice([1, 1, 2, 8, 40, 500])
    noise = randomness.randbytes(length)
    match randomness.randrange(8):
        case 0:
            flipped = bytearray(data)
            for _ in range(randomness.randint(1, 5)):
                flipped[randomness.randrange(len(data))] ^= 1 << randomness.randrange(8)
            return bytes(flipped)
        case 1:
            return data[:at]
        case 2:
            return data[:at] + noise + data[at:]
        case 3:
            return data[:at] + data[at + length :]
        case 4:
            return data[:at] + bytes(len(data[at : at + length])) + data[at + length :]
        case 5:
            return data[:at] + noise[: len(data) - at] + data[at + length :]
        case 6:
            return data + noise
        case _:
            return data[:at] + MARK + noise + data[at:]


@pytest.mark.slow
def test_mutated_segments_lose_only_what_was_hit(tmp_path: Path, drain: Drain) -> None:
    """After any of hundreds of mutations exactly the frames whose bytes are whole are read, in order."""
    randomness = random.Random(2026)
    for number in range(MUTATIONS):
        directory = tmp_path / str(number)
        frames = make(directory, randomness)
        expected = []
        for path, mine in frames.items():
            data = path.read_bytes()
            for _ in range(randomness.choice([0, 1, 1, 3])):
                data = mutate(data, randomness) if data else data
            path.write_bytes(data)
            expected += [frame[HEAD_SIZE:] for frame in mine if frame in data]
        spool = Spool(directory)
        reader = spool.reader("s")
        assert [frame.payload for frame in drain(reader)] == expected, number
        assert [frame.payload for frame in iter_frames(directory)] == expected
        spool.writer().append(20, 0, b"goes on")
        assert [frame.payload for frame in drain(reader)] == [b"goes on"]
        spool.retire([reader])
        assert spool.size() == 0, number
        shutil.rmtree(directory)


def test_a_loss_of_power_costs_no_synced_record(tmp_path: Path, drain: Drain) -> None:
    """Whatever the disk did with what was not synced (cut, zeros, holes), all that was synced is read."""
    randomness = random.Random(7)
    for number in range(MUTATIONS // 4):
        directory = tmp_path / str(number)
        writer = SpoolWriter(directory)
        payloads = [b"%d " % n + randomness.randbytes(randomness.randrange(400)) for n in range(20)]
        safe = randomness.randrange(20)
        for payload in payloads[:safe]:
            writer.append(20, 0, payload)
        writer.sync()
        size = sum(path.stat().st_size for path in directory.glob("*.seg"))
        for payload in payloads[safe:]:
            writer.append(20, 0, payload)
        writer.close()
        (path,) = directory.glob("*.seg")
        data = bytearray(path.read_bytes())
        cut = randomness.randint(size, len(data))
        hole = randomness.randint(size, len(data))
        data[hole : hole + 512] = bytes(len(data[hole : hole + 512]))
        path.write_bytes(data[:cut])
        found = [frame.payload for frame in drain(SpoolReader(directory, "s"))]
        assert found[:safe] == payloads[:safe]
        rest = iter(payloads[safe:])
        assert all(payload in rest for payload in found[safe:]), "something else, or another order"
        shutil.rmtree(directory)


@pytest.mark.parametrize("field", range(HEAD_SIZE + 10))
def test_each_byte_of_a_frame_matters_and_matters_only_to_it(
    directory: Path, field: int, drain: Drain
) -> None:
    """A changed byte anywhere in a frame costs that frame, and no other."""
    writer = SpoolWriter(directory)
    for payload in (b"before", b"0123456789", b"after"):
        writer.append(20, 0, payload)
    writer.close()
    middle = list(iter_frames(directory))[1]
    (path,) = directory.glob("*.seg")
    data = bytearray(path.read_bytes())
    data[middle.offset + field] ^= 0x10
    path.write_bytes(data)
    reader = SpoolReader(directory, "s")
    assert [frame.payload for frame in drain(reader)] == [b"before", b"after"]
    assert reader.damaged == 1


def test_damage_is_counted_by_frames(directory: Path, drain: Drain) -> None:
    """Three broken frames in a row count as three."""
    writer = SpoolWriter(directory)
    for number in range(10):
        writer.append(20, 0, b"payload %d" % number)
    writer.close()
    frames = list(iter_frames(directory))
    (path,) = directory.glob("*.seg")
    data = bytearray(path.read_bytes())
    for frame in frames[3:6]:
        data[frame.end - 1] ^= 1
    path.write_bytes(data)
    reader = SpoolReader(directory, "s")
    assert len(drain(reader)) == 7
    assert reader.damaged == 3
    assert reader.damaged_bytes == frames[5].end - frames[3].offset


def test_a_broken_length_in_a_live_segment_holds_nothing_up(directory: Path) -> None:
    """A frame that claims to be longer than the file does not hide the frames that come behind it."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"one")
    writer.append(20, 0, b"two")
    second = list(iter_frames(directory))[1]
    (path,) = directory.glob("*.seg")
    with path.open("r+b") as file:
        file.seek(second.offset + 12)
        file.write((50 << 20).to_bytes(4, "little"))
    reader = SpoolReader(directory, "s")
    assert [frame.payload for frame in reader.read()] == [b"one"]
    writer.append(20, 0, b"three")
    assert [frame.payload for frame in reader.read()] == [b"three"]
    assert reader.damaged == 1


def test_a_frame_of_another_segment_inside_a_damaged_record_is_no_frame(
    directory: Path, drain: Drain
) -> None:
    """A record that quotes a spool's bytes does not turn into records when it is damaged."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"quoted")
    writer.seal()
    (path,) = directory.glob("*.seg")
    writer.append(20, 0, b"quote: " + path.read_bytes())
    writer.close()
    _, second = sorted(directory.glob("*.seg"))
    data = bytearray(second.read_bytes())
    data[data.index(b"quote")] ^= 1
    second.write_bytes(data)
    reader = SpoolReader(directory, "s")
    assert [frame.payload for frame in drain(reader)] == [b"quoted"]
    assert reader.damaged >= 1


def test_the_magic_and_header_may_be_lost(directory: Path, drain: Drain) -> None:
    """A segment without its beginning is read all the same: its name tells what is needed."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"record")
    writer.close()
    (path,) = directory.glob("*.seg")
    (frame,) = iter_frames(directory)
    data = path.read_bytes()
    path.write_bytes(bytes(frame.offset) + data[frame.offset :])
    assert [frame.payload for frame in drain(SpoolReader(directory, "s"))] == [b"record"]


def test_damage_over_many_chunks_is_passed(directory: Path, drain: Drain) -> None:
    """Megabytes of damage between two good frames are passed over, with marks on every chunk's border."""
    salt = salt_of(NAME)
    directory.mkdir()
    for filler in (b"\0" * 3_000_000, MARK * 300_000, os.urandom(2_500_001)):
        for shift in (0, 3):
            good = build(salt, 1, 20, 0, b"first"), build(salt, 2, 20, 0, b"second" * 100_000)
            (directory / f"{NAME}.seg").write_bytes(good[0] + filler + b"x" * shift + good[1])
            reader = SpoolReader(directory, f"{filler[:2]!r}{shift}")
            assert [frame.payload[:6] for frame in drain(reader)] == [b"first", b"second"]
            assert reader.damaged_bytes == len(filler) + shift
            assert reader.damaged >= 1


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.just(MARK),
            st.integers(0, 5).map(lambda n: build(salt_of(NAME), n, 20, 0, b"p" * n)),
            st.integers(0, 5).map(lambda n: build(salt_of(NAME), n, 20, 0, b"p" * n * 9)[:-3]),
        ),
        max_size=12,
    ),
    st.booleans(),
    st.integers(1, 400),
)
def test_scan_finds_the_same_whatever_the_chunks(parts: list[bytes], final: bool, chunk: int) -> None:
    """Reading a segment in small chunks gives what reading it at once gives, and always goes forward."""
    data = b"".join(parts)
    salt = salt_of(NAME)
    whole = scan(data, 0, NAME, salt, limit=1000, at_end=True, final=final)
    found: list[Frame] = []
    at, size, broken, damaged = 0, chunk, False, 0
    while at < len(data):
        piece = data[at : at + size]
        ends = at + len(piece) >= len(data)
        got = scan(piece, at, NAME, salt, limit=3, at_end=ends, final=final, broken=broken)
        found += got.frames
        damaged += got.damaged_bytes
        if not got.consumed and ends:
            break
        size = max(chunk, got.wanted) if got.consumed else size + chunk
        at += got.consumed
        broken = got.broken
    assert [(f.offset, f.seq, f.payload) for f in found] == [
        (f.offset, f.seq, f.payload) for f in whole.frames
    ]
    if final:
        assert damaged == whole.damaged_bytes
        assert at == whole.consumed == len(data)


def test_a_terabyte_of_nothing_named_like_a_segment(tmp_path: Path, drain: Drain) -> None:
    """A sparse file of a tebibyte is passed over where nothing is in it: what stands before, in it and behind
    is read and counted, records find room, and it goes like another segment.
    """
    writer = SpoolWriter(tmp_path, max_size=1 << 20)
    writer.append(20, 1, b"before")
    writer.seal()
    sparse = tmp_path / f"{NAME}.seg"
    sparse.touch(0o600)
    os.truncate(sparse, 1 << 40)
    with sparse.open("r+b") as file:
        file.seek(1 << 39)
        file.write(build(salt_of(NAME), 1, 20, 1, b"within"))
    writer.append(20, 1, b"behind")
    writer.seal()
    spool = Spool(tmp_path, max_size=1 << 20)
    assert spool.size() < 1 << 20
    reader = SpoolReader(tmp_path, "sink")
    assert reader.pending() == 3
    assert [frame.payload for frame in pending(tmp_path, "sink")] == [b"within", b"before", b"behind"]
    assert [frame.payload for frame in drain(reader)] == [b"within", b"before", b"behind"]
    assert reader.damaged_bytes > 1 << 39
    reader.settle()
    assert spool.retire([reader]) == 3
    assert not sparse.exists()
