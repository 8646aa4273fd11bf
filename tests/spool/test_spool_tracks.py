"""The cursor of a sink that is served on several tracks, one for each policy."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog.spool import Cursor, Spool, SpoolReader, Track, open_tracks, pending
from toolog.spool.claims import forget, read_claims, take_claims

INFO, WARNING, ERROR = Track("info", 20), Track("warning", 30), Track("error", 40)
LEVELS = (20, 30, 40, 50)


def readers(directory: Path, *tracks: Track, sink: str = "s") -> list[SpoolReader]:
    """Return a reader for each track of a sink (of a whole sink without any)."""
    return [SpoolReader(directory, sink, cursor=cursor) for cursor in open_tracks(directory, sink, tracks)]


def fill(directory: Path, number: int) -> Spool:
    """Write numbers, each level in its turn."""
    spool = Spool(directory)
    writer = spool.writer()
    for index in range(number):
        writer.append(LEVELS[index % len(LEVELS)], 0, b"%d" % index)
    writer.close()
    return spool


def take(reader: SpoolReader, number: int = 1000) -> list[int]:
    """Read and acknowledge so many records."""
    frames = reader.read(max_records=number)
    if frames:
        assert reader.ack(frames[-1])
    return [int(frame.payload) for frame in frames]


def test_each_track_has_its_own_levels_and_its_own_place(directory: Path) -> None:
    """What one track did not acknowledge is not sent again on the others, and the segment stays for it."""
    spool = fill(directory, 40)
    info, error = readers(directory, INFO, ERROR)
    assert take(info) == [number for number in range(40) if number % 4 < 2]
    assert take(error, 5) == [2, 3, 6, 7, 10]
    assert (info.pending(), error.pending()) == (0, 15)
    assert len(list(pending(directory, "s"))) == 15
    assert spool.retire([info, error]) == 0
    info, error = readers(directory, INFO, ERROR)
    assert take(info) == []
    assert take(error) == [number for number in range(11, 40) if number % 4 >= 2]
    assert spool.retire([info, error]) == 1
    assert list(pending(directory, "s")) == []


def test_what_was_one_cursor_is_divided_where_it_stood(directory: Path) -> None:
    """A sink that was served as a whole goes on at its place on every track, and nothing comes twice."""
    fill(directory, 40)
    (whole,) = readers(directory)
    assert take(whole, 13) == list(range(13))
    rest = [take(reader) for reader in readers(directory, INFO, ERROR)]
    assert sorted(rest[0] + rest[1]) == list(range(13, 40))


def test_tracks_become_one_cursor_where_the_last_of_them_stood(directory: Path) -> None:
    """A sink that is served as a whole again gets nothing less than what any track had not."""
    fill(directory, 40)
    info, error = readers(directory, INFO, ERROR)
    take(info)
    take(error, 5)
    (whole,) = readers(directory)
    assert take(whole) == list(range(11, 40))
    assert [take(reader) for reader in readers(directory, INFO, ERROR)] == [[], []]


def test_a_policy_with_another_name_goes_on(directory: Path) -> None:
    """The levels count, not the names of the policies; a level below all of them is the lowest one's."""
    fill(directory, 8)
    assert take(readers(directory, Track("some", 25), ERROR)[0]) == [0, 1, 4, 5]
    assert [take(reader) for reader in readers(directory, INFO, ERROR)] == [[], [2, 3, 6, 7]]


divisions = st.lists(st.sampled_from([INFO, WARNING, ERROR]), unique=True, max_size=3)


@given(steps=st.lists(st.tuples(divisions, st.lists(st.integers(0, 9), min_size=3, max_size=3)), max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_however_it_is_divided_nothing_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[Track], list[int]]]
) -> None:
    """Divided anew at every start, each record is read at least once before a segment can be deleted, and
    what the readers count is what stands on disk as soon as one of them acknowledged.
    """
    directory = tmp_path_factory.mktemp("spool")
    spool = fill(directory, 24)
    found: set[int] = set()
    for tracks, numbers in steps:
        there = readers(directory, *tracks)
        taken = [take(reader, number) for reader, number in zip(there, numbers, strict=False)]
        found.update(*taken)
        left = {int(frame.payload) for frame in pending(directory, "s")}
        assert found | left == set(range(24))
        assert sum([reader.pending() for reader in there]) == len(left) or not any(taken)
        if spool.retire(there):
            assert found == set(range(24))
            return
    for reader in readers(directory):
        found |= set(take(reader))
    assert found == set(range(24))


def test_a_line_that_a_crash_tore_counts_for_no_track(directory: Path) -> None:
    """All tracks stand in one line: with half of it, all of them are where the line before it says."""
    fill(directory, 40)
    info, error = readers(directory, INFO, ERROR)
    take(error, 2)
    whole = error.cursor.path.read_bytes()
    take(info, 2)
    line = error.cursor.path.read_bytes()[len(whole) :]
    for length in range(0, len(line), 7):
        error.cursor.path.write_bytes(whole + line[:length])
        assert [take(reader, 1) for reader in readers(directory, INFO, ERROR)] == [[0], [6]]
    error.cursor.path.write_bytes(whole + line)
    assert [take(reader, 1) for reader in readers(directory, INFO, ERROR)] == [[4], [6]]


@pytest.mark.parametrize("tracks", [7, "info", [{}], [{"policy": "info", "from": "x", "marks": {}}], [[1]]])
def test_tracks_that_make_no_sense_count_as_none(directory: Path, tracks: object) -> None:
    """A line whose tracks are nonsense says nothing: everything is sent again, and nothing raises."""
    fill(directory, 4)
    (whole,) = readers(directory)
    take(whole)
    content = {"sink": "s", "marks": {}, "state": None, "tracks": tracks}
    body = json.dumps(content).encode()
    whole.cursor.path.write_bytes(b"\ntoolog-cursor 1 %08x %b" % (zlib.crc32(body), body))
    assert not Cursor(directory, "s").found
    assert take(readers(directory)[0]) == [0, 1, 2, 3]


def test_an_addressed_segment_goes_to_the_track_of_its_levels(directory: Path) -> None:
    """Dead letters that are sent again are read on one track each, whatever their level."""
    from toolog.pipeline.dead_letters import DeadLetters
    from toolog.pipeline.letters import read_letters, send_again
    from toolog.sinks import SinkRecord

    spool = Spool(directory)
    letters = DeadLetters(lambda: spool.dead_letters("s"), "s", 1 << 20)
    for levelno in (5, 20, 39, 40, 99):
        record = SinkRecord(b'{"record_id": "%d", "level": "INFO"}' % levelno, serializer=0, level=levelno)
        assert letters.write([(record, "no", "rejected")]) == 0
    assert send_again(directory, read_letters(directory), max_size=1 << 20) == 5
    found = [
        [frame.levelno for frame in reader.read()] for reader in readers(directory, Track("info", 20), ERROR)
    ]
    assert found == [[5, 20, 39], [40, 99]]


def test_records_given_up_are_counted_for_the_track_that_waits(directory: Path) -> None:
    """Making room gives up only what a track still needs, and what it keeps is in its place for all."""
    spool = fill(directory, 400)
    info, error = readers(directory, INFO, ERROR)
    take(info, 100)
    given = spool.drop_oldest(1 << 20, [info, error], below=40)
    assert sum(given.frames.values()) == given.by_sink["s"].total() == 100
    assert set(given.frames) == {20, 30}
    info, error = readers(directory, INFO, ERROR)
    assert take(info) == []
    assert take(error) == [number for number in range(400) if number % 4 >= 2]


def test_a_sink_that_went_keeps_its_tracks(directory: Path) -> None:
    """While nobody serves it, its claim is what each track had not; back again it goes on there."""
    spool = fill(directory, 40)
    info, error = readers(directory, INFO, ERROR)
    take(info)
    take(error, 5)
    claims = take_claims(directory, ["other"])
    assert {claim.cursor.track.policy: claim.pending() for claim in claims} == {"info": 0, "error": 15}
    assert spool.retire([SpoolReader(directory, "other"), *claims]) == 0
    assert take_claims(directory, ["other", "s"]) == []
    assert [len(take(reader)) for reader in readers(directory, INFO, ERROR)] == [0, 15]
    assert open_tracks(directory, "s")[0].left is None


def test_a_sink_with_tracks_is_forgotten_as_a_whole(directory: Path) -> None:
    """Forgetting it gives up what waits on all of its tracks."""
    fill(directory, 40)
    info, error = readers(directory, INFO, ERROR)
    take(info, 10)
    take(error, 5)
    assert len(read_claims(directory, ["other"])) == 2
    assert forget(directory, "s", ["other"], is_shipper=True) == 25
    assert read_claims(directory, ["other"]) == []
