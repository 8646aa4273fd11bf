"""A record as a search document and back: nothing is lost but what is cut, and that is told."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import documents
from tests.sinks.contract import ODD
from toolog import validate
from toolog.errors import SerializationError
from toolog.sinks.base import JSON, MSGPACK
from toolog.sinks.search.document import encode, from_search, lighten, to_search
from toolog.sinks.search.keys import escape_keys
from toolog.sinks.search.shapes import FIELDS, FLAT

ODD_KEYS = [
    "",
    " ",
    "\n",
    ".",
    "..",
    "a..b",
    ".a",
    "a.",
    "a.b",
    "a\x00b",
    "%",
    "%2E",
    "100%",
    "a%20b",
    "日本",
]
STAMP = "2026-11-30T12:00:00.123456Z"

names = st.one_of(st.sampled_from(ODD_KEYS), st.text(max_size=8).filter(lambda text: text.isprintable()))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30).filter(lambda text: not any("\ud800" <= sign <= "\udfff" for sign in text)),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=4)
texts = st.text(max_size=20).filter(lambda text: not any("\ud800" <= sign <= "\udfff" for sign in text))


def with_more(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the fields that the schema names, and with others beside them."""
    known = st.fixed_dictionaries({}, optional=fields)
    return st.builds(lambda more, own: {**more, **own}, st.dictionaries(names, values, max_size=2), known)


errors = with_more(message=texts, stack=texts, chain=st.lists(st.fixed_dictionaries({"type": texts}))).map(
    lambda found: {"type": "ValueError", **found}
)
calls = st.builds(
    lambda version, more, own: {**(more if version != "1.0" else {}), **own, "schema_version": version},
    st.sampled_from(["1.0", "1.1"]),
    st.dictionaries(names.filter(lambda name: name not in FIELDS), values, max_size=3),
    st.fixed_dictionaries(
        {
            "record_id": st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20),
            "event": st.just("tool_call_failed"),
            "level": st.sampled_from(["DEBUG", "INFO", "ERROR"]),
            "timestamp": st.sampled_from(
                [STAMP, "1969-12-31T23:59:59.999999Z", "9999-01-01T00:00:00.000000Z"]
            ),
            "trace_id": st.just(documents.TRACE),
            "span_id": st.just("0" * 15 + "1"),
            "tool_name": texts.filter(bool),
            "status": st.sampled_from(["execution_error", "timeout"]),
            "duration_ms": st.floats(0, 1e300) | st.integers(0, 2**53),
            "error": errors,
        },
        optional={
            "input": objects,
            "output": values,
            "config": st.none() | objects,
            "tags": objects,
            "attributes": objects,
            "host": texts,
            "tool": with_more(module=st.none() | texts, type=st.sampled_from(["function", None])),
            "service": with_more(name=texts),
            "process": with_more(pid=st.integers(0, 2**31), thread=texts),
            "masked": st.dictionaries(names, st.integers(1, 9), max_size=2),
            "truncated": st.dictionaries(names, st.just({"size": 5}), max_size=2),
            "evaluation": st.none()
            | with_more(
                scores=st.dictionaries(names, st.floats(0, 1)), details=objects, passed=st.booleans()
            ),
            "attempts": st.lists(
                st.fixed_dictionaries(
                    {"started": st.just(STAMP), "duration_ms": st.just(1), "status": st.just("timeout")},
                    optional={"error": errors, "note": values},
                ),
                min_size=1,
                max_size=2,
            ),
        },
    ),
)


@settings(max_examples=150)
@given(calls)
def test_the_way_back_is_the_record(record: dict[str, Any]) -> None:
    """Any valid record comes back from its search document field for field, as long as nothing was cut."""
    validate(record)
    document = orjson.loads(orjson.dumps(to_search(record)))
    assert from_search(document) == orjson.loads(orjson.dumps(record))


@settings(max_examples=60)
@given(calls, st.sampled_from([JSON, MSGPACK]))
def test_bytes_become_the_same_document(record: dict[str, Any], serializer: int) -> None:
    """What is sent for a serialized record is the search document of the record."""
    data = ormsgpack.packb(record) if serializer == MSGPACK else orjson.dumps(record)
    record_id, text = encode(data, serializer)
    assert record_id == record["record_id"]
    assert orjson.loads(text) == orjson.loads(orjson.dumps(to_search(record)))


@settings(max_examples=60)
@given(calls, st.integers(256, 2000))
def test_cuts_are_told_and_nothing_else_changes(record: dict[str, Any], leaf_bytes: int) -> None:
    """With long leaves in it, a record comes back equal but for these, each named in ``truncated``."""
    record["input"] = {**record.get("input", {}), "long": "é" * leaf_bytes, "deep": [{"x": "y" * leaf_bytes}]}
    back = from_search(orjson.loads(orjson.dumps(to_search(record, leaf_bytes))))
    notes = back.pop("truncated")
    data = ("é" * leaf_bytes).encode()
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    assert notes["input.long"] == {"size": len(data), "unit": "bytes", "hash": digest}
    expected = orjson.loads(orjson.dumps(record))
    before = expected.pop("truncated", {})
    assert notes.keys() == before.keys() | {"input.long"}
    assert len(back["input"]["long"].encode()) <= leaf_bytes
    assert back["input"]["long"].startswith("éé")
    back["input"]["long"] = expected["input"]["long"]
    assert back == expected


@pytest.mark.parametrize("odd", ODD_KEYS)
def test_an_odd_key_among_known_ones(odd: str) -> None:
    """An odd key is escaped wherever it stands, also where all keys around it were met in records before."""
    for rows in ([{"row": 1}], [{"row": 1}], [{"row": {odd: 1}}], [{"row": 1}, {odd: [1]}]):
        value = {"rows": rows}
        score = {"scores": value, "details": value}
        document = to_search(documents.call(1, input=value, output=rows, evaluation=score))
        plain = escape_keys(value)
        assert document["input"] == plain
        assert document["output"] == {"value": plain["rows"]}
        assert document["evaluation"] == {"scores": plain, "details": plain}


def test_the_record_is_left_alone() -> None:
    """Making a search document changes nothing in the record."""
    for record in ODD:
        before = orjson.dumps(record)
        to_search(record)
        assert orjson.dumps(record) == before


# -- the table, line by line ---------------------------------------------------------------------------------


def test_timestamp() -> None:
    """``timestamp`` is ``@timestamp``, to the microsecond."""
    document = to_search(documents.call(1, timestamp=STAMP))
    assert document["@timestamp"] == STAMP
    assert "timestamp" not in document


@pytest.mark.parametrize(
    ("stamp", "shown"),
    [
        ("1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z"),
        ("2262-04-12T00:00:00.000000Z", "2262-01-01T00:00:00.000000Z"),
    ],
)
def test_timestamps_out_of_range(stamp: str, shown: str) -> None:
    """What no number of nanoseconds can tell is shown as the nearest that one can, and kept as it was."""
    document = to_search(documents.call(1, timestamp=stamp))
    assert (document["@timestamp"], document["timestamp"]) == (shown, stamp)
    assert from_search(document)["timestamp"] == stamp


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("success", "success"),
        ("execution_error", "failure"),
        ("timeout", "failure"),
        ("validation_error", "failure"),
        ("unknown_tool", "failure"),
        ("cancelled", "unknown"),
        ("closed", "unknown"),
    ],
)
def test_event(status: str, outcome: str) -> None:
    """``event`` is ``event.action``, beside the outcome and the duration in nanoseconds."""
    document = to_search(documents.call(1, status=status, duration_ms=12.5))
    assert document["event"] == {"action": "tool_call_success", "outcome": outcome, "duration": 12_500_000}


def test_event_without_an_end() -> None:
    """A record without status and duration has neither outcome nor duration."""
    assert to_search(documents.started(1))["event"] == {"action": "tool_call_start"}


def test_host() -> None:
    """``host`` is ``host.name``."""
    assert to_search(documents.call(1, host="web-1"))["host"] == {"name": "web-1"}


def test_error() -> None:
    """``error.stack`` is ``error.stack_trace``, in attempts too; what is not known is under ``other``."""
    error = {"type": "KeyError", "message": "x", "stack": "a\nb", "stack_trace": "not ours"}
    attempts = [
        {"started": STAMP, "duration_ms": 1, "status": "timeout", "error": {"type": "T", "stack": "c"}}
    ]
    document = to_search(documents.call(1, error=error, attempts=attempts))
    assert document["error"] == {
        "type": "KeyError",
        "message": "x",
        "stack_trace": "a\nb",
        "other": {"stack_trace": "not ours"},
    }
    assert document["attempts"][0]["error"] == {"type": "T", "stack_trace": "c"}


@pytest.mark.parametrize("value", ["text", 3, False, [1, 2], [{"a": 1}], []])
def test_values_that_are_no_object_are_wrapped(value: Any) -> None:
    """A result that is no object is wrapped, and a flag tells it from an object of that form."""
    document = to_search(documents.call(1, output=value))
    assert document["output"] == {"value": value}
    assert document["output_wrapped"] is True
    alike = to_search(documents.call(1, output={"value": value}))
    assert "output_wrapped" not in alike
    assert from_search(alike)["output"] == {"value": value}


def test_null_is_not_wrapped() -> None:
    """A null stays one."""
    assert to_search(documents.call(1, output=None))["output"] is None


def test_fields_of_a_later_version() -> None:
    """Fields that the table does not know are kept under ``other``, whatever they are called."""
    more = {"@timestamp": 1, "output_wrapped": 2, "other": 3, "trace": {"id": 4}, "a..b": 5, "": 6}
    document = to_search(documents.call(1, **more))
    assert document["@timestamp"] == documents.call(1)["timestamp"]
    assert document["other"].keys() == {"@timestamp", "output_wrapped", "other", "trace", "a%2E%2Eb", "%"}
    assert from_search(document) == documents.call(1, **more)


def test_every_field_of_the_schema_is_known(schema_fields: set[str]) -> None:
    """The table of fields has all that the record's schema names, and nothing else."""
    assert FIELDS.keys() == schema_fields


@pytest.fixture
def schema_fields() -> set[str]:
    """The names of all fields of the schema."""
    from toolog.schema import load

    return set(load()["properties"])


# -- what is too long ----------------------------------------------------------------------------------------


def cut(**fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the search document of a call and its notes of cuts."""
    document = to_search(documents.call(1, **fields), 1000)
    return document, document.get("truncated", {})


def test_a_leaf_as_long_as_it_may_be_stays() -> None:
    """A leaf of exactly ``leaf_bytes`` is not cut, one byte more is."""
    document, notes = cut(input={"a": "x" * 1000, "b": "é" * 500})
    assert (document["input"]["a"], document["input"]["b"], notes) == ("x" * 1000, "é" * 500, {})
    assert cut(input={"a": "x" * 1001})[1].keys() == {"input.a"}
    assert cut(input={"a": "é" * 500 + "x"})[1].keys() == {"input.a"}


def test_a_wrapped_value_is_named_by_its_place_in_the_record() -> None:
    """The cut result of a tool that returns a text is named ``output``."""
    assert cut(output="x" * 2000)[1].keys() == {"output"}
    assert cut(output=["short", {"rows": ["x" * 2000]}])[1].keys() == {"output[1].rows[0]"}


def test_texts_that_are_searched_stay_whole() -> None:
    """Error texts, stack traces and printed lines have no limit of one term and are not cut."""
    document, notes = cut(error={"type": "E", "message": "m" * 5000, "stack": "s" * 5000}, stdout="o" * 5000)
    assert len(document["error"]["message"]) == len(document["error"]["stack_trace"]) == 5000
    assert len(document["stdout"]) == 5000
    assert notes == {}


def test_the_first_note_of_a_cut_stands() -> None:
    """What was cut before keeps its note: that has the original's size."""
    first = {"size": 999_999, "unit": "bytes"}
    assert cut(input={"a": "x" * 2000}, truncated={"input.a": first})[1] == {"input.a": first}


def test_long_keys_are_cut() -> None:
    """A key that would make a term too long is cut and told; two that begin alike stay two."""
    document, notes = cut(input={"k" * 40_000: 1, "k" * 40_001: 2})
    assert len(document["input"]) == 2
    assert all(len(key) < 500 for key in document["input"])
    assert [note["size"] for note in notes.values()] == [40_000]  # both paths are shown alike


def test_a_leaf_has_room_for_its_path() -> None:
    """Leaf and path together stay below the longest term that a server takes."""
    value: Any = "x" * 40_000
    for _ in range(40):
        value = {"k" * 500: value}
    document = to_search(documents.call(1, input=value), 32_000)
    size, held = 0, document["input"]
    while isinstance(held, dict):
        ((key, held),) = held.items()
        size += len(key) + 1
    assert size + len(held) < 32_700


def test_what_is_nested_too_deep_is_a_text() -> None:
    """Nesting that no JSON writer follows is cut at a depth and told; the record is still a document."""
    value: Any = 1
    for _ in range(400):
        value = {"a": value}
    document = to_search(documents.call(1, input=value))
    orjson.dumps(document)
    assert len(document["truncated"]) == 1


def test_lighter_documents() -> None:
    """Step by step a document gets lighter: texts, lists and objects are cut and told, ids are not."""
    record = documents.call(
        1,
        input={f"k{number}": "x" * 3000 for number in range(200)},
        output=["y" * 3000] * 3000,
        stdout="z" * 5000,
        error={"type": "E", "stack": "s" * 5000},
        truncated={"stdout": {"size": 9_999_999}},
        unknown=["u" * 3000],
    )
    data = ormsgpack.packb(record)
    sizes = [
        len(lighten(data, MSGPACK, texts, items)) for texts, items in ((2048, 1000), (256, 100), (64, 10))
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 10_000
    back = from_search(orjson.loads(lighten(data, MSGPACK, 64, 10)))
    for name in ("record_id", "trace_id", "span_id", "timestamp", "event", "level"):
        assert back[name] == record[name]
    assert back["truncated"]["stdout"] == {"size": 9_999_999}
    assert back["truncated"]["output"] == {"size": 3000, "unit": "items", "kept": 10}
    assert len(back["output"]) == 10
    assert back["error"]["stack"].endswith("more]")


# -- what is no record ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        ormsgpack.packb([1]),
        ormsgpack.packb({"event": "log"}),
        ormsgpack.packb({"record_id": ""}),
        ormsgpack.packb({"record_id": "1"}),
        ormsgpack.packb({"record_id": "1", "event": "log", "timestamp": 5}),
        ormsgpack.packb({"record_id": "1", "event": "log", "timestamp": STAMP, "input": b"bytes"}),
    ],
)
def test_what_is_no_record(data: bytes) -> None:
    """Bytes that are no record are a SerializationError, never another one."""
    with pytest.raises(SerializationError):
        encode(data, MSGPACK)


def test_flat_fields_are_those_of_any_shape() -> None:
    """The fields whose keys are the application's own are exactly these."""
    assert [name for name, shape in FIELDS.items() if shape is FLAT] == [
        "input", "output", "config", "tags", "attributes", "masked", "truncated"
    ]  # fmt: skip
