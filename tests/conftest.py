"""What holds for all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.helpers import restored
from toolog.call import refresh_plans
from toolog.context import Mode, current
from toolog.settings import capture, provisional
from toolog.settings.resolve import reset_capture

# How long an example takes says something about the machine, which may be busy, and nothing about a law.
settings.register_profile("toolog", deadline=None)
settings.load_profile("toolog")

# Real servers, see tests/services/fixtures.py.
pytest_plugins = ["tests.services.fixtures"]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what was imported and collected out of every later look of the garbage collector: half a million
    objects, half a second each time that a test asks for a collection.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def settings_of_capture() -> Iterator[None]:
    """What a test sets or configures about capture holds for that test alone, and so does what is worked out
    from it once, for the hot path. A test that leaves more than that behind fails.

    What the first tool of a module turned on by itself ends with the first configuration, for good.
    """
    was_provisional = provisional.active
    before = [getattr(capture, name) for name in capture.__slots__]
    with restored(capture):
        yield
        changed = before != [getattr(capture, name) for name in capture.__slots__]
    if was_provisional and not provisional.active:
        reset_capture()
    if changed:
        refresh_plans()
    Mode.refresh()
    assert not Mode.ending, "for capture the process ends, since this test"
    assert current.get() is None, "the test left a session, a binding or a call open"
