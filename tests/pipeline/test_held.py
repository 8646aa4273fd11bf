"""What memory holds while the disk fails."""

from __future__ import annotations

from toolog.pipeline.held import Held


def test_what_is_on_its_way_to_the_disk_is_still_held() -> None:
    """Between memory and a disk that may refuse it again, a record counts as held: no flush says that it is
    safe.
    """
    held = Held()
    assert held.is_empty()
    held.append(0, 10, 1, b"one")
    held.append(3, 40, 1, b"two")
    moved = held.take_untouched(64)
    assert not held.frames
    assert not held.is_empty()
    held.put_back(moved[1:])
    assert [frame.payload for frame in held.frames.values()] == [b"two"]
    assert not held.is_empty()
    held.take_untouched(64)
    held.put_back([])
    assert held.is_empty()
