"""A record that was stored comes back as the very same document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import documents
from toolog import store
from toolog.store.schema import EVENTS, FIELDS

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
DATA = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\n\"'é", max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
NAMES = st.sampled_from([*(name for name in FIELDS if name not in ("record_id", "event")), "a_later_field"])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store.Store]:
    """A store for all examples: making one takes longer than an example."""
    with store.open(tmp_path_factory.mktemp("any") / "calls.db") as opened:
        yield opened


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    found=st.lists(
        st.tuples(st.sampled_from([*EVENTS, "a_later_event", 5]), st.dictionaries(NAMES, DATA, max_size=6)),
        max_size=3,
    )
)
def test_any_document_comes_back_as_it_was(
    shared: store.Store, found: list[tuple[Any, dict[str, Any]]]
) -> None:
    """Field for field, in their order and types, whatever stood in which field; or it is refused by name."""
    before = shared.last_id()
    wanted = [
        {"record_id": f"r{before}-{number}", "event": event, **fields}
        for number, (event, fields) in enumerate(found)
    ]
    written = shared.write(wanted)
    assert written.stored + len(written.rejected) == len(wanted)
    kept = [document for document in wanted if document["record_id"] not in written.rejected]
    assert json.dumps([document for _, document in shared.follow(before)]) == json.dumps(kept)
    for document in wanted:
        back = shared.record(document["record_id"])
        assert back == (None if document["record_id"] in written.rejected else document)


def test_only_what_a_database_cannot_hold_is_refused(tmp_path: Path) -> None:
    """A record with an integer beyond 64 bits in a column is refused with its reason; its neighbours are
    stored.
    """
    batch = [documents.call(1), documents.call(2, depth=2**70), documents.call(3)]
    with store.open(tmp_path / "calls.db") as opened:
        written = opened.write(batch)
        assert (written.stored, written.again) == (2, 0)
        assert list(written.rejected) == [batch[1]["record_id"]]
        assert opened.write(batch).again == 2


def test_a_record_without_an_id_is_refused(tmp_path: Path) -> None:
    """Nothing can be stored once that has no name."""
    with store.open(tmp_path / "calls.db") as opened:
        written = opened.write([{"event": "log"}, {"record_id": 5, "event": "log"}])
        assert written.stored == 0
        assert set(written.rejected) == {"None", "5"}


def test_deep_data_comes_back(tmp_path: Path) -> None:
    """Data nested deeper than the fast JSON writer goes is stored too."""
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]
    with store.open(tmp_path / "calls.db") as opened:
        assert opened.write([documents.call(1, output=deep)]).stored == 1
        assert opened.record(documents.call(1)["record_id"]) == documents.call(1, output=deep)


def test_new_shapes_survive_a_failed_batch(tmp_path: Path) -> None:
    """A shape first seen in a transaction that failed is written again by the next one."""

    def breaks() -> Any:
        yield documents.call(1, message="makes a shape of its own")
        raise ZeroDivisionError

    with store.open(tmp_path / "calls.db") as opened:
        with pytest.raises(ZeroDivisionError):
            opened.write(breaks())
        assert opened.size()["records"]["tool_calls"] == 0
        opened.write([documents.call(2, message="makes a shape of its own")])
        back = opened.record(documents.call(2)["record_id"])
        assert back == documents.call(2, message="makes a shape of its own")
