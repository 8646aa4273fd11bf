"""Looking ahead changes nothing but the time that reading takes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.spool.test_spool_damage import mutate
from toolog.spool import SpoolReader, SpoolWriter
from toolog.spool.ahead import STRIDE, Ahead


def make(directory: Path, chance: random.Random) -> None:
    """Write three segments of several chunks, with a record that is longer than a chunk."""
    writer = SpoolWriter(directory, segment_size=1 << 30)
    for _ in range(3):
        for _ in range(chance.randint(100, 300)):
            writer.append(chance.choice([10, 20]), 1, chance.randbytes(chance.choice([0, 30, 3000])))
        writer.append(20, 1, bytes(2 * STRIDE))
        writer.seal()


def read_all(reader: SpoolReader, chance: random.Random, most: int) -> list[object]:
    """Read all there is in batches, and look about so many bytes ahead after each."""
    found: list[object] = []
    while batch := reader.read(chance.choice([1, 50, 1000]), chance.choice([1, 100_000, 1 << 20])):
        if most:
            reader.look_ahead(most)
        if chance.random() < 0.2:
            reader.forget()  # what was read and not acknowledged comes again
        else:
            found += batch
            reader.ack(batch[-1])
    return found


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_is_read(seed: int, damaged: bool, tmp_path: Path) -> None:
    """Whatever is damaged, given back or too much for a batch: the frames and the counts are the same."""
    make(tmp_path, random.Random(seed))
    if damaged:
        chance = random.Random(seed)
        for path in tmp_path.glob("*.seg"):
            path.write_bytes(mutate(path.read_bytes(), chance))

    def counts(reader: SpoolReader) -> tuple[int, int]:
        return reader.damaged, reader.damaged_bytes

    plain = SpoolReader(tmp_path, "plain", keep=lambda levelno: levelno > 10)
    expected = read_all(plain, random.Random(seed), 0)
    assert expected
    for most in (1, 300_000, 1 << 30):
        reader = SpoolReader(tmp_path, f"ahead-{most}", keep=lambda levelno: levelno > 10)
        assert read_all(reader, random.Random(seed), most) == expected
        assert damaged or counts(reader) == counts(plain)


def test_what_was_found_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that were looked through are not looked through again, up to the end of what was asked for."""
    make(tmp_path, random.Random(1))
    reader = SpoolReader(tmp_path, "sink")
    reader.ack(reader.read(1)[-1])
    reader.look_ahead(1 << 30)
    taken: list[bool] = []
    take = Ahead.take

    def note(self: Ahead, *place: object) -> object:
        found = take(self, *place)  # type: ignore[arg-type]
        taken.append(found is not None)
        return found

    monkeypatch.setattr(Ahead, "take", note)
    assert reader.read(1 << 30, 1 << 30)
    assert taken.count(True) >= 3


def test_a_segment_that_goes_meanwhile_is_not_delivered(tmp_path: Path) -> None:
    """What was looked through and deleted since comes out of no read."""
    make(tmp_path, random.Random(2))
    reader = SpoolReader(tmp_path, "sink")
    first = reader.read(1)
    reader.look_ahead(1 << 30)
    for path in sorted(tmp_path.glob("*.seg"))[1:]:
        path.unlink()
    assert {frame.segment for frame in reader.read(1 << 30, 1 << 30)} == {first[0].segment}
