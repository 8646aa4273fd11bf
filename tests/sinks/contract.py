"""The contract of a sink as tests. Every sink of toolog passes them; one of your own should too.

Make a subclass of :class:`SinkContract` and give it ``make`` (a sink that writes below a directory) and, if
what it stored can be read back, ``stored`` (the record documents, in any order)::

    class TestMySink(SinkContract):
        def make(self, directory):
            return MySink(path=directory / "records")

        def stored(self, directory, sink):
            return read_back(directory / "records")
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import ormsgpack
import pytest

from tests import documents
from toolog.errors import SinkUnavailable
from toolog.sinks import Answer, BatchLimits, Sink, SinkRecord, delivery
from toolog.sinks.base import JSON, MSGPACK

Document = dict[str, Any]

ODD = [
    documents.call(900, output=None, input={}),
    documents.call(901, output="plain text", duration_ms=3),
    documents.call(902, output={"NUL": "a\x00b", "lines": "a\nb\r\n\u2028c", "quotes": "\"'`\\"}),
    documents.call(903, output=[2**64 - 1, -(2**63), 1.5e300, True, None, [], {}]),
    documents.call(904, tags={"order": "o-1", "hold": "case 7"}, session_id="s", service={"name": "shop"}),
    documents.call(
        905, attempts=[{"started": "2026-11-30T12:00:00Z", "duration_ms": 1, "status": "timeout"}]
    ),
    documents.call(906, a_field_of_a_later_version={"x": [1]}),
    documents.failed(907),
    documents.started(908),
    documents.log(909, "a line\nand another"),
    documents.instance(910, {"top_k": 5}, "sha256:1"),
    documents.loss(911, 3),
    {**documents.log(912, "x"), "event": "an_event_of_a_later_version"},
    documents.call(
        913, event="tool_call_rejected", status="unknown_tool", level="WARNING", tool_name="日本語"
    ),
]
"""Valid records that are unlike the usual one."""


SEGMENT = "20261130T120000000000Z_web-1_4711_0123456789ab_000001"
"""The segment of the spool in which all of these records stand."""


def batch(found: Iterable[Document], serializer: int = MSGPACK) -> list[SinkRecord]:
    """Return documents as a batch in one of the two serializations, each with a place of its own in the
    spool: the same document has the same place in every batch.
    """
    dumps = ormsgpack.packb if serializer == MSGPACK else orjson.dumps
    return [
        SinkRecord(
            dumps(document),
            serializer=serializer,
            policy="info",
            segment=SEGMENT,
            seq=zlib.crc32(document["record_id"].encode()),
        )
        for document in found
    ]


class SinkContract:
    """What every sink promises. A subclass says how it is made and how it is read back."""

    deduplicates = True
    """Whether a record that is written twice is stored once (only a cursor can promise it for a plain
    file).
    """
    reads_back = True
    """Whether ``stored`` can tell what was stored."""
    spoilt = (b'{"half', JSON)
    """Bytes that are no record, and their serializer: one that the sink has to decode."""

    def make(self, directory: Path) -> Sink:
        """Return a new sink, not connected, that keeps its things below ``directory``."""
        raise pytest.UsageError("a contract needs make()")

    def stored(self, directory: Path, sink: Sink) -> list[Document]:
        """Return what stands stored, after the sink was closed."""
        raise pytest.UsageError("a contract needs stored(), or reads_back = False")

    def check(self, directory: Path, sink: Sink, expected: list[Document]) -> None:
        """Assert that exactly the expected documents are stored, each once and field for field."""
        if self.reads_back:
            found = self.stored(directory, sink)
            by_id = {document["record_id"]: document for document in found}
            assert len(by_id) == len(found)
            assert by_id == {document["record_id"]: document for document in expected}

    @pytest.mark.parametrize("serializer", [JSON, MSGPACK], ids=["json", "msgpack"])
    def test_stores_every_valid_record(self, tmp_path: Path, serializer: int) -> None:
        """Every valid record is stored field for field, from either serializer, and none is rejected."""
        sink = self.make(tmp_path)
        sink.connect()
        assert sink.write(batch(ODD, serializer)) is None
        sink.close()
        self.check(tmp_path, sink, ODD)

    def test_takes_an_empty_batch(self, tmp_path: Path) -> None:
        """An empty batch is stored at once."""
        sink = self.make(tmp_path)
        sink.connect()
        assert sink.write([]) is None
        sink.close()
        self.check(tmp_path, sink, [])

    def test_stores_ten_thousand_records(self, tmp_path: Path) -> None:
        """Ten thousand records in many batches are all there."""
        sink = self.make(tmp_path)
        sink.connect()
        expected = [documents.call(number) for number in range(10_000)]
        for start in range(0, len(expected), 1500):
            assert sink.write(batch(expected[start : start + 1500])) is None
        sink.close()
        self.check(tmp_path, sink, expected)

    def test_survives_a_reopen(self, tmp_path: Path) -> None:
        """What was written before a close is there after the next start, beside what comes then."""
        sink = self.make(tmp_path)
        sink.connect()
        sink.write(batch([documents.call(1)]))
        sink.close()
        sink.connect()
        sink.write(batch([documents.call(2)]))
        sink.close()
        self.check(tmp_path, sink, [documents.call(1), documents.call(2)])

    def test_stores_once_what_comes_twice(self, tmp_path: Path) -> None:
        """A batch that is delivered again is stored once, and the answer says how many were known."""
        if not self.deduplicates:
            pytest.skip("this sink does not recognize records by their id")
        sink = self.make(tmp_path)
        sink.connect()
        first = [documents.call(number) for number in range(20)]
        assert sink.write(batch(first)) is None
        answer = sink.write(batch([*first, documents.call(20)]))
        assert isinstance(answer, Answer)
        assert (answer.again, answer.rejected, answer.retry) == (20, {}, frozenset())
        sink.close()
        self.check(tmp_path, sink, [*first, documents.call(20)])

    def test_rejects_what_is_no_record(self, tmp_path: Path) -> None:
        """Bytes that cannot be decoded are rejected by name and reason; the rest is stored."""
        sink = self.make(tmp_path)
        sink.connect()
        spoilt = SinkRecord(self.spoilt[0], serializer=self.spoilt[1])
        answer = sink.write([*batch([documents.call(1)]), spoilt, *batch([documents.call(2)])])
        sink.close()
        assert answer is not None
        assert list(answer.rejected) == [spoilt.record_id]
        assert answer.rejected[spoilt.record_id]
        self.check(tmp_path, sink, [documents.call(1), documents.call(2)])

    def test_is_unavailable_after_close(self, tmp_path: Path) -> None:
        """A write after close raises SinkUnavailable; closing twice is fine."""
        sink = self.make(tmp_path)
        sink.connect()
        sink.close()
        sink.close()
        with pytest.raises(SinkUnavailable):
            sink.write(batch([documents.call(1)]))

    def test_restores_its_cursor(self, tmp_path: Path) -> None:
        """A batch that was written but not acknowledged does not stand there twice after the next start."""
        sink = self.make(tmp_path)
        sink.connect()
        acknowledged, torn = [documents.call(1)], [documents.call(2), documents.call(3)]
        sink.write(batch(acknowledged))
        state = sink.cursor_state() if hasattr(sink, "cursor_state") else None
        sink.write(batch(torn))
        sink.close()
        again = self.make(tmp_path) if self.reads_back and not hasattr(sink, "rows") else sink
        again.connect()
        if hasattr(again, "restore"):
            again.restore(orjson.loads(orjson.dumps(state)))
        again.write(batch(torn))
        again.close()
        self.check(tmp_path, again, acknowledged + torn)

    def test_says_how_it_wants_to_be_served(self, tmp_path: Path) -> None:
        """Its batch limits are usable, and the user's options go over them."""
        sink = self.make(tmp_path)
        limits = delivery(sink, {"batch": {"max_records": 7}, "retry": {"max_backoff": "2 min"}})
        assert isinstance(limits.batch, BatchLimits)
        assert limits.batch.max_records == 7
        assert limits.batch.max_bytes > 0
        assert limits.max_backoff == 120
