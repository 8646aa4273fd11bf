"""The search document of a short form is that of the record."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolog
from tests.helpers import collecting, wrap
from tests.shorts import HEAD, PROCESS, make_short, shorts
from tests.sinks.search.test_document import values
from toolog.errors import SerializationError
from toolog.record import SuccessRecord
from toolog.serializers.compact import expand
from toolog.sinks.base import MSGPACK
from toolog.sinks.search import short as module
from toolog.sinks.search.document import encode
from toolog.sinks.search.short import encode_short


def documents(short: bytes, leaf_bytes: int = 8192) -> tuple[Any, Any]:
    """Return the id and document by the short way, None where that says nothing, and by the long one."""
    found = encode_short(short, leaf_bytes)
    record_id, body = encode(expand(short), MSGPACK, leaf_bytes)
    return found and (found[0], orjson.loads(found[1])), (record_id, orjson.loads(body))


@given(shorts(values), st.sampled_from([8192, 600, 300]))
def test_the_short_way_says_the_same(short: bytes, leaf_bytes: int) -> None:
    """Whatever stands in a short form: the short way gives the document of the long one, or nothing."""
    try:
        found, right = documents(short, leaf_bytes)
    except SerializationError:
        assert encode_short(short, leaf_bytes) is None
    else:
        assert found is None or found == right


def test_calls_take_the_short_way() -> None:
    """The records of a root, a child, a call in a session, in a task and of an instance take it."""
    inner = wrap(lambda value: value, "inner")
    outer = wrap(lambda value: inner(value), "outer")
    method = wrap(
        lambda owner, value: value, "method", skip_first=True, identify=lambda owner: b"\xb0" + b"a" * 16
    )

    class Owner:
        find = method

    with collecting() as collector:
        inner("walnut lamp")
        outer({"sku": "A-1001", "price": 19.9, "note": None, "sizes": [1, 2]})
        with toolog.session("order-17", customer="Ada"):
            outer(7)
        Owner().find("value")

        async def task() -> None:
            inner(True)

        asyncio.run(task())
    for record in collector.records:
        assert type(record) is SuccessRecord
        for _ in range(2):  # when its tool is new, and when it is known
            found, right = documents(record.compact(*record.tail()))
            assert found == right


@pytest.mark.parametrize(
    "short",
    [
        pytest.param(make_short({"input": {"note": "x" * 9000}, "output": 1}), id="cut"),
        pytest.param(make_short({"input": {"a.": 1}, "output": 1}), id="odd key"),
        pytest.param(make_short({"input": 1, "output": 2, "nobody": 3}), id="unknown field"),
        pytest.param(make_short({"input": 1, "output": 2}, {**HEAD, "x": 1}), id="unknown field of the tool"),
        pytest.param(make_short({"input": 1, "output": 2, "host": "a"}), id="twice"),
        pytest.param(make_short({"input": 1, "output": 2}, wall=-1), id="early"),
        pytest.param(make_short({"input": 1, "output": 2}, process={"process": {"x": 1}}), id="process"),
    ],
)
def test_what_is_not_common_takes_the_long_way(short: bytes) -> None:
    """The short way says nothing of what has to be cut, escaped or put elsewhere."""
    assert encode_short(make_short({"input": 1, "output": 2}, process=PROCESS), 8192)
    assert encode_short(short, 8192) is None


def test_what_a_tool_has_in_common_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a tool's records cannot take the short way is known with the first of them; one odd record keeps
    the others of its tool from nothing.
    """
    learned: list[bytes] = []
    learn = module._learn
    monkeypatch.setattr(module, "_fronts", {})
    monkeypatch.setattr(module, "_learn", lambda head, short: (learned.append(head), learn(head, short))[1])
    odd = make_short({"input": 1, "output": 2, "host": "twice"})
    assert [encode_short(odd, 8192), encode_short(odd, 8192)] == [None, None]
    assert len(learned) == 2
    for content in ({"input": 1, "output": 2, "tags": {}}, {"input": 3, "output": 4, "tags": {}}):
        assert encode_short(make_short(content), 8192)
    assert len(learned) == 3
    for number in (1, 2):
        assert encode_short(make_short({"input": number}, {**HEAD, "x": 1}), 8192) is None
    assert len(learned) == 4
    assert encode_short(make_short({"input": 1}), 8192)
    assert encode_short(make_short({}), 8192) is None


def test_a_damaged_content_takes_the_long_way() -> None:
    """A short form whose content ends early is refused by the long way."""
    short = make_short({"input": {"order": 5}, "output": "found"})
    for damaged in (short[:-1], short[:-9]):
        assert encode_short(damaged, 8192) is None
        with pytest.raises(SerializationError):
            encode(expand(damaged), MSGPACK)
