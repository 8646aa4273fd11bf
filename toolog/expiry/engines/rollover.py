"""Our own engine: rollover at least daily, and deletion of whole backing indices, by the core interface.

An index is past its age when its newest record is (an empty one by its creation). The one being written never
goes; it is rolled over when it is a day old, or when all that it has is past its age (a stream that fell
silent is emptied too). An index with a record on hold stays.

Whatever can go wrong keeps an index: before it is deleted, writing to it is blocked, which waits for writes
under way, and only then its newest record and its holds are looked at for the last time. Two clocks must
agree that a record is past its age: this host's and the cluster's. Any number of processes may purge one
cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from toolog.errors import SinkUnavailable
from toolog.expiry.engines.base import Engine, Stream, span
from toolog.expiry.plan import DAY, GRACE, Bounds, Piece

HOLD = "tags.hold"
"""The field that says that a record is on hold."""
_FLAT = ("flattened", "flat_object")
_BLOCK = "index.blocks.write"
_FARTHEST = 50 * 365 * 86_400
"""So many seconds a cluster is asked to count back at most: it knows no time before 1970, and no number of
seconds above 2,147,483,647.
"""


@dataclass(frozen=True, slots=True)
class _Index:
    """A backing index: when it was made, how many records it has, and the time of its newest one (seconds of
    the Unix epoch). ``young`` are the records that the cluster's own clock, at ``clock``, finds within their
    age.
    """

    name: str
    created: float
    records: int
    size: int
    newest: float | None
    young: int
    clock: float

    @property
    def as_old_as(self) -> float:
        return self.created if self.newest is None else self.newest


class RolloverEngine(Engine):
    """See the module's docstring."""

    name = "toolog"

    def bounds(self, keep: float) -> Bounds:
        """Return how long a record lives: what its index spans comes on top."""
        return Bounds(keep, keep + span(keep), "from the record's time, then by the next two purges")

    def pieces(self, stream: Stream, keep: float, now: float) -> Iterator[Piece]:
        """Yield the indices that are past their age, oldest first, and the one that is due to be rolled
        over.
        """
        if not stream.indices:
            return
        found = self._look(stream, keep)
        live = found.pop(stream.indices[-1], None)
        for index in found.values():
            if index.as_old_as < now - keep:
                yield self._past_age(stream, index, keep, now)
            elif index.as_old_as > now + DAY:
                why = f"its newest record is of {_when(index.as_old_as)}: a host's clock was wrong"
                yield _piece("stay", stream, index, why)
        if live is None:
            return
        if live.records and not live.young and live.as_old_as < now - keep:
            why = f"all its records are past their age: {_when(live.as_old_as)}; then it is deleted"
            yield _piece("roll over", stream, live, why, overdue=live.as_old_as < now - keep - GRACE)
        elif live.records and live.created < now - span(keep):
            why = f"it was begun {_when(live.created)}"
            overdue = live.created < now - span(keep) - GRACE
            yield _piece("roll over", stream, live, why, overdue=overdue)

    def _past_age(self, stream: Stream, index: _Index, keep: float, now: float) -> Piece:
        if index.young:
            why = f"by the cluster's clock ({_when(index.clock)}) {index.young} of its records are younger"
            return _piece("stay", stream, index, why)
        held = self._held(index.name)
        newest = "it is empty and was begun" if index.newest is None else "its newest record is of"
        why = f"{newest} {_when(index.as_old_as)}"
        if held:
            return _piece("hold", stream, index, why, held=held)
        return _piece("delete", stream, index, why, overdue=index.as_old_as < now - keep - GRACE)

    def purge(self, stream: Stream, keep: float, now: float) -> Iterator[Piece]:
        """Roll over what is due, delete what is past its age, and yield each that was done.

        Raises SinkUnavailable when this host's clock is far ahead of the cluster's.
        """
        self._compare_clocks(stream, keep, now)
        for piece in self.pieces(stream, keep, now):
            if piece.action == "roll over":
                # Should another process have done it meanwhile: its new index is empty, and stays.
                self.cluster.call("POST", f"/{stream.name}/_rollover", {"conditions": {"max_docs": 1}})
                yield piece
            is_old = piece.newest is None or piece.newest < now - keep
            if piece.action in ("delete", "roll over") and is_old:
                done = self._delete(stream, piece.what, keep, now)
                if done is not None:
                    yield done

    def _delete(self, stream: Stream, index: str, keep: float, now: float) -> Piece | None:
        """Delete one index if it is past its age even now that nobody can write to it; None when it
        stays.
        """
        if index not in self._written(stream.name):
            return None  # another process was quicker, or it is the one being written
        piece, is_deleted = None, False
        try:
            self.cluster.call("PUT", f"/{index}/_block/write")
            facts = self._look(replace(stream, indices=(index,)), keep).get(index)
            if facts is not None and facts.as_old_as < now - keep:
                piece = self._past_age(stream, facts, keep, now)
                if piece.action == "delete":
                    is_deleted = self.cluster.delete(f"/{index}")
        finally:
            if not is_deleted:
                self.cluster.call("PUT", f"/{index}/_settings", {_BLOCK: None}, missing=True)
        return piece if is_deleted else None

    def _written(self, stream: str) -> list[str]:
        """Return the backing indices of a stream that are not written to any more."""
        streams = (self.cluster.get(f"/_data_stream/{stream}") or {}).get("data_streams", ())
        return [index["index_name"] for one in streams for index in one["indices"][:-1]]

    # -- what the indices hold

    def _look(self, stream: Stream, keep: float) -> dict[str, _Index]:
        """Return the facts of each backing index by its name, in the stream's order.

        One that is gone meanwhile is left out. All are asked for by the stream's name: a request's line has
        room for some dozens of indices only, and one of them that is gone would be an error for all.
        """
        where = stream.name if len(stream.indices) > 1 else "".join(stream.indices)
        refreshed = self.cluster.call("POST", f"/{where}/_refresh", missing=True)
        made = self.cluster.get(f"/{where}/_settings/index.creation_date?flat_settings=true")
        figures = self.cluster.get(f"/{where}/_stats/docs,store?level=indices")
        if refreshed is None or made is None or figures is None:
            return {}
        self._whole(refreshed, where)
        found = {}
        for name in stream.indices:
            counted = self._count(name, keep) if name in made else None
            if counted is not None:
                total = figures["indices"].get(name, {}).get("total", {})
                created = int(made[name]["settings"]["index.creation_date"]) / 1000
                size = int(total.get("store", {}).get("size_in_bytes", 0))
                records, newest, young, clock = counted
                found[name] = _Index(name, created, records, size, newest, young, clock)
        return found

    def _count(self, index: str, keep: float) -> tuple[int, float | None, int, float] | None:
        """Return how many records an index has, the newest one's time, how many the cluster itself finds
        younger than ``keep``, and what its clock says; None when the index is gone.
        """
        seconds = min(int(keep), _FARTHEST)
        since = f"now-{seconds}s"
        young = {
            "filter": {"range": {"@timestamp": {"gte": since}}},
            # Gives its bound back as a number, and so the cluster's time; some versions count it wrongly.
            "aggs": {"since": {"date_range": {"field": "@timestamp", "ranges": [{"from": since}]}}},
        }
        body = {
            "size": 0,
            "track_total_hits": True,
            "aggs": {"newest": {"max": {"field": "@timestamp"}}, "young": young},
        }
        answer = self._search(index, body, missing=True)
        if answer is None:
            return None
        records = int(answer["hits"]["total"]["value"])
        newest = answer["aggregations"]["newest"]["value"]
        counted = answer["aggregations"]["young"]
        [bound] = counted["since"]["buckets"]
        if records and newest is None:
            raise SinkUnavailable(
                f"{self.cluster.place}: the records of {index} have no time; nothing is deleted"
            )
        clock = bound["from"] / 1000 + seconds
        return records, None if newest is None else newest / 1000, int(counted["doc_count"]), clock

    def _compare_clocks(self, stream: Stream, keep: float, now: float) -> None:
        counted = self._count(stream.name, keep) if stream.indices else None
        if counted is not None and now - counted[3] > GRACE:
            raise SinkUnavailable(
                f"{self.cluster.place}: this host's clock says {_when(now)}, the cluster's "
                f"{_when(counted[3])}; nothing was rolled over or deleted. Set the clock that is wrong"
            )

    def _held(self, index: str) -> int:
        """Return how many records of an index are on hold."""
        answer = self.cluster.call("GET", f"/{index}/_mapping/field/tags")
        field = answer.get(index, {}).get("mappings", {}).get("tags", {}).get("mapping", {}).get("tags", {})
        if field.get("type") not in _FLAT:
            raise SinkUnavailable(
                f"{self.cluster.place}: the index {index} does not map `tags` as {' or '.join(_FLAT)}, so a "
                "hold could not be seen; it is not deleted. Is toolog's own index template in effect?"
            )
        body = {"size": 0, "track_total_hits": True, "query": {"exists": {"field": HOLD}}}
        return int(self._search(index, body)["hits"]["total"]["value"])

    def _search(self, index: str, body: dict[str, Any], *, missing: bool = False) -> Any:
        path = f"/{index}/_search?allow_partial_search_results=false"
        answer = self.cluster.call("POST", path, body, missing=missing)
        if answer is None:
            return None
        if answer.get("timed_out"):
            raise SinkUnavailable(
                f"{self.cluster.place}: a search in {index} took too long; nothing is deleted"
            )
        return self._whole(answer, index)

    def _whole(self, answer: Any, index: str) -> Any:
        if answer["_shards"]["failed"]:
            raise SinkUnavailable(f"{self.cluster.place}: not all of {index} answered; nothing is deleted")
        return answer


def _piece(
    action: Any, stream: Stream, index: _Index, why: str, *, held: int = 0, overdue: bool = False
) -> Piece:
    return Piece(
        action, stream.policy, index.name, why, index.records, index.size, index.newest, held, overdue
    )


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
