"""Making room in a full spool.

The lowest levels go first, everything that goes is told, nothing else goes.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog.spool import Frame, SegmentName, Spool, SpoolReader, iter_frames, pending
from toolog.spool.frame import build, salt_of
from toolog.spool.segment import create

Drain = Callable[[SpoolReader], list[Frame]]
DEBUG, INFO, ERROR = 10, 20, 40


def fill(spool: Spool, levels: list[int], *, size: int = 1000) -> None:
    """Write records of these levels, ten to a segment, and leave the last segment."""
    writer = spool.writer()
    for number, levelno in enumerate(levels):
        writer.append(levelno, 1, b"%04d" % number + b"." * size)
        if number % 10 == 9:
            writer.seal()
    writer.close()


def numbers(frames: list[Frame]) -> list[int]:
    """Return the serial numbers in the payloads."""
    return [int(frame.payload[:4]) for frame in frames]


def test_the_lowest_level_is_given_up_first_and_of_it_the_oldest(directory: Path, drain: Drain) -> None:
    """Room is made with DEBUG alone while there is DEBUG, from the oldest on; the rest stays, in order."""
    spool = Spool(directory)
    levels = [DEBUG, ERROR, INFO] * 20
    fill(spool, levels)
    reader = spool.reader("s")
    before = spool.size()
    done = spool.drop_oldest(7000, [reader])
    assert set(done.frames) == {DEBUG}
    assert done.by_sink == {"s": done.frames}
    assert before - spool.size() == done.freed
    assert 4000 < done.freed < 12_000
    gone = [number for number, levelno in enumerate(levels) if levelno == DEBUG][: done.frames[DEBUG]]
    assert numbers(drain(reader)) == [number for number in range(60) if number not in gone]


def test_no_error_is_given_up_while_a_lower_level_is_held(directory: Path, drain: Drain) -> None:
    """Only when nothing lower is left, the oldest errors go."""
    spool = Spool(directory)
    levels = [DEBUG, ERROR, INFO] * 20
    fill(spool, levels)
    reader = spool.reader("s")
    done = spool.drop_oldest(45_000, [reader])
    assert done.frames[DEBUG] == done.frames[INFO] == 20
    assert 0 < done.frames[ERROR] < 10
    errors = [number for number, levelno in enumerate(levels) if levelno == ERROR]
    kept = numbers(drain(reader))
    assert set(kept) <= set(errors)
    assert len(kept) == 20 - done.frames[ERROR]


def test_below_bounds_what_may_be_given_up(directory: Path) -> None:
    """With `below`, higher levels stay even if the room is not enough."""
    spool = Spool(directory)
    fill(spool, [DEBUG, ERROR] * 10)
    done = spool.drop_oldest(10**9, [spool.reader("s")], below=INFO)
    assert done.frames == Counter({DEBUG: 10})
    assert len(list(iter_frames(directory))) == 10


def test_what_every_sink_has_costs_nothing(directory: Path, drain: Drain) -> None:
    """Acknowledged segments go first, and nothing is reported as given up."""
    spool = Spool(directory)
    fill(spool, [DEBUG] * 20)
    one, two = spool.reader("one"), spool.reader("two")
    drain(one)
    two.ack(two.read(max_records=10)[-1])
    done = spool.drop_oldest(9000, [one, two])
    assert done.frames.total() == 0
    assert done.segments == 1
    assert numbers(drain(two)) == list(range(10, 20))


def test_each_sinks_loss_is_told(directory: Path, drain: Drain) -> None:
    """A record that one sink has and another still needs is a loss of that other sink alone."""
    spool = Spool(directory)
    fill(spool, [DEBUG] * 10)
    fast, slow = spool.reader("fast"), spool.reader("slow")
    fast.ack(fast.read(max_records=6)[-1])
    slow.ack(slow.read(max_records=2)[-1])
    done = spool.drop_oldest(10**9, [fast, slow])
    assert done.by_sink == {"fast": Counter({DEBUG: 4}), "slow": Counter({DEBUG: 8})}
    assert done.frames == Counter({DEBUG: 8})
    assert spool.size() == 0


def test_what_is_carried_over_is_not_sent_again_to_those_who_have_it(directory: Path, drain: Drain) -> None:
    """After a segment was rewritten each sink goes on where it was, also after a restart."""
    spool = Spool(directory)
    fill(spool, [ERROR, DEBUG] * 5)
    fast, slow = spool.reader("fast"), spool.reader("slow")
    fast.ack(fast.read(max_records=5)[-1])
    done = spool.drop_oldest(2000, [fast, slow])
    assert done.carried >= 5
    for reader in (fast, spool.reader("fast")):
        assert [number for number in numbers(reader.read()) if number % 2 == 0] == [6, 8]
    assert [number for number in numbers(drain(slow)) if number % 2 == 0] == [0, 2, 4, 6, 8]


def test_levels_a_sink_does_not_want_are_not_its_loss(directory: Path, drain: Drain) -> None:
    """A sink for errors loses nothing when DEBUG goes, and a level that nobody wants costs nothing."""
    spool = Spool(directory)
    fill(spool, [DEBUG, ERROR, INFO] * 10)
    errors = spool.reader("errors", keep=lambda levelno: levelno >= ERROR)
    infos = spool.reader("infos", keep=lambda levelno: levelno >= INFO)
    done = spool.drop_oldest(12_000, [errors, infos])
    assert DEBUG not in done.frames
    assert done.by_sink["errors"] == Counter()
    assert done.by_sink["infos"][INFO] > 0
    assert len(drain(errors)) == 10


def test_a_live_segment_is_left_alone(directory: Path) -> None:
    """What a writer still has open is not touched until it is sealed."""
    spool = Spool(directory)
    writer = spool.writer()
    writer.append(DEBUG, 1, b"0000")
    reader = spool.reader("s")
    assert spool.drop_oldest(10, [reader]).segments == 0
    writer.seal()
    assert spool.drop_oldest(10, [reader]).frames == Counter({DEBUG: 1})


def test_nothing_is_given_up_without_need_or_without_sinks(directory: Path) -> None:
    """No need, or nobody to ask what is needed: nothing happens."""
    spool = Spool(directory)
    fill(spool, [DEBUG] * 10)
    assert spool.drop_oldest(0, [spool.reader("s")]).segments == 0
    assert spool.drop_oldest(10**9, []).segments == 0
    assert len(list(iter_frames(directory))) == 10


def test_a_rewrite_that_fails_leaves_the_segment_as_it_is(
    directory: Path, monkeypatch: pytest.MonkeyPatch, drain: Drain
) -> None:
    """When the rest of a segment cannot be carried over, nothing of it is lost or reported."""
    import errno

    from toolog.spool import segment

    spool = Spool(directory)
    fill(spool, [DEBUG, ERROR] * 5)
    reader = spool.reader("s")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(segment, "create", refuse)
    done = spool.drop_oldest(2000, [reader])
    assert (done.frames.total(), done.freed, done.carried) == (0, 0, 0)
    assert numbers(drain(reader)) == list(range(10))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([DEBUG, INFO, ERROR]), min_size=1, max_size=40),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(1, 60_000),
)
def test_given_up_and_delivered_are_together_what_was_needed(
    tmp_path_factory: pytest.TempPathFactory, levels: list[int], one_has: int, two_has: int, need: int
) -> None:
    """For each sink.

    Acknowledged + delivered + given up = written; a level goes only after all lower ones.
    """
    spool = Spool(tmp_path_factory.mktemp("overflow") / "spool")
    fill(spool, levels, size=500)
    readers = {"one": spool.reader("one"), "two": spool.reader("two")}
    acked: dict[str, set[int]] = {}
    for (name, reader), has in zip(readers.items(), (one_has, two_has), strict=True):
        frames = reader.read(max_records=has) if has else []
        if frames:
            reader.ack(frames[-1])
        acked[name] = set(numbers(frames))
    done = spool.drop_oldest(need, list(readers.values()))
    for name, reader in readers.items():
        delivered = numbers(reader.read())
        assert delivered == sorted(set(delivered))
        assert not set(delivered) & acked[name]
        lost = Counter(levels[n] for n in range(len(levels)) if n not in acked[name] and n not in delivered)
        assert lost == done.by_sink[name]
    held = {frame.levelno for frame in iter_frames(spool.directory)}
    needed = {frame.levelno for frame in iter_frames(spool.directory) if not done.frames[frame.levelno]}
    if done.frames:
        assert not [level for level in needed if level < max(done.frames)] or held <= needed | set(
            done.frames
        )
        assert min(done.frames) <= min(held, default=ERROR)


def test_an_original_that_cannot_be_deleted_leaves_no_copy(
    directory: Path, monkeypatch: pytest.MonkeyPatch, drain: Drain
) -> None:
    """Where the segment cannot be deleted, what was carried over of it goes: each record stays once."""
    spool = Spool(directory)
    fill(spool, [DEBUG, ERROR] * 5)
    (original,) = directory.glob("*.seg")
    unlink = os.unlink

    def refuse(path: Path) -> None:
        if path == original:
            raise PermissionError(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", refuse)
    reader = spool.reader("s")
    assert spool.drop_oldest(10**9, [reader], below=ERROR).frames == Counter()
    assert list(directory.glob("*.seg")) == [original]
    assert numbers(drain(reader)) == list(range(10))


def test_what_is_spared_is_not_given_up(directory: Path) -> None:
    """Of the segments that are named nothing goes, whatever the need."""
    spool = Spool(directory)
    fill(spool, [DEBUG] * 30)
    first, second, third = [one.name for one in spool.segments()]
    done = spool.drop_oldest(10**9, [spool.reader("s")], spare={first, third})
    assert done.frames == Counter({DEBUG: 10})
    assert [one.name for one in spool.segments()] == [first, third]
    assert second not in {frame.segment for frame in iter_frames(directory)}


class Death(BaseException):
    """Stands for the end of the process."""


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    levels=st.lists(st.sampled_from([DEBUG, INFO, ERROR]), min_size=1, max_size=40), taken=st.integers(0, 40)
)
def test_mending_undoes_a_death_between_copy_and_deletion(
    tmp_path_factory: pytest.TempPathFactory, levels: list[int], taken: int
) -> None:
    """After a death in the middle of making room, mending leaves what the sink needs, each record once."""
    spool = Spool(tmp_path_factory.mktemp("spool"))
    fill(spool, levels)
    reader = spool.reader("s")
    if taken and (frames := reader.read(max_records=taken)):
        reader.ack(frames[-1])
    needed = numbers(list(pending(spool.directory, "s")))

    def die(path: Path) -> None:
        raise Death

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "unlink", die)
        with suppress(Death):
            spool.drop_oldest(10**9, [reader], below=ERROR)
    gc.collect()  # the copy's descriptor is closed, as by the end of a process
    again = Spool(spool.directory)
    again.mend()
    fresh = again.reader("s")
    left = numbers(fresh.read(max_records=1000))
    assert left == needed
    assert again.mend() == 0


def test_segments_that_began_in_the_same_moment_are_no_copies(directory: Path) -> None:
    """Two writers of one process may begin in the same microsecond: both segments stay."""
    spool = Spool(directory)
    for random, data in (("a" * 12, b"one"), ("b" * 12, b"two")):
        name = SegmentName("20260101T000000000000Z", "host", 1, random, 1)
        salt = salt_of(str(name))
        create(directory, name, build(salt, 1, DEBUG, 1, data, 0))
    gc.collect()
    assert spool.mend() == 0
    assert sorted(frame.payload for frame in iter_frames(directory)) == [b"one", b"two"]
