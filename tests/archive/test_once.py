"""What came twice leaves an archive once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.archive.once import Once


class Given:
    """A source with these records."""

    name, size = "given", 0

    def __init__(self, records: Any) -> None:
        self.records = records

    def read(self, tell: Callable[[str], None]) -> Iterator[dict[str, Any]]:
        yield from self.records


names = st.sampled_from(["a", "b", "A", "a ", "a\0", "\ud800", "1", ""]) | st.text(max_size=2)


@given(st.lists(st.lists(st.one_of(names, st.none(), st.just(1)), max_size=8), max_size=4))
def test_each_record_leaves_once(sources: list[list[object]]) -> None:
    """Of all records with an id the first one is let through, over all sources; those without one always."""
    wanted: list[object] = []
    for record_id in (one for source in sources for one in source):
        if not isinstance(record_id, str) or record_id not in wanted:
            wanted.append(record_id)
    with closing(Once()) as once:
        found = [
            record.get("record_id")
            for source in sources
            for record in once.sift(Given([{"record_id": one} for one in source]), pytest.fail)
        ]
        assert found == wanted
        assert once.repeated == sum(map(len, sources)) - len(wanted)


def test_a_long_archive_is_sifted_in_little_memory() -> None:
    """The ids of 300,000 records are remembered, and take no memory of ours."""
    records = ({"record_id": f"{number % 200_000:032x}"} for number in range(300_000))
    with closing(Once()) as once:
        tracemalloc.start()
        try:
            assert sum(1 for _ in once.sift(Given(records), pytest.fail)) == 200_000
            assert tracemalloc.get_traced_memory()[1] < 2 << 20
        finally:
            tracemalloc.stop()
