"""What the tests beside this file look at: the records that they make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tooling import watching
from watching import Records, watch

from tests.helpers import Collector


@pytest.fixture
def seen() -> Iterator[Collector]:
    """What arrives at toolog.calls; whatever the test instruments is undone."""
    with watching() as collector:
        yield collector


@pytest.fixture
def records() -> Iterator[Records]:
    """The records of the test's streams."""
    with watch() as found:
        yield found
