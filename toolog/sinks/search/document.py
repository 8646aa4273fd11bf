"""A record as a search document, and back.

The document is the record with these changes: ``timestamp`` is ``@timestamp``; ``event`` is
``event.action``, beside the outcome and the duration in nanoseconds (ECS); ``host`` is ``host.name``;
``error.stack`` is ``error.stack_trace``. A value of any shape that is not an object is wrapped as ``{"value":
...}`` and told by ``<field>_wrapped``. Fields that the tables in ``shapes`` do not know are under ``other``.
Odd keys are escaped (see ``keys``), long leaves cut (see ``cutting``); only the cuts cannot be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from toolog.errors import SerializationError
from toolog.sinks.base import decode
from toolog.sinks.search.cutting import Cutter
from toolog.sinks.search.keys import (
    are_known_keys,
    escape_key,
    escape_keys,
    learn_keys,
    may_have_odd_keys,
    unescape_keys,
)
from toolog.sinks.search.shapes import FIELDS, FLAT, FLAT_FIELDS, OTHER, RENAMED, is_object

Document = dict[str, Any]
Fit = Callable[..., Any]
"""Makes a value fit; after it come the keys that lead to the value."""

LEAF_BYTES = 8192
"""Bytes of UTF-8 that a leaf of ``input``, ``output`` and the like may have, by default."""
LIGHTER = ((2048, 1000), (256, 100), (64, 10))
"""For a document that is too large as a whole: how long its texts and its lists may be, step by step."""

_KNOWN = FIELDS.keys()
_FLAT = FLAT_FIELDS
_INNER = {name: shape for name, shape in FIELDS.items() if is_object(shape)}
_PLAIN = ("tool", "service", "process")  # nothing in them has another name in a search document
_WITH_FLAT = tuple(name for name, shape in _INNER.items() if FLAT in shape.values())
_UNCUT = frozenset({"schema_version", "record_id", "event", "level", "timestamp", "trace_id", "span_id"})
_ADDED = frozenset({"@timestamp", OTHER, *(f"{name}_wrapped" for name in FLAT_FIELDS)})
_OUTCOMES = {"success": "success", "cancelled": "unknown", "closed": "unknown"}
_EARLIEST, _LATEST = "1970-01-01T00:00:00.000000Z", "2262-01-01T00:00:00.000000Z"
LONGEST_DURATION = 9.2e12  # milliseconds; in nanoseconds the largest signed number of 64 bits


def to_search(record: Document, leaf_bytes: int = LEAF_BYTES) -> Document:
    """Return the search document of a record; the record is left as it is.

    ``leaf_bytes``: how long a leaf of a field of any shape may be, in bytes of UTF-8. Raises
    SerializationError for a record that no JSON can hold.
    """
    document = dict(record)
    _shape(document, leaf_bytes)
    return document


def from_search(document: Document) -> Document:
    """Return the record that `to_search` was given (what it cut stays cut, and named in ``truncated``)."""
    record = {name: value for name, value in document.items() if name not in _ADDED}
    record.setdefault("timestamp", document["@timestamp"])
    record["event"] = document["event"]["action"]
    if "host" in record:
        record["host"] = record["host"]["name"]
    for name, shape in _INNER.items():
        if name in record:
            record[name] = _back(record[name], shape)
    for name in _FLAT:
        if name in record:
            value = unescape_keys(record[name])
            record[name] = value["value"] if document.get(f"{name}_wrapped") is True else value
    if OTHER in document:
        record |= unescape_keys(document[OTHER])
    return record


def encode(data: bytes, serializer: int, leaf_bytes: int = LEAF_BYTES) -> tuple[str, bytes]:
    """Return the id of a serialized record, and its search document as JSON.

    Raises SerializationError for bytes that are no record, or one that has no id, or that no JSON can hold.
    """
    document = decode(data, serializer)
    record_id = document.get("record_id")
    if not isinstance(record_id, str) or not record_id:
        raise SerializationError("a record without a record_id")
    return record_id, _shape(document, leaf_bytes)


def encode_content(content: Document) -> bytes | None:
    """Return fields of a record that all are content as they stand in its search document, as JSON; the
    fields are changed. None for what is not only renamed and wrapped: only `encode` of the whole can tell.

    As with the whole, what is cut depends on how long the JSON is: whoever asks has to look.
    """
    plan = _plan(tuple(content))
    if plan.unknown or plan.inner:
        return None
    _wrap(content, plan)
    try:
        text = orjson.dumps(content)
    except TypeError:
        return None
    if not _has_known_keys(content, plan) and may_have_odd_keys(text):
        return None
    return text


def lighten(data: bytes, serializer: int, leaf_bytes: int, max_items: int) -> bytes:
    """Return the search document of a record with all its texts, lists and objects cut; see ``LIGHTER``."""
    record = decode(data, serializer)
    notes = record.pop("truncated", None)
    cutter = Cutter(leaf_bytes, max_items)
    document = {
        escape_key(name): value if name in _UNCUT else cutter.fit(value, name)
        for name, value in record.items()
    }
    document["truncated"] = _notes(notes, cutter)
    _arrange(document, _plan(tuple(document)))
    return orjson.dumps(document)


# -- the way into a search document --------------------------------------------------------------------------


def _shape(document: Document, leaf_bytes: int) -> bytes:
    """Make a record its search document; return that as JSON. The common record is only renamed."""
    try:
        plan = _plan(tuple(document))
        odd = _arrange(document, plan)
        try:
            text = orjson.dumps(document)
        except TypeError:  # nested deeper than orjson writes; or nothing that JSON holds, and that stays so
            text = b""
        if not text or len(text) > leaf_bytes:
            cutter = Cutter(leaf_bytes)
            _tidy(document, cutter.fit)
            if cutter.notes or "truncated" in document:
                document["truncated"] = _notes(document.get("truncated"), cutter)
            return orjson.dumps(document)
        if odd or (not _has_known_keys(document, plan) and may_have_odd_keys(text)):
            _tidy(document, _escape)
            if "truncated" in document:
                document["truncated"] = escape_keys(document["truncated"])
            return orjson.dumps(document)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise SerializationError(f"cannot be made a search document: {error!r}") from error
    return text


def _escape(value: Any, *_: Any) -> Any:
    return escape_keys(value)


class _Plan(NamedTuple):
    """What is to be looked at in all records that have the same fields."""

    unknown: tuple[str, ...]
    inner: tuple[tuple[str, Document], ...]
    flat: tuple[str, ...]
    nested: bool  # values of any shape are in some of ``inner``, too


@lru_cache(maxsize=256)
def _plan(names: tuple[str, ...]) -> _Plan:
    """Return the plan for a record's fields: a program writes records of a few kinds, again and again."""
    here = frozenset(names)
    return _Plan(
        tuple(name for name in names if name not in _KNOWN),
        tuple((name, shape) for name, shape in _INNER.items() if name in here),
        tuple(name for name in _FLAT if name in here),
        not here.isdisjoint(_WITH_FLAT),
    )


def _arrange(document: Document, plan: _Plan) -> bool:
    """Rename and wrap what has another name or form in a search document; True when something was unknown."""
    odd = False
    if plan.unknown:
        odd = True
        document[OTHER] = {name: document.pop(name) for name in plan.unknown}
    stamp = document.pop("timestamp")
    if not _EARLIEST <= stamp < _LATEST:  # more than a number of nanoseconds can tell
        document["timestamp"] = stamp
        stamp = _EARLIEST if stamp < _EARLIEST else _LATEST
    document["@timestamp"] = stamp
    event = {"action": document["event"]}
    if "status" in document:
        event["outcome"] = _OUTCOMES.get(document["status"], "failure")
    duration = document.get("duration_ms")
    if isinstance(duration, (float, int)) and 0 <= duration < LONGEST_DURATION:
        event["duration"] = round(duration * 1e6)
    document["event"] = event
    if "host" in document:
        document["host"] = {"name": document["host"]}
    for name, shape in plan.inner:
        if (value := document[name]) is not None and (
            name not in _PLAIN or type(value) is not dict or not value.keys() <= shape.keys()
        ):
            document[name], strange = _forth(value, shape)
            odd = odd or strange
    _wrap(document, plan)
    return odd


def _wrap(document: Document, plan: _Plan) -> None:
    for name in plan.flat:
        if (value := document[name]) is not None and type(value) is not dict:
            document[name] = {"value": value}
            document[f"{name}_wrapped"] = True


def _has_known_keys(document: Document, plan: _Plan) -> bool:
    """Whether no key in the values of any shape can be an odd one, because all were met before; those of
    others are learned now.
    """
    known = not plan.nested
    for name in plan.flat:
        if (value := document[name]) is not None and not are_known_keys(value):
            learn_keys(value)
            known = False
    return known


def _forth(value: Any, shape: Document) -> tuple[Any, bool]:
    """Return an object, or a list of them, as it stands in a search document, and whether it has unknown
    fields.
    """
    if type(value) is list:
        arranged = [_forth(item, shape) for item in value]
        return [item for item, _ in arranged], any(odd for _, odd in arranged)
    if type(value) is not dict:
        return value, False
    known: Document = {}
    others: Document = {}
    odd = False
    for key, item in value.items():
        inner = shape.get(key)
        if inner is None:
            others[key] = item
            continue
        if is_object(inner):
            item, strange = _forth(item, inner)
            odd = odd or strange
        known[str(RENAMED.get(key, key))] = item
    if others:
        known[OTHER] = others
    return known, odd or bool(others)


def _tidy(document: Document, fit: Fit) -> None:
    """Put every value of any shape in an arranged document through ``fit``, but for ``truncated``."""
    for name in _FLAT:
        if (value := document.get(name)) is None or name == "truncated":
            continue
        if f"{name}_wrapped" in document:
            document[name] = {"value": fit(value["value"], name)}
        else:
            document[name] = fit(value, name)
    for name, shape in _INNER.items():
        if name in document:
            document[name] = _tidy_object(document[name], shape, (name,), fit)
    if OTHER in document:
        document[OTHER] = fit(document[OTHER])


def _tidy_object(value: Any, shape: Document, place: tuple[Any, ...], fit: Fit) -> Any:
    if type(value) is list:
        return [_tidy_object(item, shape, (*place, index), fit) for index, item in enumerate(value)]
    if type(value) is not dict:
        return value
    tidy: Document = {}
    for key, item in value.items():
        inner = shape.get(key)
        if key == OTHER:
            item = fit(item, *place)
        elif inner is FLAT:
            item = fit(item, *place, key)
        elif inner is not None and is_object(inner):
            item = _tidy_object(item, inner, (*place, key), fit)
        tidy[key] = item
    return tidy


def _notes(before: Any, cutter: Cutter) -> Any:
    """Return the field ``truncated``: what stood there, which was the first to cut, and the new cuts."""
    notes = {**cutter.notes, **before} if isinstance(before, dict) else cutter.notes
    return Cutter(LEAF_BYTES).fit(notes, "truncated")


# -- the way back --------------------------------------------------------------------------------------------


def _back(value: Any, shape: Document) -> Any:
    if type(value) is list:
        return [_back(item, shape) for item in value]
    if type(value) is not dict:
        return value
    record: Document = {}
    for key, inner in shape.items():
        name = RENAMED.get(key, key)
        if name in value:
            item = value[name]
            if is_object(inner):
                item = _back(item, inner)
            record[key] = unescape_keys(item) if inner is FLAT else item
    if OTHER in value:
        record |= unescape_keys(value[OTHER])
    return record
