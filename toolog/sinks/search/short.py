"""The search document of a record in the spool's short form, without making the record first.

What is the same in all calls of a tool is JSON already, found by its bytes; only the content of each call is
decoded. That halves the work for the commonest records. Whatever is not as it mostly is, `document` sees to.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import orjson
import ormsgpack

from toolog.errors import SerializationError
from toolog.serializers.compact import expand, split
from toolog.sinks.base import MSGPACK, decode
from toolog.sinks.search.document import LONGEST_DURATION, encode_content, to_search
from toolog.sinks.search.shapes import FLAT_FIELDS, OTHER

_FIRST = "record_id"
"""The first field behind those that are the same in all calls of a tool."""
_OWN = ("record_id", "timestamp", "trace_id", "span_id", "parent_id", "depth", "process", "duration_ms")
_NAMES = frozenset({*_OWN, "instance_id", "event", "status", "host"})
_NO_TIME = "1970-01-01T00:00:00.000000Z"
_FIRST_YEAR, _YEAR_BEHIND = b"1970-", b"2262-"
_MOST_KNOWN = 1024
_DOCUMENT = (
    b'%b"record_id":"%b","@timestamp":"%b%06dZ","trace_id":"%b","span_id":"%b",%b%b"duration_ms":%b,'
    b'%b"duration":%d},%b'
)

_Document = dict[str, Any]


class _Front(NamedTuple):
    """What the search documents of one tool have in common: ``fields`` and the beginning of ``event``, as
    JSON. ``content`` is how many pairs of content a record has that has no instance, ``names`` which names
    these cannot have.
    """

    fields: bytes
    event: bytes
    content: int
    names: frozenset[str]


def encode_short(short: bytes, leaf_bytes: int) -> tuple[str, bytes] | None:
    """Return what `document.encode` does of the record that is short here; None where only that can tell.

    Raises struct.error for what is no short form.
    """
    head, prefix, span, date, micros, trace, lineage, process, milliseconds, tail = split(short)
    front = _fronts.get(head, _UNKNOWN)
    if front is _UNKNOWN:
        front = _learn(head, short)
    call, (facts, more) = _lineage(lineage), _process(process)
    record_id = prefix + span
    if (
        front is None
        or not (call and facts and (record_id + trace).isalnum())
        or not _FIRST_YEAR <= date < _YEAR_BEHIND
        or not 0 <= milliseconds < LONGEST_DURATION
        or len(tail) > leaf_bytes
    ):
        return None
    number = front.content - more
    if number < 1:
        return None
    try:
        content: _Document = ormsgpack.unpackb(_MAP_HEADS[number] + tail)
    except ValueError:
        return None
    if len(content) != number or not content.keys().isdisjoint(front.names):
        return None
    text = encode_content(content)
    if text is None:
        return None
    body = _DOCUMENT % (
        front.fields, record_id, date, micros, trace, span, call, facts, orjson.dumps(milliseconds),
        front.event, round(milliseconds * 1e6), text[1:],
    )  # fmt: skip
    return (record_id.decode(), body) if len(body) <= leaf_bytes else None


_MAP_HEADS = [bytes([0x80 + number]) for number in range(16)]
_fronts: dict[bytes, _Front | None] = {}
_UNKNOWN = _Front(b"", b"", 0, frozenset())


def _learn(head: bytes, short: bytes) -> _Front | None:
    """Return what the documents of records with this head begin with; None where that is not only renamed."""
    try:
        record = decode(expand(short), MSGPACK)
    except SerializationError:
        return None
    names = [*record]
    if _FIRST not in names or "event" not in names:
        return None
    count = names.index(_FIRST)
    total = head[0] - 0x80 if head[0] < 0x90 else int.from_bytes(head[1:3])
    content = total - count - len(_OWN)
    static = {name: record[name] for name in names[:count]}
    document = to_search({**static, "timestamp": _NO_TIME})
    del document["@timestamp"]
    event = orjson.dumps(document.pop("event"))
    if len(names) != total:  # one of them is there twice; perhaps not in the next record
        return None
    found = None
    if not ({OTHER, *FLAT_FIELDS} & document.keys()) and content < len(_MAP_HEADS):
        fields = orjson.dumps(document)[:-1] + b"," if document else b"{"
        found = _Front(fields, b'"event":' + event[:-1] + b",", content, _NAMES | static.keys())
    if len(_fronts) >= _MOST_KNOWN:
        _fronts.clear()
    _fronts[head] = found
    return found


@lru_cache(maxsize=_MOST_KNOWN)
def _lineage(pairs: bytes) -> bytes:
    """Return the pairs of a lineage as JSON, a comma behind them; nothing when they are others."""
    return _as_json(_MAP_HEADS[2] + pairs, {"parent_id", "depth"})


@lru_cache(maxsize=_MOST_KNOWN)
def _process(value: bytes) -> tuple[bytes, int]:
    """Return the process as JSON, a comma behind it, and how many pairs stand there with it."""
    pairs = b"\xa7process" + value
    with_instance = _as_json(_MAP_HEADS[2] + pairs, {"process", "instance_id"})
    return (with_instance, 1) if with_instance else (_as_json(_MAP_HEADS[1] + pairs, {"process"}), 0)


def _as_json(packed: bytes, names: set[str]) -> bytes:
    try:
        fields = decode(packed, MSGPACK)
    except SerializationError:
        return b""
    if fields.keys() != names or ormsgpack.packb(fields) != packed:  # more may stand behind it
        return b""
    document = to_search({**fields, "timestamp": _NO_TIME, "event": ""})
    if OTHER in document or any(type(value) is dict and OTHER in value for value in document.values()):
        return b""
    text = orjson.dumps({name: document[name] for name in names})
    return text[1:-1] + b","
